"""What the OpenAPI document leaves its readers to guess, counted."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from scripts.contract.compare import METHODS, Document, Schema

VERBS: Final = frozenset(
    {"list", "create", "get", "update", "delete", "set", "send", "edit", "mark", "submit"}
    | {"archive", "unarchive", "fork", "share", "unshare", "interrupt", "retry", "compact"}
    | {"clear", "resume"}
    | {"restore", "start", "stop", "stream", "revoke", "change", "reset", "link", "finish"}
    | {"check", "discover", "try"}
)
"""What an operation can begin with. A new one is added here, if no other fits."""
_SNAKE_CASE: Final = re.compile(r"[a-z]+(_[a-z]+)+")
_OF_A_PATH: Final = re.compile(r"_api_v|__|_(get|post|put|patch|delete)$")
_NO_SCHEMAS: Final = frozenset({"example", "examples", "default", "const", "enum"})


@dataclass(frozen=True, slots=True)
class Guesses:
    """Each with the places where it is."""

    operation_ids_bad: list[str]
    properties_undescribed: list[str]
    parameters_undescribed: list[str]
    operations_without_example: list[str]

    def counts(self) -> dict[str, int]:
        return {name: len(getattr(self, name)) for name in self.__slots__}

    def places(self) -> Iterator[str]:
        for name in self.__slots__:
            yield from (f"{name}: {place}" for place in getattr(self, name))


def guesses(document: Document) -> Guesses:
    return Guesses(
        list(_bad_ids(document)),
        list(dict.fromkeys(_undescribed(document))),
        list(_undescribed_parameters(document)),
        list(_without_example(document)),
    )


def operations(document: Document) -> Iterator[tuple[str, Schema]]:
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                yield f"{method.upper()} {path}", methods[method]


def _bad_ids(document: Document) -> Iterator[str]:
    """An id is a verb and a noun, and there is no other operation with it."""
    named = Counter(operation.get("operationId", "") for _, operation in operations(document))
    for where, operation in operations(document):
        name = operation.get("operationId", "")
        verb_noun = _SNAKE_CASE.fullmatch(name) and name.partition("_")[0] in VERBS
        if not verb_noun or _OF_A_PATH.search(name) or named[name] > 1:
            yield f"{where}: {name}"


def _undescribed(node: object, where: str = "") -> Iterator[str]:
    if isinstance(node, list):
        for each in cast("list[object]", node):
            yield from _undescribed(each, where)
    if not isinstance(node, dict):
        return
    fields = cast("dict[str, Any]", node)
    properties = fields.get("properties")
    if isinstance(properties, dict):
        for name, schema in cast("dict[str, Schema]", properties).items():
            if not _says_more(name, schema):
                yield f"{where}.{name}"
            yield from _undescribed(schema, f"{where}.{name}")
    for name, value in fields.items():
        if name not in _NO_SCHEMAS and name != "properties":
            yield from _undescribed(value, f"{where}/{name}")


def _undescribed_parameters(document: Document) -> Iterator[str]:
    for where, operation in operations(document):
        for parameter in operation.get("parameters", ()):
            if not _says_more(parameter["name"], parameter):
                yield f"{where}: {parameter['name']}"


def _says_more(name: str, described: Schema) -> bool:
    """Whether a description has words that are not in the name."""
    own = set(re.split(r"[_-]", name.lower())) | {"the", "a", "an", "of", "this", "its"}
    return bool(set(re.findall(r"\w+", described.get("description", "").lower())) - own)


def _without_example(document: Document) -> Iterator[str]:
    """Of its request body, or of an answer that tells of success and has a body."""
    for where, operation in operations(document):
        bodies = [operation["requestBody"]] if "requestBody" in operation else []
        told = [
            response
            for status, response in operation["responses"].items()
            if status.startswith("2")
        ]
        media = [each for body in (*bodies, *told) for each in body.get("content", {}).values()]
        if any("example" not in each and "examples" not in each for each in media):
            yield where
