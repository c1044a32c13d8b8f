"""The OpenAPI document lets answers grow, and refuses what a request body does not know."""

from collections.abc import Iterator
from typing import Any, cast

from holdfast.api.app import contract
from holdfast.api.contract import REFS, open_answers

DOCUMENT = contract()
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
OPERATIONS = [each for methods in DOCUMENT["paths"].values() for each in methods.values()]


def nodes(node: object, seen: set[str] | None = None) -> Iterator[dict[str, Any]]:
    """Every schema of a part of the document, through its references."""
    seen = set() if seen is None else seen
    if isinstance(node, dict):
        fields = cast("dict[str, Any]", node)
        yield fields
        name = str(fields.get("$ref", "")).removeprefix(REFS)
        if name in SCHEMAS and name not in seen:
            seen.add(name)
            yield from nodes(SCHEMAS[name], seen)
        for key, each in fields.items():
            if key != "example":
                yield from nodes(each, seen)
    elif isinstance(node, list):
        for each in cast("list[object]", node):
            yield from nodes(each, seen)


def test_an_answer_may_have_more_fields_and_other_values() -> None:
    found = [node for each in OPERATIONS for node in nodes(each["responses"])]
    events = [node for name in ("StreamEvent", "WatchEvent") for node in nodes(SCHEMAS[name])]
    assert len(found) > 100
    for node in (*found, *events):
        assert node.get("additionalProperties") is not False, node
        assert "enum" not in node, node
    assert any("x-extensible-enum" in node for node in found)


def test_a_request_body_names_all_its_fields_and_values() -> None:
    bodies = [each["requestBody"] for each in OPERATIONS if "requestBody" in each]
    objects = [
        node
        for body in bodies
        for node in nodes(body)
        if node.get("type") == "object" and node.get("properties")
    ]
    assert len(objects) > 10
    for node in objects:
        assert node.get("additionalProperties") is False, node
    assert not any("x-extensible-enum" in node for body in bodies for node in nodes(body))


def test_an_id_is_a_plain_string() -> None:
    assert not any(node.get("format") == "uuid" for node in nodes(DOCUMENT))


def test_an_enum_of_requests_and_answers_is_closed_in_one_and_open_in_the_other() -> None:
    role = {"enum": ["a", "b"], "type": "string"}
    ref = {"$ref": f"{REFS}Role"}
    shape = {"properties": {"role": ref}, "additionalProperties": False}
    document: dict[str, Any] = {
        "components": {"schemas": {"Role": role, "In": dict(shape), "Out": dict(shape)}},
        "paths": {
            "/": {
                "post": {
                    "requestBody": {"$ref": f"{REFS}In"},
                    "responses": {"200": {"$ref": f"{REFS}Out"}},
                }
            }
        },
    }
    open_answers(document)
    schemas = document["components"]["schemas"]
    assert schemas["Role"] == role
    assert schemas["In"] == shape
    assert schemas["Out"] == {
        "properties": {"role": {"x-extensible-enum": ["a", "b"], "type": "string"}}
    }
