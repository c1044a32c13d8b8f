"""What is particular to the Chat Completions wire and to those who are compatible with it."""

from typing import Any

import orjson
import pytest

from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.types import Call, ModelFacts, OneTool, Quirks, ThinkingStyle
from holdfast.adapters.providers.wires import WIRES
from holdfast.domain.chat import ErrorKind
from holdfast.domain.messages import Ending
from holdfast.domain.parts import Native, Reasoning, Text, ToolCall
from tests.support.model import (
    NOW,
    assistant,
    body_of,
    call_for,
    decoder_for,
    endpoint_for,
    feed,
    play,
    recorded_turn,
    results,
    tool_result,
    user,
)

THINKER = ModelFacts(model="m", thinking=ThinkingStyle.EFFORT, efforts=("low", "high"))


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **top: Any) -> bytes:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return b"data: " + orjson.dumps({"id": "c1", "choices": [choice], **top}) + b"\n\n"


def called(*calls: dict[str, Any]) -> bytes:
    return chunk({"tool_calls": list(calls)})


def function(name: str | None = None, arguments: Any = None) -> dict[str, Any]:
    return {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}


def body(call: Call | None = None, **quirks: Any) -> dict[str, Any]:
    return body_of(
        call or call_for("chat", [user("Hi")]), endpoint_for("chat", quirks=Quirks(**quirks))
    )


def calls_of(*chunks: bytes) -> list[tuple[str, str, Any]]:
    final = play("chat", b"".join(chunks))
    return [(p.call_id, p.tool, p.arguments) for p in final.parts if isinstance(p, ToolCall)]


def test_the_end_is_a_finish_reason_and_done_is_not_needed() -> None:
    assert play("chat", chunk({"content": "Yes"}) + chunk(finish="stop")).parts == (Text("Yes"),)


def test_a_bare_done_proves_the_end_only_where_it_is_flagged() -> None:
    data = [chunk({"content": "Yes"}) + b"data: [DONE]\n\n"]
    strict = decoder_for("chat")
    feed(strict, data)
    with pytest.raises(ProviderError):
        strict.final(NOW)

    flagged = decoder_for("chat", quirks=Quirks(done_ends=True))
    feed(flagged, data)
    assert flagged.final(NOW).parts == (Text("Yes"),)


def test_calls_without_an_index_or_all_with_the_same_are_told_apart_by_their_ids() -> None:
    end = chunk(finish="tool_calls")
    plain = [
        {"id": "a", "function": function("clock", "{}")},
        {"id": "b", "function": function("read_file", '{"path":"x"}')},
    ]
    expected: list[tuple[str, str, Any]] = [("a", "clock", {}), ("b", "read_file", {"path": "x"})]

    assert calls_of(called(*plain), end) == expected
    zeros = [{**call, "index": 0} for call in plain]
    assert calls_of(called(zeros[0]), called(zeros[1]), end) == expected
    repeated = [{"index": 0, "id": "a", "function": function("clock", "")}] + [
        {"index": 0, "id": "a", "function": function(None, piece)} for piece in ('{"x"', ":1}")
    ]
    assert calls_of(*(called(call) for call in repeated), end) == [("a", "clock", {"x": 1})]


def test_arguments_may_come_as_an_object() -> None:
    call = {"index": 0, "id": "a", "function": function("clock", {"zone": "utc"})}

    assert calls_of(called(call), chunk(finish="stop")) == [("a", "clock", {"zone": "utc"})]


def test_ids_that_start_again_with_every_reply_are_made_unique_and_replayed_so() -> None:
    history = recorded_turn("chat")[:3]
    data = called({"index": 0, "id": "call_0", "function": function("clock", "{}")})
    final = play("chat", data + chunk(finish="tool_calls"), history)

    call = final.parts[0]
    assert isinstance(call, ToolCall)
    assert call.call_id not in {"call_0", "call_1"}
    history += [assistant(*final.parts), results(tool_result(call.call_id))]
    messages = body(call_for("chat", history))["messages"]
    assert messages[-2]["tool_calls"][0]["id"] == messages[-1]["tool_call_id"] == call.call_id


def test_reasoning_goes_back_only_to_vendors_who_want_it() -> None:
    turn = call_for("chat", [*recorded_turn("chat"), user("Well?")])

    assert "reasoning_content" not in str(body(turn))
    assert body(turn, replays_reasoning=True)["messages"][1]["reasoning_content"].startswith("The")


