"""Rules about two JSON schemas of the same value. Each rule yields what breaks a client.

A value that a client sends by the old schema must be accepted (`REQUEST`). A client that reads a
value by the old schema must understand it (`RESPONSE`).
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, TypeAlias

Schema: TypeAlias = Mapping[str, Any]
UPPER: Final = ("maxLength", "maximum", "exclusiveMaximum", "maxItems", "maxProperties")
LOWER: Final = ("minLength", "minimum", "exclusiveMinimum", "minItems", "minProperties")


class Side(StrEnum):
    REQUEST = "request"
    RESPONSE = "response"


Rule: TypeAlias = Callable[[Schema, Schema, Side], Iterator[str]]


def changed_type(old: Schema, new: Schema, side: Side) -> Iterator[str]:
    before, after = type_of(old), type_of(new)
    wide, narrow = (before, after) if side is Side.RESPONSE else (after, before)
    if wide in (None, narrow) or (wide, narrow) == ("number", "integer"):
        return
    yield f"type changed from {before or 'any'} to {after or 'any'}"


def removed_field(old: Schema, new: Schema, side: Side) -> Iterator[str]:
    if side is Side.REQUEST and new.get("additionalProperties") is not False:
        return  # it is still accepted
    if "properties" in new or side is Side.RESPONSE:
        for name in sorted(_fields(old) - _fields(new)):
            yield f"field {name} removed"


def required_field(old: Schema, new: Schema, side: Side) -> Iterator[str]:
    before, after = set(old.get("required", ())), set(new.get("required", ()))
    if side is Side.REQUEST:
        for name in sorted(after - before):
            yield f"field {name} is required"
    else:
        for name in sorted((before - after) & _fields(new)):
            yield f"field {name} is optional"


def changed_values(old: Schema, new: Schema, side: Side) -> Iterator[str]:
    """Of an enumeration. One that says `x-extensible-enum` can get values without a break."""
    before, after = values_of(old), values_of(new)
    if side is Side.REQUEST and after is not None:
        if before is None:
            yield "only certain values are accepted"
        else:
            for value in sorted(before - after):
                yield f"value {value} removed"
    if side is Side.RESPONSE and before is not None:
        if after is None:
            yield "closed enumeration opened"
        else:
            for value in sorted(after - before):
                yield f"value {value} added to a closed enumeration"


def tighter_bound(old: Schema, new: Schema, side: Side) -> Iterator[str]:
    if side is Side.RESPONSE:
        return
    for name in UPPER:
        if name in new and (name not in old or new[name] < old[name]):
            yield f"{name} is {new[name]}"
    for name in LOWER:
        if name in new and new[name] > old.get(name, 0 if name.startswith("min") else -1):
            yield f"{name} is {new[name]}"
    if "pattern" in new and new["pattern"] != old.get("pattern"):
        yield "pattern changed"


def changed_format(old: Schema, new: Schema, side: Side) -> Iterator[str]:
    before, after = old.get("format"), new.get("format")
    if before != after and (before if side is Side.RESPONSE else after):
        yield f"format changed from {before or 'any'} to {after or 'any'}"


def stricter_object(old: Schema, new: Schema, side: Side) -> Iterator[str]:
    refused = new.get("additionalProperties") is False
    if side is Side.REQUEST and refused and old.get("additionalProperties") is not False:
        yield "unknown fields are refused"


RULES: Final[tuple[Rule, ...]] = (
    changed_type,
    removed_field,
    required_field,
    changed_values,
    tighter_bound,
    changed_format,
    stricter_object,
)


def type_of(schema: Schema) -> str | None:
    """None: any type."""
    if "type" in schema:
        return str(schema["type"])
    if "const" in schema or "enum" in schema:
        value: Any = schema["const"] if "const" in schema else schema["enum"][0]
        return _NAMES.get(type(value).__name__)
    return "object" if "properties" in schema else None


_NAMES: Final = {"str": "string", "bool": "boolean", "int": "integer", "float": "number"}


def values_of(schema: Schema) -> set[str] | None:
    """The values of a closed enumeration; None: other values are possible."""
    if "x-extensible-enum" in schema:
        return None
    if "const" in schema:
        return {str(schema["const"])}
    return set(map(str, schema["enum"])) if "enum" in schema else None


def _fields(schema: Schema) -> set[str]:
    return set(schema.get("properties", ()))
