"""What readers are told: allow-listed, ordered, and at the same place from whichever side."""

import tracemalloc
from dataclasses import replace
from typing import Any

import orjson
import pytest

from holdfast.api import responses as shapes
from holdfast.chats.hints import Stamps, decode_inline, encode_data, encode_inline
from holdfast.domain import events
from holdfast.domain.chat import Awaiting, Chat, QueuedMessage, Status
from holdfast.domain.events import EventType, message_json, of_commit, of_state
from holdfast.domain.ids import CallId, Epoch, QueuedId, Seq, Version, VersionStamp
from holdfast.domain.messages import (
    CallFate,
    Ending,
    InheritedCall,
    Message,
    MessageBody,
    Role,
    Takeover,
    Visibility,
)
from holdfast.domain.parts import Context, Native, Need, Text, ToolCall, ToolResult
from holdfast_client import models
from tests.requirements import requirement
from tests.support.builders import CHAT, NOW, ORG, OWNER, backoff, error, open_call, reply, user

SECRET = Native("anthropic", {"signature": "secret"})


def a_chat(**facts: Any) -> Chat:
    given: dict[str, Any] = {"status": Status.RUNNING, "version": Version(5), **facts}
    return Chat(chat_id=CHAT, org_id=ORG, owner_id=OWNER, **given)


def a_message(body: MessageBody, seq: int = 1) -> Message:
    return Message(seq=Seq(seq), body=body, revision=Version(6), epoch=Epoch(1), created_at=NOW)


def kinds(told: list[events.ReaderEvent]) -> list[tuple[str, int]]:
    return [(event.kind.value, event.place) for event in told]


def fact(event: events.ReaderEvent, name: str) -> Any:
    return event.data[name]


@requirement("R6", "L63")
def test_nothing_internal_is_told() -> None:
    body = MessageBody(
        role=Role.ASSISTANT, parts=(Text("hello", native=SECRET), Context("rules", "secret"))
    )
    hidden = [
        MessageBody(role=Role.SYSTEM, parts=(Text("secret"),)),
        replace(user("secret"), visibility=Visibility.MODEL),
    ]
    told = of_commit(
        a_chat(), a_chat(version=Version(6)), [*map(a_message, hidden), a_message(body)]
    )

    assert kinds(told) == [("message.created", 1)]
    assert b"secret" not in encode_inline(1, told)
    assert told[0].data["parts"] == [{"text": "hello", "citations": [], "type": "text"}]


def test_a_step_is_told_as_messages_then_state() -> None:
    before = a_chat(attempt=1)
    after = a_chat(version=Version(6), history_version=Version(6), status=Status.IDLE)

    told = of_commit(before, after, [a_message(reply("one")), a_message(reply("two"), 2)], Seq(1))

    assert kinds(told) == [
        *(("history.reset", 0), ("message.created", 1), ("message.created", 2)),
        ("chat.state", 4),
    ]
    assert kinds(of_state(after, 2)) == [("chat.state", 4), ("queue.updated", 5)]


@requirement("L53")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (a_chat(attempt=1), a_chat(version=Version(6), attempt=2)),
        (a_chat(attempt=1), a_chat(version=Version(6), attempt=1, status=Status.FAILED)),
    ],
    ids=["another attempt", "failed without a message"],
)
def test_what_was_said_live_and_became_no_message_is_taken_back(before: Chat, after: Chat) -> None:
    assert kinds(of_commit(before, after, ()))[:2] == [("preview.reset", 1), ("chat.state", 2)]


def test_a_wait_is_told_with_its_delay_and_taken_back_by_the_next_status() -> None:
    waits = a_chat(version=Version(6), attempt=1, backoff=backoff())

    told = of_commit(a_chat(attempt=1), waits, ())

    assert kinds(told) == [("chat.state", 2)]
    assert fact(told[0], "retry")["delay_ms"] == backoff().delay_ms
    begun = of_commit(waits, a_chat(version=Version(7), attempt=2), ())
    assert kinds(begun) == [("preview.reset", 1), ("chat.state", 2)]


def test_a_failure_is_told_as_a_sentence() -> None:
    failed = a_chat(version=Version(6), status=Status.FAILED, error=error())

    told = of_commit(a_chat(), failed, ())

    assert kinds(told) == [("chat.state", 2)]
    assert fact(told[0], "error")["message"] == error().sentence


def test_the_words_of_a_provider_are_told_apart_from_the_events() -> None:
    said = error()
    assert said.detail is not None
    failed = a_chat(status=Status.FAILED, error=said)

    details = {"detail": said.detail, "request_id": said.request_id}
    assert events.error_details_json(failed) == details
    assert events.error_details_json(a_chat()) is None
    assert events.error_details_json(a_chat(attempt=1, backoff=backoff())) == details
    silent = replace(said, detail=None)
    assert events.error_details_json(a_chat(status=Status.FAILED, error=silent)) is None


