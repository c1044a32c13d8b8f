"""Arguments as models write them, made into those that a tool declares. Pure.

Models were trained on the argument names of other tools, and some wires hand over JSON inside of
JSON. What has one meaning is accepted: another known name, a JSON string where an array or an
object is declared, null for an argument that may be left out. Approval rules and digests see the
result, so that a rule about `path` also holds for `file_path`. A name that is not known stays: the
tool runs without it, and its result names it.
"""

import json
import shlex
from collections.abc import Generator, Mapping
from types import MappingProxyType
from typing import Any, Final, cast

import orjson

from holdfast.domain.parts import JsonObject, JsonValue

TIMEOUT_S_MAX: Final = 600
"""A `timeout` above it is meant in milliseconds."""

ALIASES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "path": ("file_path", "filePath", "filename", "file", "directory", "dir"),
        "old_string": ("old", "old_str", "old_text", "oldString", "search"),
        "new_string": ("new", "new_str", "new_text", "newString", "replace"),
        "replace_all": ("every", "replaceAll"),
        "edits": ("changes",),
        "content": ("text", "file_text", "contents"),
        "mode": ("how",),
        "offset": ("first_line", "start_line"),
        "limit": ("lines_max", "head_limit"),
        "cwd": ("workdir", "directory"),
        "command": ("cmd", "script"),
        "timeout_s": ("wait_s", "timeout_secs", "timeout_seconds"),
        "background": ("run_in_background", "is_background"),
        "glob": ("include",),
        "ignore_case": ("-i", "case_insensitive"),
        "context": ("-C",),
        "process": ("process_id",),
        "patch": ("input", "patch_text", "patchText"),
    }
)
_SHELLS: Final = frozenset({"bash", "sh", "/bin/bash", "/bin/sh", "/usr/bin/bash"})
_BOOLEANS: Final[Mapping[str, bool]] = MappingProxyType({"true": True, "false": False})


def normalised(schema: JsonObject, arguments: JsonObject) -> JsonObject:
    """The arguments under the names and in the forms of a schema. Twice is the same as once."""
    declared = _declared(schema)
    given = _renamed(declared, _without_wrapper(declared, dict(arguments)))
    if "timeout_s" in declared:
        given = _timed(given)
    if "edits" in declared:
        given = _one_edit(declared, given)
    required = cast("list[str]", schema.get("required", ()))
    return {
        name: _formed(declared[name], value) if name in declared else value
        for name, value in given.items()
        if value is not None or name in required
    }


def unknown_names(schema: JsonObject, arguments: JsonObject) -> Generator[str]:
    """The arguments that a schema does not have, such as `edits[0].foo`."""
    declared = _declared(schema)
    for name, value in arguments.items():
        if name not in declared:
            yield name
            continue
        items = cast("JsonObject", declared[name].get("items", {}))
        if "properties" in items and isinstance(value, list):
            for number, each in enumerate(value):
                if isinstance(each, Mapping):
                    yield from (f"{name}[{number}].{n}" for n in unknown_names(items, each))


def example(schema: JsonObject) -> str:
    """The required arguments of a tool, as a call has them."""
    return json.dumps(_example(schema))


def _declared(schema: JsonObject) -> Mapping[str, JsonObject]:
    return cast("Mapping[str, JsonObject]", schema.get("properties", {}))


def _renamed(
    declared: Mapping[str, JsonObject], given: dict[str, JsonValue]
) -> dict[str, JsonValue]:
    for name in declared:
        if given.get(name) is not None:
            continue
        for other in ALIASES.get(name, ()):
            if other not in declared and given.get(other) is not None:
                given[name] = given.pop(other)
                break
    return given


