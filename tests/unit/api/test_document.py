"""The OpenAPI document leaves nothing to guess, and its examples are true."""

import re
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import orjson
import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from holdfast.api import (
    account_responses,
    admin_shapes,
    catalogue_shapes,
    operations,
    problem_responses,
    requests,
    responses,
    server_responses,
)
from holdfast.api.app import contract
from holdfast.api.contract import REFS
from holdfast.api.events import StreamEvent, WatchEvent
from holdfast.api.examples import examples
from holdfast.api.problems import KINDS
from scripts.contract.__main__ import PRESENT
from scripts.contract.counts import guesses
from scripts.contract.counts import operations as operations_of

DOCUMENT = contract()
NAMED: dict[str, dict[str, Any]] = {
    operation["operationId"]: dict(operation) for _, operation in operations_of(DOCUMENT)
}
SHAPES = (
    *(responses, account_responses, server_responses, problem_responses),
    *(admin_shapes, catalogue_shapes),
)
SUCCESS = re.compile("2..")


def shape_of(schema: dict[str, Any], *modules: object) -> type[BaseModel]:
    """The class of a schema, which forbids fields that it does not name."""
    optional: list[dict[str, Any]] = schema.get("anyOf", [schema])
    name = str(optional[0]["$ref"]).removeprefix(REFS)
    (found,) = {getattr(module, name) for module in modules if hasattr(module, name)}
    assert issubclass(found, BaseModel)
    return found


def answered(operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for status, response in operation["responses"].items():
        if SUCCESS.fullmatch(status):
            yield from response.get("content", {}).items()


def test_nothing_is_left_to_guess() -> None:
    found = guesses(DOCUMENT)
    assert not list(found.places())
    assert guesses(orjson.loads(PRESENT.read_bytes())) == found, "the file is of this server"


@pytest.mark.parametrize("name", [name for name in NAMED if "requestBody" in NAMED[name]])
def test_the_example_of_a_request_is_accepted(name: str) -> None:
    body = NAMED[name]["requestBody"]["content"]["application/json"]
    shape = shape_of(body["schema"], requests, admin_shapes, catalogue_shapes)
    read = shape.model_validate_json(orjson.dumps(body["example"]))
    assert read.model_fields_set, "the example says something"


@pytest.mark.parametrize("name", NAMED)
def test_the_example_of_an_answer_has_its_shape(name: str) -> None:
    for media, told in answered(NAMED[name]):
        example = told["example"]
        if media == "application/json":
            shape_of(told["schema"], *SHAPES).model_validate_json(orjson.dumps(example))
        elif media == "text/event-stream":
            union: Any = {"stream_chat_events": StreamEvent, "stream_events": WatchEvent}[name]
            events = [line[6:] for line in example.split("\n") if line.startswith("data: ")]
            assert [TypeAdapter[Any](union).validate_json(each) for each in events]
        else:
            assert media == "text/plain"
            assert example


def test_an_example_with_another_field_has_not_its_shape() -> None:
    ((_, told),) = answered(NAMED["get_chat"])
    shape = shape_of(told["schema"], *SHAPES)
    with pytest.raises(ValidationError):
        shape.model_validate_json(orjson.dumps({**told["example"], "planted": 1}))


def test_the_example_of_a_problem_has_its_shape() -> None:
    (example,) = DOCUMENT["components"]["schemas"]["Problem"]["examples"]
    told = problem_responses.Problem.model_validate(example)
    assert told.status == KINDS[told.code].status
    assert not told.model_extra
    assert told.errors


def test_every_example_is_of_an_operation() -> None:
    assert examples().keys() - NAMED.keys() == set()


def test_the_summary_of_an_operation_is_its_id_in_words() -> None:
    assert NAMED["list_api_keys"]["summary"] == "List API keys"
    assert NAMED["list_oidc_providers"]["summary"] == "List OIDC providers"
    for name, operation in NAMED.items():
        assert operation["summary"].lower().replace(" ", "_") == name


def test_the_document_names_its_server_and_version() -> None:
    assert DOCUMENT["info"]["version"] == metadata.version("holdfast")
    assert [each["url"] for each in DOCUMENT["servers"]] == ["/"]


def test_every_tag_that_is_used_is_described() -> None:
    used = {tag for operation in NAMED.values() for tag in operation["tags"]}
    assert used == {each["name"] for each in DOCUMENT["tags"]}
    assert all(each["description"].endswith(".") for each in DOCUMENT["tags"])


def test_every_problem_code_is_listed_where_it_can_come_from() -> None:
    listed = {
        name: operation["responses"]["default"]["x-problem-codes"]
        for name, operation in NAMED.items()
    }
    codes = {code for each in listed.values() for code in each}
    assert codes | operations.ELSEWHERE == set(KINDS)
    assert not codes & operations.ELSEWHERE
    assert "queue_full" in listed["send_message"]
    assert "unauthenticated" in listed["list_chats"]
    assert "unauthenticated" not in listed["create_session"]
    assert "precondition_failed" in listed["update_chat"]
    assert "precondition_failed" not in listed["get_chat"]


def test_the_tables_name_operations_that_exist() -> None:
    named = operations.ETAG | operations.NEW_CHAT | operations.UNREPEATABLE
    assert named | operations.SPECIFIC.keys() <= NAMED.keys()


@pytest.mark.parametrize(
    ("name", "status", "own"),
    [
        ("create_chat", "201", {"Location", "Idempotent-Replayed"}),
        ("get_chat", "200", {"ETag"}),
        ("list_chats", "200", set[str]()),
        ("list_chats", "default", {"Retry-After"}),
        ("start_workspace", "202", {"ETag", "Retry-After"}),
        ("start_oidc_login", "302", {"Location"}),
        ("create_api_key", "201", set[str]()),
    ],
)
def test_headers_are_listed(name: str, status: str, own: set[str]) -> None:
    headers = NAMED[name]["responses"][status]["headers"].keys()
    assert headers == own | {"X-Request-Id", "Holdfast-Version"}
    assert headers <= DOCUMENT["components"]["headers"].keys()
