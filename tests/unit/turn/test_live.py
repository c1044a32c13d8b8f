"""Deltas as live parts: the first at once, then few and whole."""

import asyncio
from collections.abc import AsyncGenerator

import orjson
import pytest

from holdfast.adapters.bus.lossy import LossyBus
from holdfast.domain.chat import Status
from holdfast.domain.ids import CallId
from holdfast.domain.parts import Text
from holdfast.ports.bus import Episode
from holdfast.ports.models import (
    ArgumentsDelta,
    CallStarted,
    PartFinished,
    ReasoningDelta,
    TextDelta,
    Usage,
    UsageSeen,
)
from holdfast.turn.counters import TurnCounters
from holdfast.turn.live import LiveReply
from holdfast.turn.options import LiveOptions
from tests.support.builders import a_chat
from tests.support.fake_bus import FakeBusServer
from tests.support.stage import until

CHAT = a_chat(Status.RUNNING)
EPISODE = Episode.of(CHAT)
SLOW = LiveOptions(every_s=30.0)


@pytest.fixture
def server() -> FakeBusServer:
    return FakeBusServer()


@pytest.fixture
async def bus(server: FakeBusServer) -> AsyncGenerator[LossyBus]:
    async with server.open() as bus:
        yield bus


def payloads(server: FakeBusServer) -> list[bytes]:
    parts = server.log.get((CHAT.chat_id, EPISODE), {})
    assert sorted(parts) == list(range(1, len(parts) + 1)), "contiguous from 1"
    return [parts[seq].payload for seq in sorted(parts)]


async def test_the_first_delta_is_sent_at_once_and_the_next_wait(
    server: FakeBusServer, bus: LossyBus
) -> None:
    live = LiveReply(bus, CHAT, SLOW, TurnCounters())
    async with asyncio.TaskGroup() as group:
        running = group.create_task(live.run())
        live.say(TextDelta(0, "a"))
        await until(lambda: len(payloads(server)) == 1)
        live.say(TextDelta(0, "b"))
        live.say(TextDelta(0, "c"))
        await asyncio.sleep(SLOW.every_s / 2)
        assert len(payloads(server)) == 1
        await live.flush()
        await until(lambda: len(payloads(server)) == 2)
        running.cancel()
        live.close()
    assert payloads(server)[1] == b'[{"index":0,"type":"text","text":"bc"}]'


async def test_much_text_does_not_wait_for_the_tick(server: FakeBusServer, bus: LossyBus) -> None:
    live = LiveReply(bus, CHAT, LiveOptions(every_s=30.0, bytes_max=100), TurnCounters())
    async with asyncio.TaskGroup() as group:
        running = group.create_task(live.run())
        live.say(TextDelta(0, "a"))
        await until(lambda: len(payloads(server)) == 1)
        for _ in range(10):
            live.say(TextDelta(0, "x" * 10))
        await until(lambda: len(payloads(server)) == 2)
        running.cancel()


async def test_what_is_left_is_sent_at_the_tick(server: FakeBusServer, bus: LossyBus) -> None:
    counters = TurnCounters()
    live = LiveReply(bus, CHAT, LiveOptions(every_s=0.01), counters)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(live.run())
        for text in "abc":
            live.say(TextDelta(0, text))
            await asyncio.sleep(0)
        await until(lambda: b"".join(payloads(server)).count(b"c") == 1)
        running.cancel()
    assert counters.live_parts == len(payloads(server)) <= 3


async def test_neighbours_are_merged_and_kinds_are_spelt_as_promised(
    server: FakeBusServer, bus: LossyBus
) -> None:
    live = LiveReply(bus, CHAT, SLOW, TurnCounters())
    for event in (
        ReasoningDelta(0, "h"),
        ReasoningDelta(0, "m"),
        PartFinished(0, Text("hm")),
        TextDelta(1, "w\u00f6"),
        TextDelta(1, " "),
        TextDelta(2, ""),
        CallStarted(2, CallId("c"), "clock"),
        ArgumentsDelta(2, "{"),
        ArgumentsDelta(2, "}"),
        UsageSeen(Usage(input=1)),
        CallStarted(3, CallId("s"), "search", "provider"),
        TextDelta(1, "again"),
    ):
        live.say(event)
    live.emit(CallId("c"), "o")
    live.emit(CallId("c"), "ut")
    live.emit(CallId("d"), "other")
    await live.flush()
    live.close()
    await until(lambda: len(payloads(server)) == 1)

    assert orjson.loads(payloads(server)[0]) == [
        {"index": 0, "type": "reasoning", "text": "hm"},
        {"index": 1, "type": "text", "text": "w\u00f6 "},
        {
            "index": 2,
            "type": "tool_call",
            "call_id": "c",
            "tool_name": "clock",
            "executed_by": None,
        },
        {"index": 2, "type": "arguments", "text": "{}"},
        {
            "index": 3,
            "type": "tool_call",
            "call_id": "s",
            "tool_name": "search",
            "executed_by": "provider",
        },
        {"index": 1, "type": "text", "text": "again"},
        {"type": "tool_output", "call_id": "c", "text": "out"},
        {"type": "tool_output", "call_id": "d", "text": "other"},
    ]
