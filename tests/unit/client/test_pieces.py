"""Patience, tools, events and the making of the sync half, each by itself."""

import inspect
from typing import Annotated, Any

import pytest
from pydantic import Field

from holdfast_client import tool
from holdfast_client.errors import (
    APIStatusError,
    BadRequestError,
    InternalServerError,
    RateLimitError,
    api_error,
)
from holdfast_client.events import ChatState, MessageCreated, UnknownEvent, event_of
from holdfast_client.models import Me, Message, OtherPart, TextPart, User
from holdfast_client.patience import PAUSE_MAX_S, PAUSE_MIN_S, Patience
from holdfast_client.tools import toolbox
from scripts.generate_sync import rewritten
from tests.support.sdk import TWINS


def test_pauses_grow_to_a_bound_differ_and_begin_anew_after_progress() -> None:
    patience = Patience(None)
    pauses = [patience.pause_s() or 0.0 for _ in range(200)]
    assert pauses[0] < PAUSE_MIN_S
    assert PAUSE_MIN_S < max(pauses) < PAUSE_MAX_S
    assert len(set(pauses)) > 100
    patience.progressed()
    assert (patience.pause_s() or 0.0) < PAUSE_MIN_S
    assert (patience.pause_s(7.0) or 0.0) >= 7.0


def test_there_is_no_pause_past_the_end() -> None:
    assert Patience(60).pause_s(61) is None
    assert Patience(0).is_over
    assert Patience(5).within(60) <= 5
    assert Patience(None).within(60) == 60


def test_a_function_becomes_a_tool_by_its_signature() -> None:
    @tool
    def find(
        words: list[str], most: Annotated[int, Field(ge=1, description="So many.")] = 3
    ) -> str:
        """Find something."""
        return f"{words} {most}"

    assert (find.name, find.description) == ("find", "Find something.")
    assert find.schema["required"] == ["words"]
    assert find.schema["properties"]["most"]["minimum"] == 1
    assert find.schema["additionalProperties"] is False
    assert find(["a"]) == "['a'] 3"
    assert find.begin({"words": ["a"], "most": "5"}) == "['a'] 5"
    for bad in ({}, {"words": ["a"], "most": 0}, {"words": ["a"], "other": 1}):
        with pytest.raises(ValueError, match="validation error"):
            find.begin(bad)
    assert set(toolbox([find, test_there_is_no_pause_past_the_end])) == {
        "find",
        "test_there_is_no_pause_past_the_end",
    }
    with pytest.raises(ValueError, match="two tools"):
        toolbox([find, find])


def test_a_function_without_named_arguments_is_no_tool() -> None:
    def function(*words: str) -> None: ...

    with pytest.raises(TypeError, match="named arguments"):
        tool(function)


def test_what_a_newer_server_says_is_passed_on_and_breaks_nothing() -> None:
    data: dict[str, Any] = {
        "seq": 1,
        "role": "oracle",
        "finish_reason": "stop",
        "parts": [{"type": "text", "text": "a", "new": 1}, {"type": "hologram", "depth": 3}],
        "created_at": "2026-01-01T00:00:00Z",
        "version": 1,
        "more": True,
    }
    head = {"cursor": "c", "version": 1, "final": True}
    event = event_of({"type": "message.created", **head, "data": data})
    assert isinstance(event, MessageCreated)
    text, other = event.data.parts
    assert isinstance(text, TextPart)
    assert isinstance(other, OtherPart)
    assert (other.type, other.model_extra) == ("hologram", {"depth": 3})
    assert Message.model_validate(event.data) == event.data

    known = event_of({"type": "chat.state", **head, "data": {"status": "dreaming"}})
    assert isinstance(known, ChatState)
    for envelope in (
        {"type": "new", **head, "data": {"x": 1}},
        {"type": "chat.state", **head, "data": {"state": "renamed"}},
    ):
        strange = event_of(envelope)
        assert isinstance(strange, UnknownEvent)
        assert (strange.cursor, strange.raw) == ("c", envelope)


def test_times_are_dumped_as_the_api_writes_them() -> None:
    given = {"id": "u", "name": "n", "role": "member"}
    user = User.model_validate({**given, "created_at": "2026-01-02T03:04:05+02:00"})
    assert user.model_dump(mode="json")["created_at"] == "2026-01-02T01:04:05.000000Z"
    again = Me.model_validate(
        {"org_id": "o", "user": user.model_dump(), "scopes": [], "credential_type": "session"}
    )
    assert again.model_dump(mode="json")["user"]["created_at"] == "2026-01-02T01:04:05.000000Z"


def test_a_problem_becomes_its_class_with_what_it_said() -> None:
    said = {"type": "t", "title": "T", "status": 422, "code": "invalid_request", "detail": "D"}
    error = api_error(422, {**said, "errors": [1]}, None)
    assert isinstance(error, BadRequestError)
    assert (error.code, str(error), error.extra) == ("invalid_request", "D", {"errors": [1]})
    assert (error.retryable, error.request_id) == (False, None)
    away = api_error(503, {"code": "unavailable", "retryable": True, "request_id": "req_1"}, "1")
    assert (away.retryable, away.request_id, away.extra) == (True, "req_1", {})
    busy = api_error(429, None, "7")
    assert isinstance(busy, RateLimitError)
    assert busy.retry_after_s == 7
    assert api_error(503, ["not", "ours"], "Wed, 21 Oct 2026 07:28:00 GMT").retry_after_s is None
    assert type(api_error(500, {}, None, "req_2")) is InternalServerError
    assert api_error(500, {}, None, "req_2").request_id == "req_2"
    assert type(api_error(418, {}, None)) is APIStatusError


ASYNC = '''class AsyncThing:
    async def get(self) -> "AsyncThing":
        """Async stays in prose: await nothing."""
        async with aclosing(self.items()) as items:
            return [await each async for each in items]
'''
SYNC = '''class Thing:
    def get(self) -> "Thing":
        """Async stays in prose: await nothing."""
        with closing(self.items()) as items:
            return [each for each in items]
'''


def test_the_sync_half_is_the_async_one_without_waiting() -> None:
    assert rewritten(ASYNC) == SYNC


@pytest.mark.parametrize("sync", TWINS, ids=lambda each: each.__name__)
def test_the_twins_have_the_same_names_and_arguments(sync: type[Any]) -> None:
    def face(of: type[Any]) -> dict[str, list[str]]:
        return {
            {"aclose": "close"}.get(name, name): list(inspect.signature(value).parameters)
            for name, value in vars(of).items()
            if inspect.isfunction(value) and not name.startswith("_")
        }

    twin = TWINS[sync]
    assert face(sync) == face(twin)
    assert not [name for name, value in vars(sync).items() if inspect.iscoroutinefunction(value)]
    assert not [name for name, value in vars(sync).items() if inspect.isasyncgenfunction(value)]
