"""Arguments for a tool call, filled in from the tool's JSON schema and the words of the prompt."""

import re
from typing import Any, Final

import orjson

from holdfast_simulator.jsons import JsonObject, arr, obj, txt

DEPTH_MAX: Final = 6

PATH: Final = re.compile(r"(?:\.{0,2}/)?[\w.-]+(?:/[\w.-]+)+|\b[\w-]+\.[a-z]{1,5}\b")
URL: Final = re.compile(r"https?://[^\s\"'<>)]+")
EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+")
DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
QUOTED: Final = re.compile(r"`([^`]+)`|\"([^\"]+)\"")
PATCH: Final = re.compile(r"\*\*\* Begin Patch\n.*?\n\*\*\* End Patch", re.DOTALL)
PLACE: Final = re.compile(r"\b(?:in|at|for|near|to)\s+([A-Z][\w'-]*(?:\s+[A-Z][\w'-]*)*)")

# First match wins: words of a property's name, how its value is found, what it is otherwise.
NAMED: Final = (
    (("city", "location", "place", "country", "town"), PLACE, "Lisbon"),
    (("url", "uri", "link", "href"), URL, "https://example.com/"),
    (("path", "file", "filename", "directory", "dir"), PATH, "README.md"),
    (("email", "recipient"), EMAIL, "someone@example.com"),
    (("date", "day", "since", "until"), DATE, "2026-01-15"),
    (("patch",), PATCH, "*** Begin Patch\n*** Add File: note.txt\n+a note\n*** End Patch"),
    (("command", "cmd", "code", "script", "sql", "pattern"), QUOTED, "ls"),
)


def fill(schema: JsonObject, prompt: str) -> JsonObject:
    """An object that the schema accepts: what it requires, and what the prompt clearly names."""
    return _object(schema, prompt, schema, 0)


def text_argument(arguments: str) -> str:
    """Of a call whose only argument is a text; also of one that was cut in its middle."""
    for end in ("", '"}', '\\"}'):
        try:
            given: object = orjson.loads(arguments + end)
        except ValueError:
            continue
        values = list(obj(given).values())
        if len(values) == 1 and isinstance(values[0], str):
            return values[0]
    return arguments


def _object(schema: JsonObject, prompt: str, root: JsonObject, depth: int) -> JsonObject:
    properties = obj(schema.get("properties"))
    required = {txt(name) for name in arr(schema.get("required"))}
    filled: JsonObject = {}
    for name, given in properties.items():
        member = _resolved(obj(given), root)
        if name in required or _evident(name, member, prompt):
            filled[name] = _value(name, member, prompt, root, depth + 1)
    return filled


def _resolved(schema: JsonObject, root: JsonObject) -> JsonObject:
    reference = txt(schema.get("$ref"))
    if reference.startswith("#/"):
        found: object = root
        for key in reference[2:].split("/"):
            found = obj(found).get(key)
        return obj(found)
    for union in ("anyOf", "oneOf", "allOf"):
        for option in arr(schema.get(union)):
            if obj(option).get("type") != "null":
                return _resolved(obj(option), root)
    return schema


def _evident(name: str, schema: JsonObject, prompt: str) -> bool:
    if schema.get("type") != "string" or "enum" in schema:
        return any(txt(option) and txt(option) in prompt for option in arr(schema.get("enum")))
    return any(
        _about(name, names) and pattern.search(prompt) is not None for names, pattern, _ in NAMED
    )


def _value(name: str, schema: JsonObject, prompt: str, root: JsonObject, depth: int) -> Any:  # noqa: ANN401
    if "const" in schema:
        return schema["const"]
    options = arr(schema.get("enum"))
    if options:
        return next((option for option in options if txt(option) and option in prompt), options[0])
    if "default" in schema:
        return schema["default"]
    return _typed(name, schema, prompt, root, depth)


def _typed(name: str, schema: JsonObject, prompt: str, root: JsonObject, depth: int) -> Any:  # noqa: ANN401
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in arr(schema["type"]) if one != "null"), "string")
    match kind.lower() if isinstance(kind, str) else "":
        case "integer":
            return int(_number(schema, prompt))
        case "number":
            return _number(schema, prompt)
        case "boolean":
            return True
        case "array":
            member = _resolved(obj(schema.get("items")), root)
            return [] if depth > DEPTH_MAX else [_value(name, member, prompt, root, depth + 1)]
        case "object":
            return {} if depth > DEPTH_MAX else _object(schema, prompt, root, depth)
        case other:
            return None if other == "null" else _string(name, prompt)


def _number(schema: JsonObject, prompt: str) -> float:
    found = NUMBER.search(prompt)
    number = float(found[0]) if found else 1.0
    low, high = schema.get("minimum"), schema.get("maximum")
    if isinstance(low, int | float) and number < low:
        number = float(low)
    if isinstance(high, int | float) and number > high:
        number = float(high)
    return number


def _string(name: str, prompt: str) -> str:
    for names, pattern, otherwise in NAMED:
        if _about(name, names):
            found = pattern.search(prompt)
            if found is None:
                return otherwise
            return next((group for group in found.groups() if group), found[0])
    quoted = QUOTED.search(prompt)
    if quoted:
        return quoted[1] or quoted[2]
    return " ".join(prompt.split())[:120] or "something"


def _about(name: str, names: tuple[str, ...]) -> bool:
    words = set(re.split(r"[_\W]+|(?<=[a-z])(?=[A-Z])", name))
    return not {word.lower() for word in words}.isdisjoint(names)