def test_an_inline_commit_survives_the_journey() -> None:
    told = of_commit(a_chat(), a_chat(version=Version(6), attempt=1), [a_message(reply("a\nb"))])

    inline = decode_inline(encode_inline(3, told))

    assert inline is not None
    assert inline.attempt == 3
    assert [(e.kind, e.place, orjson.loads(e.data)) for e in inline.events] == [
        (e.kind, e.place, orjson.loads(orjson.dumps(e.data))) for e in told
    ]


@requirement("L146")
@pytest.mark.parametrize(
    ("head", "stamps"),
    [
        (encode_inline(3, (), Stamps(*map(VersionStamp, (5, 4, 2)))), (5, 4, 2)),
        (b"3", (0, 0, 0)),
        (b"3 5 4 2 7", (5, 4, 2)),
    ],
    ids=["ours", "of an older version", "of a newer version"],
)
def test_inline_commit_tells_the_stamps(head: bytes, stamps: tuple[int, ...]) -> None:
    inline = decode_inline(head)
    assert inline is not None
    assert (inline.attempt, inline.stamps) == (3, stamps)


@pytest.mark.parametrize("garbage", [b"", b"x", b"1\n2 unknown_kind {}", b"1\n2"])
def test_what_cannot_be_read_is_left_to_the_store(garbage: bytes) -> None:
    assert decode_inline(garbage) is None


def test_a_commit_that_is_too_long_is_left_out() -> None:
    told = of_commit(a_chat(), a_chat(version=Version(6)), [a_message(reply("x" * 70_000))])
    assert encode_inline(1, told) == b""


def test_what_is_no_character_is_replaced_for_readers() -> None:
    data = encode_data({"\ud800": ["a\udfffb", 1, None]})
    assert orjson.loads(data) == {"\ufffd": ["a\ufffdb", 1, None]}


def test_what_is_kept_for_readers_holds_no_more_than_it_says() -> None:
    tracemalloc.start()
    try:
        kept = [encode_data({"status": "idle", "number": number}) for number in range(500)]
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < 200 * len(kept), "an encoder's buffer of 4 KiB stays with each"


def test_every_kind_has_a_place_or_is_no_part_of_a_commit() -> None:
    outside = {EventType.PREVIEW_DELTA, EventType.PING, EventType.CLOSED}
    assert set(EventType) - outside == {
        EventType.HISTORY_RESET,
        EventType.MESSAGE_CREATED,
        *events.STATE,
    }


@requirement("L151")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2**53 + 1, "9007199254740993"),
        (-(2**53) - 1, "-9007199254740993"),
        (12345678901234567890.0, "1.2345678901234567e+19"),
        (-0.0, "-0.0"),
        ({"to": [{"account": 2**60}]}, '{"to": [{"account": 1152921504606846976}]}'),
        ((2**53, "é"), '[9007199254740992, "é"]'),
    ],
)
def test_argument_that_a_double_changes_is_told_as_text_too(value: Any, text: str) -> None:
    call = ToolCall(CallId("c1"), "pay", {"note": "rent", "given": value})
    (told,) = events.parts_json(MessageBody(role=Role.ASSISTANT, parts=(call,)))
    assert isinstance(told, dict)
    assert told["arguments"] == {"note": "rent", "given": value}
    assert told["exact_arguments"] == {"given": text}


@requirement("L151")
@pytest.mark.parametrize(
    "value", [2**53 - 1, 1 - 2**53, 0.1, 0, 1e-7, True, None, "9007199254740993", [1, {"a": 2.5}]]
)
def test_argument_that_a_double_holds_is_told_once(value: Any) -> None:
    assert events.exact_arguments({"given": value}) == {}
    call = ToolCall(CallId("c1"), "pay", {"given": value})
    (told,) = events.parts_json(MessageBody(role=Role.ASSISTANT, parts=(call,)))
    assert isinstance(told, dict)
    assert "exact_arguments" not in told


@pytest.mark.parametrize("after_s", [8, None])
def test_a_takeover_is_told_in_the_shape_of_the_contract(after_s: int | None) -> None:
    calls = tuple(InheritedCall(CallId(fate), "tool", fate) for fate in CallFate)
    takeover = Takeover(attempt=2, lost_workers=1, after_s=after_s, kept=True, calls=calls)

    told = message_json(a_message(reply(takeover=takeover)))

    expected = {"attempt": 2, "lost_workers": 1, "after_seconds": after_s, "kept": True}
    assert isinstance(told["takeover"], dict)
    assert told["takeover"] | expected == told["takeover"]
    shown = shapes.Message.model_validate(told).takeover
    assert shown is not None
    assert [(call.call_id, call.tool_name, call.fate) for call in shown.calls] == [
        (call.call_id, call.tool, call.fate) for call in calls
    ]
    read = models.Message.model_validate(told).takeover
    assert read is not None
    assert read.model_dump() == told["takeover"]


def test_a_message_without_a_takeover_is_told_without_the_field() -> None:
    assert "takeover" not in message_json(a_message(reply()))