def _without_wrapper(
    declared: Mapping[str, JsonObject], given: dict[str, JsonValue]
) -> dict[str, JsonValue]:
    """`files: [{path, changes}]` with one file: the form of the tool `edit_files`."""
    files = _formed({"type": "array"}, given.get("files"))
    if "edits" not in declared or "files" in declared or not isinstance(files, list):
        return given
    if len(files) == 1 and isinstance(files[0], Mapping):
        rest = {name: value for name, value in given.items() if name != "files"}
        return {**rest, **cast("JsonObject", files[0])}
    return given


def _one_edit(
    declared: Mapping[str, JsonObject], given: dict[str, JsonValue]
) -> dict[str, JsonValue]:
    """`old_string` and `new_string` beside `path` are the only edit."""
    if given.get("edits") is not None:
        return given
    items = _declared(cast("JsonObject", declared["edits"].get("items", {})))
    named = [*items, *(other for name in items for other in ALIASES.get(name, ()))]
    beside = {name: given[name] for name in named if name in given}
    edit = _renamed(items, beside)
    if "old_string" not in edit or "new_string" not in edit:
        return given
    rest = {name: value for name, value in given.items() if name not in named}
    return {**rest, "edits": [edit]}


def _timed(given: dict[str, JsonValue]) -> dict[str, JsonValue]:
    for name, per_s in (("timeout", 0), ("timeout_ms", 1000)):
        value = given.get(name)
        if isinstance(value, str) and value.strip().isdigit():
            value = int(value)
        if given.get("timeout_s") is not None or isinstance(value, bool):
            continue
        if isinstance(value, int | float) and value >= 0:
            share = per_s or (1 if value <= TIMEOUT_S_MAX else 1000)
            del given[name]
            given["timeout_s"] = value if share == 1 else -int(-value // share)
    return given


def _formed(declared: JsonObject, value: JsonValue) -> JsonValue:
    kind = declared.get("type")
    if kind in ("array", "object") and isinstance(value, str):
        value = _parsed(value, or_array=kind == "array")
    if kind == "array":
        return _array(declared, value)
    if kind == "object" and isinstance(value, Mapping) and "properties" in declared:
        return normalised(declared, value)
    if kind == "string" and isinstance(value, list):
        return _command(value)
    if kind == "boolean" and isinstance(value, str):
        return _BOOLEANS.get(value.lower(), value)
    if kind in ("integer", "number") and isinstance(value, str):
        return _number(value)
    return value


def _array(declared: JsonObject, value: JsonValue) -> JsonValue:
    items = cast("JsonObject", declared.get("items", {}))
    if "properties" in items and isinstance(value, Mapping):
        value = [value]
    if "properties" not in items or not isinstance(value, list):
        return value
    return [_formed(items, each) for each in value]


def _parsed(value: str, *, or_array: bool) -> JsonValue:
    """The array or object that a string holds; the string if it holds neither."""
    try:
        found: object = orjson.loads(value)
    except ValueError:
        return value
    fits = isinstance(found, dict) or (or_array and isinstance(found, list))
    return cast("JsonValue", found) if fits else value


def _command(value: list[JsonValue]) -> JsonValue:
    """`["bash", "-lc", "make"]` is `make`; other words are quoted."""
    if not value or not all(isinstance(each, str) for each in value):
        return value
    words = [str(each) for each in value]
    is_flag = len(words) == 3 and words[1].startswith("-") and words[1].endswith("c")
    return words[2] if is_flag and words[0] in _SHELLS else shlex.join(words)


def _number(value: str) -> JsonValue:
    try:
        return int(value)
    except ValueError:
        try:
            return float(value)
        except ValueError:
            return value


def _example(schema: JsonObject) -> Any:  # noqa: ANN401 - any JSON
    match schema.get("type"):
        case "object":
            declared = _declared(schema)
            names = cast("list[str]", schema.get("required", ()))
            return {name: _example(declared[name]) for name in names}
        case "array":
            return [_example(cast("JsonObject", schema.get("items", {})))]
        case "integer" | "number":
            return 1
        case "boolean":
            return True
        case _:
            return "..."
