"""What the four wires say: event names, order, ids, usage, signatures, citations."""

from typing import Any

import pytest

from holdfast_simulator.asked import WireName
from holdfast_simulator.chance import Chance
from holdfast_simulator.jsons import obj
from holdfast_simulator.options import Options
from holdfast_simulator.plan import Planner
from holdfast_simulator.reply import CallPart, Reply, Stop, TextPart, ThinkingPart
from holdfast_simulator.seal import Purpose, holds
from holdfast_simulator.usage import InputUsage
from holdfast_simulator.wires.base import Frame, Job, Mark
from tests.support.simulator import Json, body, call, wire_of

A, R, C, G = WireName.ANTHROPIC, WireName.RESPONSES, WireName.CHAT, WireName.GEMINI
COST = InputUsage(total=100, cache_read=30, cache_write_5m=20, cache_write_1h=10)


def job(wire: WireName, reply: Reply | None = None, given: Json | None = None) -> Job:
    asked = wire_of(wire).read(call(wire, given or body(wire)))
    if reply is None:
        plan = Planner(seed=0, defaults=Options(), script=None)
        reply = plan.plan(asked, {"x-sim-scenario": "golden"}).reply
    return Job(asked=asked, reply=reply, entry=COST, chance=Chance(b"t"), created_s=5)


def events(wire: WireName, reply: Reply | None = None) -> list[Frame]:
    return wire_of(wire).frames(job(wire, reply))


def bodies(frames: list[Frame]) -> list[Json]:
    return [obj(frame.body) for frame in frames]


def billed(frames: list[Frame]) -> tuple[int, int]:
    return sum(f.tokens for f in frames), sum(f.reasoning for f in frames)


def test_anthropic_events_come_in_order_with_running_indices() -> None:
    frames = events(A)
    names = [frame.name for frame in frames]
    assert names[:3] == ["message_start", "content_block_start", "ping"]
    assert names[-2:] == ["message_delta", "message_stop"]
    started = [e for e in bodies(frames) if e["type"] == "content_block_start"]
    assert [e["index"] for e in started] == list(range(len(started)))
    kinds = [e["content_block"]["type"] for e in started]
    assert kinds == [
        "thinking",
        "redacted_thinking",
        "server_tool_use",
        "web_search_tool_result",
        "text",
        "text",
        "text",
        "thinking",
        "text",
        "tool_use",
        "tool_use",
    ]
    for event in bodies(frames):
        assert event["type"] == frames[bodies(frames).index(event)].name


def test_anthropic_usage_is_cumulative_and_splits_the_cache() -> None:
    frames = events(A)
    start = bodies(frames)[0]["message"]["usage"]
    assert start["input_tokens"] == 40
    assert start["cache_creation_input_tokens"] == 30
    assert start["cache_creation"] == {
        "ephemeral_5m_input_tokens": 20,
        "ephemeral_1h_input_tokens": 10,
    }
    assert start["cache_read_input_tokens"] == 30
    end = bodies(frames)[-2]["usage"]
    assert end["output_tokens"] == billed(frames)[0]
    assert end["server_tool_use"] == {"web_search_requests": 1, "web_fetch_requests": 0}


def test_anthropic_whole_message_can_be_replayed() -> None:
    wire = wire_of(A)
    message = wire.body(job(A))
    thinking = message["content"][0]
    assert holds(Purpose.THINKING, thinking["thinking"], thinking["signature"])
    cited = [block for block in message["content"] if block.get("citations")]
    assert cited[0]["citations"][0]["type"] == "web_search_result_location"
    calls = [block for block in message["content"] if block["type"] == "tool_use"]
    assert [block["input"]["city"] for block in calls] == ["Oslo", "São Paulo"]
    assert message["stop_reason"] == "tool_use"


def test_responses_events_are_numbered_and_end_with_the_whole_response() -> None:
    frames = events(R)
    assert [e["sequence_number"] for e in bodies(frames)] == list(range(len(frames)))
    assert [frame.name for frame in frames[:2]] == ["response.created", "response.in_progress"]
    final = bodies(frames)[-1]["response"]
    done = [e["item"] for e in bodies(frames) if e["type"] == "response.output_item.done"]
    assert final["output"] == done
    assert [item["type"] for item in done] == [
        "reasoning",
        "reasoning",
        "web_search_call",
        "message",
        "reasoning",
        "message",
        "function_call",
        "function_call",
    ]
    assert final["usage"]["input_tokens"] == 100
    assert final["usage"]["input_tokens_details"]["cached_tokens"] == 30
    output, reasoning = billed(frames)
    assert final["usage"]["output_tokens"] == output
    assert final["usage"]["output_tokens_details"] == {"reasoning_tokens": reasoning}


def test_responses_encrypted_content_of_added_differs_from_done_and_only_the_latter_holds() -> None:
    frames = bodies(events(R))
    added = next(e["item"] for e in frames if e["type"] == "response.output_item.added")
    done = next(e["item"] for e in frames if e["type"] == "response.output_item.done")
    assert added["id"] == done["id"]
    assert added["encrypted_content"] != done["encrypted_content"]
    assert holds(Purpose.REASONING, "", done["encrypted_content"])
    assert not holds(Purpose.REASONING, "", added["encrypted_content"])


