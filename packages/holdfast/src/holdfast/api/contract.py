"""The OpenAPI document as a contract that may grow.

Request bodies are closed: an unknown field is refused. Answers are open: a client ignores fields
and values that it does not know, so a generated validator must do the same. The classes of
`responses` and `events` stay closed, for the tests that hold answers against them.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

REFS: Final = "#/components/schemas/"


def open_answers(document: dict[str, Any]) -> None:
    """Changes the document in place."""
    schemas: dict[str, Any] = document["components"]["schemas"]
    asked = _reachable(_request_parts(document), schemas)
    answered = _reachable(_response_parts(document), schemas) | (set(schemas) - asked)
    shared = {name: schemas[name] for name in asked & answered}
    for name in answered - asked:
        schemas[name] = _opened(schemas[name], shared)
    for operation in _operations(document):
        operation["responses"] = _opened(operation["responses"], shared)


def _operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for methods in document["paths"].values():
        yield from methods.values()


def _request_parts(document: dict[str, Any]) -> list[object]:
    return [
        each.get(part) for each in _operations(document) for part in ("requestBody", "parameters")
    ]


def _response_parts(document: dict[str, Any]) -> list[object]:
    return [each["responses"] for each in _operations(document)]


def _reachable(roots: list[object], schemas: Mapping[str, object]) -> set[str]:
    found: set[str] = set()
    waiting = roots
    while waiting:
        new = {name for each in waiting for name in _refs(each)} - found
        found |= new
        waiting = [schemas[name] for name in new]
    return found


def _refs(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        for name, value in cast("dict[str, object]", node).items():
            if name == "$ref" and isinstance(value, str):
                yield value.removeprefix(REFS)
            else:
                yield from _refs(value)
    elif isinstance(node, list):
        for each in cast("list[object]", node):
            yield from _refs(each)


def _opened(node: object, shared: Mapping[str, object]) -> Any:  # noqa: ANN401 - JSON
    """`shared`: what request bodies use as well. It stays closed there, and is copied here."""
    if isinstance(node, list):
        return [_opened(each, shared) for each in cast("list[object]", node)]
    if not isinstance(node, dict):
        return node
    fields = cast("dict[str, Any]", node)
    copied = shared.get(str(fields.get("$ref", "")).removeprefix(REFS))
    if copied is not None:
        beside = {name: value for name, value in fields.items() if name != "$ref"}
        return {**_opened(copied, shared), **beside}
    opened = {
        "x-extensible-enum" if name == "enum" else name: _opened(value, shared)
        for name, value in fields.items()
    }
    if opened.get("additionalProperties") is False:
        del opened["additionalProperties"]
    return opened
