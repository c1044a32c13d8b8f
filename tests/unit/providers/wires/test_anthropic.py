"""What is particular to the Anthropic Messages wire."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.types import CachePolicy, ModelFacts, OneTool, ThinkingStyle, Tool
from holdfast.adapters.providers.wires import WIRES
from holdfast.domain.chat import ErrorKind
from holdfast.domain.ids import CallId
from holdfast.domain.messages import Ending
from holdfast.domain.parts import Native, Reasoning, Text, ToolCall
from holdfast.ports.models import Usage
from tests.support.model import (
    FACTS,
    NOW,
    assistant,
    body_of,
    call_for,
    decoder_for,
    endpoint_for,
    feed,
    play,
    results,
    tool_call,
    tool_result,
    user,
)

ADAPTIVE = ModelFacts(
    model="claude-opus-4-8",
    thinking=ThinkingStyle.ADAPTIVE,
    efforts=("low", "medium", "high", "max"),
    thinking_display="summarized",
    sampling=False,
    betas=("one", "two"),
)
START = {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 5}}}


def body(**changes: Any) -> dict[str, Any]:
    changes.setdefault("history", [user("Hi")])
    return body_of(call_for("anthropic", **changes), endpoint_for("anthropic"))


def stream(*events: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + orjson.dumps(event) + b"\n\n" for event in events)


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def end(reason: str | None, **usage: int) -> list[dict[str, Any]]:
    delta = {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}
    return [delta, {"type": "message_stop"}]


SAID = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Yes"})


@pytest.mark.requirement("L40")
def test_a_body_override_cannot_switch_streaming_off() -> None:
    sent = body(extra={"stream": False, "metadata": {"user_id": "u"}, "max_tokens": 7})

    assert sent["stream"] is True
    assert (sent["metadata"], sent["max_tokens"]) == ({"user_id": "u"}, 7)


def test_breakpoints_mark_tools_system_and_the_last_two_user_messages_longer_first() -> None:
    history = [user("1"), assistant(Text("a")), user("2"), assistant(Text("b")), user("3")]

    sent = body(history=history, system=("s", "t"), cache=CachePolicy("1h", "5m"))

    long, short = {"type": "ephemeral", "ttl": "1h"}, {"type": "ephemeral"}
    assert sent["tools"][-1]["cache_control"] == long
    assert sent["system"][-1]["cache_control"] == long
    assert [m["content"][-1].get("cache_control") for m in sent["messages"]] == [
        None,
        None,
        short,
        None,
        short,
    ]
    assert orjson.dumps(sent).count(b"cache_control") == 4
    with pytest.raises(AssertionError):
        CachePolicy("5m", "1h")


@pytest.mark.parametrize(
    ("facts", "effort", "expected"),
    [
        (
            ADAPTIVE,
            "high",
            {
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "high"},
            },
        ),
        (
            ADAPTIVE,
            "xhigh",
            {
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "high"},
            },
        ),
        (
            ADAPTIVE,
            "minimal",
            {
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "low"},
            },
        ),
        (ADAPTIVE, None, {}),
        (FACTS["anthropic"], "low", {"thinking": {"type": "enabled", "budget_tokens": 4096}}),
        (FACTS["anthropic"], "none", {"thinking": {"type": "enabled", "budget_tokens": 4096}}),
        (FACTS["anthropic"], "weird", {}),
        (ModelFacts(model="old"), "high", {}),
    ],
)
def test_effort_follows_the_catalogue(
    facts: ModelFacts, effort: str | None, expected: dict[str, Any]
) -> None:
    sent = body(model=facts, effort=effort)

    assert {key: sent[key] for key in ("thinking", "output_config") if key in sent} == expected


def test_a_budget_stays_below_the_output_limit_or_is_left_out() -> None:
    assert body(effort="low", output_max=3000)["thinking"]["budget_tokens"] == 1976
    assert "thinking" not in body(effort="low", output_max=1500)


def test_a_forced_call_goes_without_thinking() -> None:
    assert "thinking" not in body(effort="low", tool_choice="required")
    forced = body(model=ADAPTIVE, effort="low", tool_choice=OneTool("clock"))
    assert "thinking" not in forced
    assert forced["tool_choice"] == {"type": "tool", "name": "clock"}


def test_tool_choices_and_no_tools() -> None:
    assert body(tool_choice="required")["tool_choice"] == {"type": "any"}
    assert body(tool_choice="none")["tool_choice"] == {"type": "none"}
    assert "tool_choice" not in body(tools=())


def test_temperature_is_sent_only_where_it_is_accepted() -> None:
    assert body(temperature=0.5)["temperature"] == 0.5
    assert "temperature" not in body(temperature=0.5, effort="low")  # not beside thinking
    assert "temperature" not in body(model=ADAPTIVE, temperature=0.5)


def test_headers_and_address() -> None:
    request = WIRES["anthropic"].request(
        call_for("anthropic", [user("Hi")], model=ADAPTIVE), endpoint_for("anthropic")
    )

    assert request.url == "https://a.example/v1/messages"
    assert request.headers == {"anthropic-version": "2023-06-01", "anthropic-beta": "one,two"}


@pytest.mark.requirement("L36")
def test_no_list_of_a_schema_is_null() -> None:
    schema = {"properties": {"a": {"type": "object", "properties": None}}, "required": None}

    sent = body(tools=[Tool(name="t", schema=schema)])["tools"][0]["input_schema"]

    assert sent == {"type": "object", "properties": {"a": {"type": "object"}}}


@pytest.mark.requirement("L34")
def test_a_tool_with_an_odd_name_is_called_by_its_stand_in_and_found_again() -> None:
    tools = [Tool(name="server.tool/" + "x" * 80)]
    call = call_for("anthropic", [user("Hi")], tools=tools)
    name = body_of(call, endpoint_for("anthropic"))["tools"][0]["name"]
    decoder = WIRES["anthropic"].decoder(call, endpoint_for("anthropic"))
    use: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": name, "input": {"a": 1}}
    feed(decoder, [stream(START, *block(0, use), *end("tool_use"))])

    part = decoder.final(NOW).parts[0]

    assert isinstance(part, ToolCall)
    assert (part.tool, part.arguments) == (tools[0].name, {"a": 1})


@pytest.mark.requirement("L35")
def test_broken_arguments_make_a_call_that_is_answered_and_never_run() -> None:
    use: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "clock", "input": {}}
    broken = {"type": "input_json_delta", "partial_json": '{"a": '}
    final = play("anthropic", stream(START, *block(0, use, broken), *end("tool_use")))

    assert final.parts == (ToolCall(CallId("t1"), "clock", {}),)
    assert [(bad.call_id, bad.raw) for bad in final.malformed] == [("t1", '{"a": ')]
    sent = body(history=[user("Hi"), assistant(*final.parts), results(tool_result("t1"))])
    assert sent["messages"][1]["content"][0]["input"] == {}


def test_a_call_cut_by_the_length_limit_is_dropped() -> None:
    use: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "clock", "input": {}}
    half = {"type": "input_json_delta", "partial_json": '{"a": '}
    final = play("anthropic", stream(START, *SAID, *block(1, use, half), *end("max_tokens")))

    assert (final.ending, final.malformed) == (Ending.LENGTH, ())
    assert [type(part) for part in final.parts] == [Text]


@pytest.mark.requirement("L35")
@pytest.mark.parametrize("wire", ["anthropic", "responses", "chat", "gemini"])
def test_stored_input_that_is_no_object_is_replayed_as_an_empty_one(wire: str) -> None:
    odd: Any = ToolCall(CallId("t1"), "clock", ["not", "an", "object"])  # type: ignore[arg-type]
    history = [user("Hi"), assistant(odd), results(tool_result("t1"))]

    sent = orjson.dumps(body_of(call_for(wire, history), endpoint_for(wire)))

    assert b"not" not in sent.replace(b"file", b"")
    assert b"{}" in sent


def test_usage_is_cumulative_and_left_out_fields_keep_their_value() -> None:
    start = {
        "type": "message_start",
        "message": {"id": "m", "usage": {"input_tokens": 10, "cache_creation_input_tokens": 7}},
    }
    final = play("anthropic", stream(start, *SAID, *end("end_turn", output_tokens=9)))
    assert final.usage is not None
    assert (final.usage.input, final.usage.cache_write_5m, final.usage.output) == (17, 7, 9)

    late = play(
        "anthropic", stream(START, *SAID, *end("end_turn", input_tokens=99, output_tokens=1))
    )
    assert late.usage == Usage(input=99, output=1)  # some gateways know it only at the end


@pytest.mark.parametrize(
    "events",
    [
        [START, *SAID, {"type": "message_stop"}],
        [START, *SAID, *end("end_turn")[:1]],
        [START, *SAID[:2]],
    ],
)
def test_the_end_is_message_stop_and_a_stop_reason(events: list[dict[str, Any]]) -> None:
    with pytest.raises(ProviderError) as caught:
        play("anthropic", stream(*events))
    assert caught.value.kind is ErrorKind.STREAM_CLOSED


@pytest.mark.parametrize(
    "events",
    [
        [START, *SAID[:2], *end("end_turn")],
        [START, SAID[0], SAID[0]],
        [START, *block(1, {"type": "text", "text": ""})],
        [START, SAID[0], {**SAID[1], "delta": {"type": "thinking_delta", "thinking": "x"}}],
        [START, *SAID, SAID[1]],
    ],
)
def test_blocks_out_of_order_are_an_error_not_an_answer(events: list[dict[str, Any]]) -> None:
    with pytest.raises(ProviderError) as caught:
        play("anthropic", stream(*events))
    assert caught.value.kind is ErrorKind.UNKNOWN


@pytest.mark.requirement("L42")
@pytest.mark.parametrize("said", [[], SAID])
def test_a_refusal_is_a_content_filter_not_a_success(said: list[dict[str, Any]]) -> None:
    thought = block(len(said) // 3, {"type": "thinking", "thinking": "hm", "signature": "s"})
    with pytest.raises(ProviderError) as caught:
        play("anthropic", stream(START, *said, *thought, *end("refusal")))
    assert caught.value.kind is ErrorKind.CONTENT_FILTER


def test_a_pause_asks_for_the_same_messages_again() -> None:
    use: dict[str, Any] = {
        "type": "server_tool_use",
        "id": "s1",
        "name": "web_search",
        "input": {"query": "x"},
    }
    final = play("anthropic", stream(START, *block(0, use), *end("pause_turn")))
    sent = body(history=[user("Hi"), assistant(*final.parts, ending=final.ending)])

    assert final.ending is Ending.PAUSED
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant"]
    assert sent["messages"][1]["content"] == [use]


def test_blocks_that_only_the_provider_understands_are_kept_for_it() -> None:
    odd = {"type": "container_upload", "file_id": "f", "gone": None}
    final = play(
        "anthropic",
        stream(START, *block(0, odd), *[{**event, "index": 1} for event in SAID], *end("end_turn")),
    )

    kept = {"type": "container_upload", "file_id": "f"}
    assert final.parts[0] == Reasoning("", NOW, Native("anthropic", kept))
    sent = body(history=[user("Hi"), assistant(*final.parts), user("Well?")])
    assert sent["messages"][1]["content"][0] == kept


def test_a_failed_search_is_a_failed_result() -> None:
    use: dict[str, Any] = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    failure = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    result = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": failure}
    final = play("anthropic", stream(START, *block(0, use), *block(1, result), *end("end_turn")))

    assert final.parts[1].failed  # type: ignore[union-attr]


def test_an_error_event_is_classified_by_its_type() -> None:
    decoder = decoder_for("anthropic")
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with pytest.raises(ProviderError) as caught:
        feed(decoder, [stream(START, *SAID[:2], error)])
    assert (caught.value.kind, caught.value.status) == (ErrorKind.OVERLOADED, None)
    assert decoder.partial(NOW) == (Text("Yes"),)


def test_repeated_ids_are_replaced_in_the_replayed_block_too() -> None:
    native = Native("anthropic", {"type": "tool_use", "id": "call_0", "name": "clock", "input": {}})
    call = ToolCall(CallId("call_0"), "clock", {}, native=native)
    history = [user("Hi")]
    for _ in range(2):
        history += [assistant(call), results(tool_result("call_0"))]

    messages = body(history=history)["messages"]

    assert [m["content"][0].get("id") or m["content"][0]["tool_use_id"] for m in messages[1:]] == [
        "call_0",
        "call_0",
        "call_0_2",
        "call_0_2",
    ]
    assert tool_call("x").call_id == "x"


def _thinking(*words: str, signature: str = "EqQBCgIYAhIM") -> tuple[Reasoning, dict[str, Any]]:
    """The part of a block of thinking, and what the next prompt says in its place."""
    deltas = [{"type": "thinking_delta", "thinking": word} for word in words]
    signed = {"type": "signature_delta", "signature": signature}
    thought = block(0, {"type": "thinking", "thinking": "", "signature": ""}, *deltas, signed)
    said = block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Yes"})
    reply = play("anthropic", stream(START, *thought, *said, *end("end_turn", output_tokens=3)))
    (part, _) = reply.parts
    assert isinstance(part, Reasoning)
    sent = body(history=[user("Hi"), assistant(*reply.parts), user("And?")])
    return part, sent["messages"][1]["content"][0]


@pytest.mark.requirement("M5")
@pytest.mark.parametrize(
    ("words", "signature"),
    [
        (("The", "The", " sky", " sky", ", then.", ", then."), "EqQBCgIYAhIM"),
        (("The", " sky"), "EqQBCgIYAhIMEqQBCgIYAhIM"),
    ],
)
def test_thinking_that_came_twice_is_shown_and_never_sent_back(
    words: tuple[str, ...], signature: str
) -> None:
    part, sent = _thinking(*words, signature=signature)

    assert part.text == "".join(words)
    assert part.native is None
    assert sent == {"type": "text", "text": "Yes"}


@pytest.mark.parametrize(
    "words", [("ha", "ha", "ha", "ha"), ("no", "no", " yes", " yes"), ("a", "a", "b", "b", "c")]
)
def test_thinking_that_repeats_itself_is_sent_back_as_it_was_signed(words: tuple[str, ...]) -> None:
    part, sent = _thinking(*words)

    assert part.native is not None
    assert sent == {"type": "thinking", "thinking": "".join(words), "signature": "EqQBCgIYAhIM"}


def test_a_refusal_says_what_the_provider_said() -> None:
    closing = end("refusal")
    details = {"type": "refusal", "category": "cyber", "explanation": "No exploits."}
    closing[0]["delta"]["stop_details"] = details

    with pytest.raises(ProviderError) as refused:
        play("anthropic", stream(START, *closing))

    assert refused.value.kind is ErrorKind.CONTENT_FILTER
    assert "category 'cyber', explanation 'No exploits.'" in refused.value.detail


def test_a_stop_reason_of_tomorrow_is_complete_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    text = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi"})
    reply = play("anthropic", stream(START, *text, *end("tomorrow")))

    assert reply.ending is Ending.COMPLETE
    assert [record.message for record in caplog.records] == ["unknown word of a provider"]


def test_a_model_that_thinks_anyway_is_asked_to_show_it() -> None:
    facts = replace(ADAPTIVE, thinks=True)

    assert body(model=facts)["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert "output_config" not in body(model=facts)
    assert "thinking" not in body(model=ADAPTIVE)
