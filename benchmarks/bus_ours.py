"""Lanes over our own bus: `LossyBus` on either engine, one follower per chat."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from holdfast.bus.lossy import LossyBus
from holdfast.bus.options import BusOptions
from holdfast.bus.postgres import open_postgres_bus
from holdfast.bus.redis import open_redis_bus
from holdfast.domain.ids import ChatId, Version
from holdfast.ports.bus import Episode, LivePart
from holdfast_lab.bench.lanes import TICK_S, Event, Heard

EPISODE = Episode(Version(1), 1)


def on_postgres(url: str) -> LossyBus:
    return open_postgres_bus(url, BusOptions(tick_s=TICK_S))


def on_redis(url: str) -> LossyBus:
    return open_redis_bus(url, options=BusOptions(tick_s=TICK_S))


class BusPublisher:
    def __init__(self, bus: LossyBus) -> None:
        self._bus = bus

    async def say(self, events: Sequence[Event]) -> None:
        for chat, seq, payload in events:  # one call each, as the runners of many chats would
            await self._bus.append((LivePart(ChatId(chat), EPISODE, seq, payload),))

    async def all_said(self, count: int) -> None:
        while self._bus.counters.sent_parts < count:
            assert not self._bus.counters.dropped_parts, "the bus dropped parts"
            await asyncio.sleep(TICK_S / 4)


@dataclass(frozen=True)
class BusLane:
    open: Callable[[str], LossyBus]

    @asynccontextmanager
    async def publisher(self, url: str) -> AsyncGenerator[BusPublisher]:
        async with self.open(url) as bus:
            yield BusPublisher(bus)

    @asynccontextmanager
    async def reader(self, url: str, chats: Sequence[UUID], heard: Heard) -> AsyncGenerator[None]:
        async with self.open(url) as bus, asyncio.TaskGroup() as tasks, AsyncExitStack() as stack:
            followed: list[asyncio.Event] = []
            for chat in chats:
                followed.append(asyncio.Event())
                task = tasks.create_task(_follow(bus, ChatId(chat), heard, followed[-1]))
                stack.callback(task.cancel)
            for each in followed:
                await each.wait()
            yield


async def _follow(bus: LossyBus, chat: ChatId, heard: Heard, followed: asyncio.Event) -> None:
    async with bus.subscribe(chat) as news:
        followed.set()
        async for each in news:
            assert isinstance(each, LivePart), each
            heard(chat, each.seq, each.payload)
