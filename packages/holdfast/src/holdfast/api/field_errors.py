"""The errors of a request, field by field: where, a stable code, and a sentence for people.

pydantic's own texts name its classes and change with its versions. The value that was given is
never part of an error: it may be a password.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

ERRORS_SHOWN_MAX: Final = 20
CHOICES_CHARS_MAX: Final = 200

_BY_TYPE: Final[Mapping[str, tuple[str, str]]] = {
    "missing": ("required", "This field is required."),
    "union_tag_not_found": ("required", "A field that says the type is required: {discriminator}."),
    "extra_forbidden": ("unknown_field", "This field is not known."),
    "unknown_parameter": ("unknown_parameter", "This route has no such query parameter."),
    "string_too_short": ("too_short", "At least {min_length} characters are required."),
    "string_too_long": ("too_long", "At most {max_length} characters are allowed."),
    "too_short": ("too_short", "At least {min_length} items are required."),
    "too_long": ("too_long", "At most {max_length} items are allowed."),
    "string_pattern_mismatch": ("invalid_format", "The text does not match {pattern}."),
    "string_type": ("wrong_type", "Must be a string."),
    "int_type": ("wrong_type", "Must be an integer."),
    "int_parsing": ("wrong_type", "Must be an integer."),
    "int_parsing_size": ("out_of_range", "The integer is too large."),
    "int_from_float": ("wrong_type", "Must be an integer."),
    "bool_type": ("wrong_type", "Must be true or false."),
    "bool_parsing": ("wrong_type", "Must be true or false."),
    "list_type": ("wrong_type", "Must be a list."),
    "tuple_type": ("wrong_type", "Must be a list."),
    "frozen_set_type": ("wrong_type", "Must be a list."),
    "dict_type": ("wrong_type", "Must be an object."),
    "model_type": ("wrong_type", "Must be an object."),
    "model_attributes_type": ("wrong_type", "Must be an object."),
    "wrong_id": ("invalid_format", "{reason}"),
    "datetime_type": ("invalid_format", "Must be a time of RFC 3339."),
    "datetime_parsing": ("invalid_format", "Must be a time of RFC 3339."),
    "datetime_from_date_parsing": ("invalid_format", "Must be a time of RFC 3339."),
    "timezone_aware": ("invalid_format", "Must be a time of RFC 3339 with a time zone."),
    "enum": ("unknown_value", "Must be one of: {expected}."),
    "literal_error": ("unknown_value", "Must be one of: {expected}."),
    "union_tag_invalid": ("unknown_value", "Must be one of: {expected_tags}."),
    "greater_than_equal": ("out_of_range", "Must be at least {ge}."),
    "less_than_equal": ("out_of_range", "Must be at most {le}."),
    "value_error": ("invalid_value", "{error}"),
}
_OTHER: Final = ("invalid_value", "The value is not valid.")


def field_errors(found: Sequence[Any], body: object = None) -> list[dict[str, str]]:
    """`found`: as pydantic lists them. `body`: what was sent, to tell fields from union tags."""
    return [_field_error(each, body) for each in found[:ERRORS_SHOWN_MAX]]


def _field_error(each: Mapping[str, Any], body: object) -> dict[str, str]:
    place, *path = each["loc"]
    code, text = _BY_TYPE.get(each["type"], _OTHER)
    names = _names_in(body, path) if place == "body" else [str(name) for name in path]
    return {
        "in": str(place),
        "pointer": "".join(f"/{_escaped(name)}" for name in names),
        "code": code,
        "detail": _detail(text, each.get("ctx", {})),
    }


def _names_in(body: object, path: Sequence[object]) -> list[str]:
    """pydantic puts the tag of a union into the path, where the body has no such level."""
    names: list[str] = []
    value = body
    for index, name in enumerate(path):
        is_last = index == len(path) - 1
        if isinstance(value, dict):
            fields = cast("dict[object, object]", value)
            if name not in fields and not is_last:
                continue
            value = fields.get(name)
        elif isinstance(value, list) and isinstance(name, int):
            items = cast("list[object]", value)
            value = items[name] if name < len(items) else None
        elif names:
            continue
        names.append(str(name))
    return names


def _escaped(name: str) -> str:
    """RFC 6901."""
    return name.replace("~", "~0").replace("/", "~1")


def _detail(text: str, context: Mapping[str, Any]) -> str:
    filled = text.format_map({name: _shown(value) for name, value in context.items()})
    return filled[:1].upper() + filled[1:] + ("" if filled.endswith(".") else ".")


def _shown(value: object) -> str:
    return str(value)[:CHOICES_CHARS_MAX]