@pytest.mark.parametrize("web", [True, False, None])
def test_what_a_user_says_of_the_web_is_told_if_it_was_said(web: bool | None) -> None:
    body = user("hi", web=web)
    waiting = QueuedMessage(queued_id=QueuedId(1), position=1, urgent=False, head=body, bytes=9)
    for told in (message_json(a_message(body)), events.queued_json(waiting)):
        assert told.get("web") is web
        assert ("web" in told) == (web is not None)


@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        (Ending.COMPLETE, "stop"),
        (Ending.INTERRUPTED, "interrupted"),
        (Ending.LENGTH, "length"),
        (Ending.CUT, "provider_error"),
        (Ending.PAUSED, "paused"),
    ],
)
def test_finish_reason_of_a_message_names_the_cause(ending: Ending, reason: str) -> None:
    assert message_json(a_message(reply(ending=ending)))["finish_reason"] == reason


def test_role_of_a_compaction_summary_is_summary() -> None:
    body = MessageBody(role=Role.BOUNDARY, parts=(Text("so far"),))

    assert message_json(a_message(body))["role"] == "summary"


def test_usage_of_a_message_has_five_counts_in_terms_of_no_provider() -> None:
    stored = {"input": 9, "cache_write_5m": 2, "cache_write_1h": 3, "output": 4, "searches": 1}

    assert message_json(a_message(reply(usage=stored)))["usage"] == {
        "input_tokens": 9,
        "output_tokens": 4,
        "reasoning_tokens": None,
        "cache_read_tokens": None,
        "cache_write_tokens": 5,
    }
    flex = events.usage_json({"input": 1, "tier_flex": 1})
    assert flex["service_tier"] == "flex"
    plain = events.usage_json({"input": 1})
    assert plain["cache_write_tokens"] is None


@pytest.mark.parametrize(
    ("more", "executed_by"),
    [
        ({}, "server"),
        ({"needs": Need.APPROVAL}, "server"),
        ({"needs": Need.RESULT}, "client"),
        ({"needs": Need.ANSWER}, "client"),
        ({"needs": Need.APPROVAL, "then": Need.RESULT}, "client"),
        ({"runs_at": "provider"}, "provider"),
    ],
)
def test_executed_by_of_a_call_names_what_runs_it(more: dict[str, Any], executed_by: str) -> None:
    call = ToolCall(CallId("c1"), "look_up", {}, **more)
    (told,) = events.parts_json(MessageBody(role=Role.ASSISTANT, parts=(call,)))

    assert isinstance(told, dict)
    assert told["executed_by"] == executed_by
    needs = more.get("needs")
    assert told["action_required"] == (None if needs is None else needs.value)


@pytest.mark.parametrize(
    ("runs_at", "executed_by"), [("here", "server"), ("client", "client"), ("provider", "provider")]
)
def test_executed_by_of_a_result_names_what_ran_it(runs_at: Any, executed_by: str) -> None:
    result = ToolResult(CallId("c1"), "look_up", "x", runs_at=runs_at)
    (told,) = events.parts_json(MessageBody(role=Role.TOOL, parts=(result,)))

    assert isinstance(told, dict)
    assert (told["executed_by"], told["is_error"]) == (executed_by, False)


def calls_of(chat: Chat) -> list[dict[str, Any]]:
    return orjson.loads(encode_data(events.state_json(chat)))["action_required"]["calls"]


def test_awaited_call_is_told_with_its_arguments_and_their_exact_text() -> None:
    call = replace(open_call("c1", Need.APPROVAL), arguments={"account": 2**53 + 1})
    waits = Awaiting(kind=Need.APPROVAL, calls=(call.call_id,))
    chat = a_chat(status=Status.AWAITING, open_calls=(call,), awaiting=waits)

    (told,) = calls_of(chat)

    assert told == {
        "call_id": "c1",
        "tool_name": "tool",
        "seq": 2,
        "arguments": {"account": 2**53 + 1},
        "digest": call.digest,
        "exact_arguments": {"account": "9007199254740993"},
    }
    chat = replace(chat, open_calls=(replace(call, arguments=None),))
    (told,) = calls_of(chat)
    assert told["arguments"] is None
    assert "exact_arguments" not in told


@pytest.mark.parametrize(
    ("attempt", "status", "reason"),
    [(2, Status.RUNNING, "retry"), (1, Status.FAILED, "ended"), (1, Status.IDLE, "ended")],
)
def test_preview_reset_says_why(attempt: int, status: Status, reason: str) -> None:
    after = a_chat(version=Version(6), attempt=attempt, status=status)
    reset = of_commit(a_chat(attempt=1), after, ())[0]
    assert reset.data == {"attempt": attempt, "reason": reason}


def test_a_value_that_json_cannot_say_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="not JSON"):
        encode_data({"x": object()})  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("diff", ["", "@@ -1 +1 @@\n-a\n+b"])
def test_a_result_has_its_diff_only_if_there_is_one(diff: str) -> None:
    result = ToolResult(CallId("c1"), "edit_file", "Edited a.py.", diff=diff)
    (told,) = events.parts_json(replace(user(), parts=(result,)))
    assert isinstance(told, dict)
    assert told.get("diff", "") == diff
    assert ("diff" in told) == bool(diff)
