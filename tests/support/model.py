"""Builders for the model layer: calls, endpoints, recordings and how to play them."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson

from holdfast.domain.format import FORMAT, parts_from_json, parts_to_json
from holdfast.domain.ids import CallId
from holdfast.domain.messages import Ending, MessageBody, Role
from holdfast.domain.parts import Part, Text, ToolCall, ToolResult
from holdfast.ports import models
from holdfast.ports.models import Event
from holdfast.providers.shaping import decode
from holdfast.providers.types import (
    CachePolicy,
    Call,
    Decoder,
    Endpoint,
    ModelFacts,
    Quirks,
    ThinkingStyle,
    Tool,
)
from holdfast.providers.wires import WIRES
from holdfast_client.sse import SseParser

NOW: Final = datetime(2026, 11, 14, 12, 0, tzinfo=UTC)
GOLDEN: Final = Path(__file__).parent.parent / "golden" / "providers"
WIRE_NAMES: Final = ("anthropic", "responses", "chat", "gemini")

FACTS: Final = {
    "anthropic": ModelFacts(
        model="claude-sonnet-4-5",
        thinking=ThinkingStyle.BUDGET,
        efforts=("low", "medium", "high"),
        budgets={"low": 4096},
        output_max=64_000,
    ),
    "responses": ModelFacts(
        model="gpt-5.1",
        thinking=ThinkingStyle.EFFORT,
        efforts=("none", "low", "medium", "high"),
        sampling=False,
    ),
    "chat": ModelFacts(model="deepseek-reasoner"),
    "gemini": ModelFacts(
        model="gemini-3-pro-preview", thinking=ThinkingStyle.LEVEL, efforts=("low", "high")
    ),
}
BASES: Final = {
    "anthropic": "https://a.example",
    "responses": "https://o.example/v1",
    "chat": "https://c.example/v1",
    "gemini": "https://g.example/v1beta",
}
TOOLS: Final = (
    Tool(
        name="read_file",
        description="Read a file.",
        schema={
            "type": "object",
            "properties": {"path": {"type": "string"}, "lines": {"type": "array"}},
            "required": ["path"],
        },
    ),
    Tool(name="clock", description="The time.", schema={"properties": None, "required": None}),
)


def endpoint_for(wire: str, **changes: Any) -> Endpoint:
    settings: dict[str, Any] = {
        "vendor": wire,
        "wire": wire,
        "base_url": BASES[wire],
        "quirks": Quirks(replays_reasoning=wire == "chat"),
    }
    return Endpoint(**(settings | changes))


def call_for(wire: str, history: Sequence[MessageBody] = (), **changes: Any) -> Call:
    settings: dict[str, Any] = {
        "model": FACTS[wire],
        "history": history,
        "tools": TOOLS,
        "cache": CachePolicy(None, None),
    }
    return Call(**(settings | changes))


def body_of(call: Call, endpoint: Endpoint) -> dict[str, Any]:
    return orjson.loads(bytes_of(call, endpoint))


def bytes_of(call: Call, endpoint: Endpoint) -> bytes:
    return WIRES[endpoint.wire].request(call, endpoint).body


# Playing recordings.


def recording(name: str) -> bytes:
    return (GOLDEN / f"{name}.sse").read_bytes()


def feed(decoder: Decoder, chunks: Iterable[bytes]) -> list[Event]:
    parser = SseParser()
    return [
        event
        for chunk in chunks
        for name, data, _ in parser.feed(chunk)
        for event in decode(decoder, name, data)
    ]


def decoder_for(wire: str, history: Sequence[MessageBody] = (), **changes: Any) -> Decoder:
    return WIRES[wire].decoder(call_for(wire, history), endpoint_for(wire, **changes))


def play(wire: str, data: bytes, history: Sequence[MessageBody] = ()) -> models.Reply:
    decoder = decoder_for(wire, history)
    feed(decoder, [data])
    return decoder.final(NOW)


# Histories.


def stored(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Through the stored form and its JSON text, as the database would give them back."""
    return parts_from_json(FORMAT, orjson.loads(orjson.dumps(parts_to_json(parts))))


def user(*parts: Part | str) -> MessageBody:
    said = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return MessageBody(role=Role.USER, parts=said)


def assistant(*parts: Part, ending: Ending = Ending.COMPLETE) -> MessageBody:
    return MessageBody(role=Role.ASSISTANT, parts=parts, ending=ending)


def results(*parts: ToolResult) -> MessageBody:
    return MessageBody(role=Role.TOOL, parts=parts)


def tool_call(call_id: str, tool: str = "clock", **arguments: Any) -> ToolCall:
    return ToolCall(CallId(call_id), tool, arguments)


def tool_result(call_id: str, output: Any = "12:00", tool: str = "clock") -> ToolResult:
    return ToolResult(CallId(call_id), tool, output)


def recorded_turn(wire: str) -> list[MessageBody]:
    """A turn of two steps on one wire, as it comes back from the store."""
    history = [user("What is the weather?")]
    first = play(wire, recording(f"{wire}-1"), history)
    history.append(assistant(*stored(first.parts), ending=first.ending))
    answers = [
        ToolResult(part.call_id, part.tool, f"result of {part.tool}", failed=part.tool == "clock")
        for part in first.parts
        if isinstance(part, ToolCall) and part.runs_at == "here"
    ]
    history.append(results(*answers))
    second = play(wire, recording(f"{wire}-2"), history)
    history.append(assistant(*stored(second.parts), ending=second.ending))
    return history


def next_request(wire: str, history: Sequence[MessageBody]) -> bytes:
    """What the golden bodies are made of: the same settings on every wire."""
    call = call_for(wire, history, system=("Be kind.",), effort="low")
    return bytes_of(call, endpoint_for(wire))


def switched_turn(there: str, back: str) -> list[MessageBody]:
    """A turn that `there` begins, with calls and results, and `back` ends."""
    begun = recorded_turn(there)[:3]
    ended = play(back, recording(f"{back}-2"), begun)
    return [*begun, assistant(*stored(ended.parts), ending=ended.ending)]