def test_reasoning_details_are_put_together_and_go_back_whole() -> None:
    pieces = [
        {"type": "reasoning.text", "text": "Hm", "index": 0, "format": "f"},
        {"type": "reasoning.text", "text": "m.", "signature": "s", "index": 0},
        {"type": "reasoning.encrypted", "data": "x", "index": 1},
    ]
    chunks = [chunk({"reasoning": p.get("text", ""), "reasoning_details": [p]}) for p in pieces]
    final = play("chat", b"".join(chunks) + chunk({"content": "Yes"}) + chunk(finish="stop"))

    merged = [
        {"type": "reasoning.text", "text": "Hmm.", "index": 0, "format": "f", "signature": "s"},
        {"type": "reasoning.encrypted", "data": "x", "index": 1},
    ]
    assert final.parts[0] == Reasoning("Hmm.", NOW, Native("chat", {"reasoning_details": merged}))
    turn = call_for("chat", [user("Hi"), assistant(*final.parts), user("Well?")])
    assert body(turn, replays_reasoning=True)["messages"][1]["reasoning_details"] == merged


def test_settings_follow_the_quirks() -> None:
    call = call_for("chat", [user("Hi")], model=THINKER, effort="high", output_max=9, cache_key="k")

    plain = body(call)
    assert (plain["reasoning_effort"], plain["max_completion_tokens"]) == ("high", 9)
    assert plain["stream_options"] == {"include_usage": True}
    assert "prompt_cache_key" not in plain
    odd = body(
        call,
        effort_field="reasoning",
        output_limit="max_tokens",
        usage_option=False,
        cache_key=True,
    )
    assert (odd["reasoning"], odd["max_tokens"]) == ({"effort": "high"}, 9)
    assert "stream_options" not in odd
    assert odd["prompt_cache_key"] == "k"
    choice = body(call_for("chat", [user("Hi")], tool_choice=OneTool("clock")))["tool_choice"]
    assert choice == {"type": "function", "function": {"name": "clock"}}


@pytest.mark.requirement("L40")
def test_a_body_override_cannot_switch_streaming_off() -> None:
    assert body(call_for("chat", [user("Hi")], extra={"stream": False}))["stream"] is True


def test_a_length_limit_cuts() -> None:
    half = called({"index": 0, "id": "a", "function": function("clock", '{"x')})
    final = play("chat", chunk({"content": "Yes"}) + half + chunk(finish="length"))

    assert (final.ending, final.parts) == (Ending.LENGTH, (Text("Yes"),))


@pytest.mark.requirement("L42")
@pytest.mark.parametrize(
    ("finish", "kind"),
    [("content_filter", ErrorKind.CONTENT_FILTER), ("error", ErrorKind.UNAVAILABLE)],
)
def test_a_bad_finish_is_an_error(finish: str, kind: ErrorKind) -> None:
    with pytest.raises(ProviderError) as caught:
        play("chat", chunk({"reasoning_content": "hm"}) + chunk(finish=finish))
    assert caught.value.kind is kind


@pytest.mark.requirement("L42")
def test_a_refusal_is_a_content_filter_whose_words_are_kept_and_go_back_as_one() -> None:
    decoder = decoder_for("chat")
    feed(decoder, [chunk({"refusal": "I "}) + chunk({"refusal": "can't."}, "stop")])
    with pytest.raises(ProviderError) as caught:
        decoder.final(NOW)
    assert caught.value.kind is ErrorKind.CONTENT_FILTER

    parts = decoder.partial(NOW)
    sent = body(call_for("chat", [user("Hi"), assistant(*parts), user("Why?")]))
    assert parts == (Text("I can't.", Native("chat", {"refusal": "I can't."})),)
    assert sent["messages"][1] == {"role": "assistant", "refusal": "I can't.", "content": None}


def test_an_error_inside_the_stream_raises() -> None:
    error = b'data: {"error":{"message":"Provider returned error","code":502}}\n\n'
    decoder = decoder_for("chat")
    with pytest.raises(ProviderError) as caught:
        feed(decoder, [chunk({"content": "Yes"}), error])
    assert caught.value.kind is ErrorKind.UNAVAILABLE
    assert decoder.partial(NOW) == (Text("Yes"),)


def test_text_after_a_call_is_a_part_of_its_own() -> None:
    data = chunk({"content": "a"}) + called({"index": 0, "id": "x", "function": function("clock")})
    final = play("chat", data + chunk({"content": "b"}) + chunk(finish="stop"))

    assert [part.kind for part in final.parts] == ["text", "tool_call", "text"]


def test_the_address() -> None:
    request = WIRES["chat"].request(call_for("chat", [user("Hi")]), endpoint_for("chat"))

    assert request.url == "https://c.example/v1/chat/completions"