def test_responses_annotations_point_into_the_text() -> None:
    frames = bodies(events(R))
    note = next(e["annotation"] for e in frames if "annotation" in e)
    text = next(e["text"] for e in frames if e["type"] == "response.output_text.done")
    assert text[note["start_index"] : note["end_index"]].startswith("Notes on")


def test_chat_calls_carry_indices_and_usage_comes_last() -> None:
    frames = events(C)
    assert frames[-1].body == "[DONE]"
    usage = bodies(frames)[-2]
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == billed(frames)[0]
    assert usage["usage"]["prompt_tokens_details"]["cached_tokens"] == 30
    finish = bodies(frames)[-3]["choices"][0]
    assert finish["finish_reason"] == "tool_calls"
    pieces = [
        c for e in bodies(frames)[:-2] for c in e["choices"][0]["delta"].get("tool_calls", [])
    ]
    assert {piece["index"] for piece in pieces} == {0, 1}
    assert all(e.get("usage", 0) is None for e in bodies(frames)[:-2])


def test_chat_shows_reasoning_only_for_models_of_other_vendors() -> None:
    shown = events(C, Reply(parts=(ThinkingPart(text="hm"), TextPart(text="a"))))
    assert any("reasoning_content" in str(frame.body) for frame in shown)
    hidden = wire_of(C).frames(
        job(
            C,
            Reply(parts=(ThinkingPart(text="hm"), TextPart(text="a"))),
            body(C) | {"model": "gpt-5.4"},
        )
    )
    assert not any("reasoning_content" in str(frame.body) for frame in hidden)
    assert billed(hidden) == billed(shown)


def test_gemini_signs_the_first_call_and_counts_up() -> None:
    frames = bodies(events(G))
    parts = [frame["candidates"][0]["content"]["parts"][0] for frame in frames]
    calls = [part for part in parts if "functionCall" in part]
    assert holds(Purpose.THOUGHT, "", calls[0]["thoughtSignature"])
    assert "thoughtSignature" not in calls[1]
    totals = [frame["usageMetadata"]["totalTokenCount"] for frame in frames]
    assert totals == sorted(totals)
    last = frames[-1]["candidates"][0]
    assert last["finishReason"] == "STOP"
    assert last["groundingMetadata"]["webSearchQueries"] == ["weather today"]
    assert all("finishReason" not in frame["candidates"][0] for frame in frames[:-1])


STOPS: dict[tuple[WireName, Stop], Any] = {
    (A, Stop.END): "end_turn",
    (A, Stop.LENGTH): "max_tokens",
    (A, Stop.REFUSAL): "refusal",
    (A, Stop.PAUSE): "pause_turn",
    (A, Stop.MISSING): None,
    (R, Stop.END): "completed",
    (R, Stop.LENGTH): "incomplete",
    (R, Stop.FILTER): "incomplete",
    (R, Stop.MISSING): "in_progress",
    (C, Stop.END): "stop",
    (C, Stop.LENGTH): "length",
    (C, Stop.FILTER): "content_filter",
    (C, Stop.MISSING): None,
    (G, Stop.END): "STOP",
    (G, Stop.LENGTH): "MAX_TOKENS",
    (G, Stop.FILTER): "SAFETY",
    (G, Stop.REFUSAL): "PROHIBITED_CONTENT",
    (G, Stop.PAUSE): "CONTINUATION",
    (G, Stop.MISSING): None,
}


@pytest.mark.parametrize(("wire", "stop"), STOPS)
def test_every_stop_has_its_reason(wire: WireName, stop: Stop) -> None:
    whole = wire_of(wire).body(job(wire, Reply(parts=(TextPart(text="so far"),), stop=stop)))
    found = {
        A: lambda: whole["stop_reason"],
        R: lambda: whole["status"],
        C: lambda: whole["choices"][0]["finish_reason"],
        G: lambda: whole["candidates"][0].get("finishReason"),
    }[wire]()
    assert found == STOPS[(wire, stop)]


@pytest.mark.parametrize("wire", list(WireName))
def test_a_stream_and_its_whole_carry_the_same_bill(wire: WireName) -> None:
    frames = events(wire)
    whole = wire_of(wire).body(job(wire))
    output, _ = billed(frames)
    usage = whole.get("usage") or whole["usageMetadata"]
    found = usage.get("output_tokens") or usage.get("completion_tokens")
    if wire is G:
        found = usage["candidatesTokenCount"] + usage["thoughtsTokenCount"]
    assert found == output
    assert any(frame.mark is Mark.CLOSING for frame in frames)


def test_gemini_cannot_say_broken_arguments() -> None:
    frames = bodies(events(G, Reply(parts=(CallPart(name="t", arguments="{,"),), stop=Stop.CALLS)))
    assert frames[-1]["candidates"][0]["finishReason"] == "MALFORMED_FUNCTION_CALL"
    assert "functionCall" not in str(frames)


@pytest.mark.parametrize("wire", list(WireName))
def test_the_prompt_is_read_alike_on_every_wire(wire: WireName) -> None:
    asked = wire_of(wire).read(call(wire, body(wire, "what now?", tools=True)))
    assert (asked.last_text, asked.step, asked.replies) == ("what now?", 0, 0)
    assert [offer.name for offer in asked.offers] == ["get_weather"]
    assert asked.segments
    assert asked.streams
