"""The same turn with a bus that is whole, absent, emptied, paused or restarted."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from holdfast.chats.create import create
from holdfast.domain.messages import Message, MessageBody
from holdfast.stream.hub import Hub
from holdfast_lab.chaos.faults.streams.cell import Cell, PostgresEngine, RedisEngine
from holdfast_lab.chaos.faults.workers.trials import words
from holdfast_lab.chaos.faults.workers.watching import Watching, watching
from holdfast_lab.chaos.harness.asking import surely
from holdfast_lab.chaos.harness.cluster import Heard
from holdfast_lab.chaos.harness.people import ACTOR, user

POLL_S = 2.2
"""The safety poll and its grace, as production has them."""
MARGIN_S = 1.0
BACK_S = 2.0
"""The longest that the bus waits before it tries the engine again."""
TURN_S = 45.0
CALLS = " | ".join(f"call {tool}" for tool in ("record_once", "record_repeatable"))
STEPS = (words("a", 50), words("b", 50), words("c", 90))
ASKED = (
    f'The same for all. [[sim: say "{STEPS[0]}" | {CALLS} | then | say "{STEPS[1]}" | {CALLS}'
    f' | then | say "{STEPS[2]}" | rate=60]]'
)

Disturb = Callable[["Play"], Coroutine[Any, Any, None]]


@dataclass
class Dated(Watching):
    """Knows when it was told of each message, and of the first part of what became one."""

    told_at: dict[int, float] = field(default_factory=dict[int, float])
    first_part_at: dict[int, float] = field(default_factory=dict[int, float])

    def take(  # pyright: ignore[reportImplicitOverride]
        self, kind: str, data: dict[str, Any]
    ) -> None:
        if kind == "message.created":
            self.told_at[data["seq"]] = time.monotonic()
        if kind == "preview.delta":
            becomes = max(self.messages, default=0) + 1
            self.first_part_at.setdefault(becomes, time.monotonic())
        super().take(kind, data)


@dataclass
class Turn:
    """What became of the turn."""

    history: tuple[Message, ...]
    seen: Dated
    drove_s: float
    """From its acquisition to its last commit."""
    committed_at: dict[int, float]
    """By version."""
    back_at: float | None

    @property
    def bodies(self) -> list[MessageBody]:
        return [message.body for message in self.history]

    def delays_s(self) -> list[float]:
        """How long after its commit the reader had each message of the worker's."""
        return [
            self.seen.told_at[message.seq] - self.committed_at[message.revision]
            for message in self.history
            if message.revision in self.committed_at and message.seq in self.seen.told_at
        ]

    def untold(self) -> list[int]:
        return [message.seq for message in self.history if message.seq not in self.seen.told_at]


@dataclass
class Play:
    """The turn while it runs."""

    place: Cell
    hub: Hub
    seen: Dated
    back_at: float | None = None

    async def until_message(self, seq: int) -> None:
        await self.seen.until(lambda: seq in self.seen.messages, TURN_S)

    def back(self) -> None:
        self.back_at = time.monotonic()


def commits(heard: list[Heard]) -> list[Heard]:
    return [each for each in heard if each.what.get("said") == "committed"]


async def play(place: Cell, disturb: Disturb) -> Turn:
    server = place.server
    assert server.hub is not None
    worker = place.workers[0]
    mark = len(worker.heard)
    done = await create(server.ledger, server.adapters.ids, ACTOR, [user(ASKED)])
    chat_id = done.chat.chat_id
    async with watching(server.hub, chat_id, Dated()) as seen, asyncio.TaskGroup() as tasks:
        assert isinstance(seen, Dated)
        show = Play(place, server.hub, seen)
        disturbing = tasks.create_task(disturb(show))
        await place.until_idle(chat_id, TURN_S)
        with suppress(TimeoutError):  # then it is told what is missing
            await seen.until_idle(6, POLL_S + MARGIN_S)
        disturbing.cancel()
    own = [each for each in worker.heard[mark:] if each.what.get("chat") == str(chat_id)]
    page = await surely(lambda: server.adapters.history.page(chat_id, limit=100))
    began = next(each.at for each in own if each.what["said"] == "acquired")
    at = {each.what["version"]: each.at for each in commits(own)}
    return Turn(page.messages, seen, max(at.values()) - began, at, show.back_at)


# What may happen to the bus in the meantime.


async def nothing(_show: Play) -> None:
    """For comparison."""


async def emptied(show: Play) -> None:
    """Every tenth of a second, through the first two steps."""
    async with asyncio.TaskGroup() as tasks:
        ends = tasks.create_task(show.until_message(4))
        while not ends.done():
            await show.place.engine.empty()
            await asyncio.sleep(0.1)
    show.back()


async def paused(show: Play) -> None:
    """From the middle of the first reply to that of the second."""
    await show.seen.until(lambda: show.seen.parts >= 5, TURN_S)
    async with standing_still(show.place):
        await asyncio.sleep(2.0)
    show.back()


async def restarted(show: Play) -> None:
    await show.seen.until(lambda: show.seen.parts >= 5, TURN_S)
    engine = show.place.engine
    if isinstance(engine, RedisEngine):
        await engine.restart(0.5)
    else:
        await _cut_off(show.place)
    show.back()


@asynccontextmanager
async def absent(place: Cell) -> AsyncGenerator[None]:
    """The engine is not there at all, or no connection to it lasts."""
    engine = place.engine
    if isinstance(engine, RedisEngine):
        await engine.server.stop()
        try:
            yield
        finally:
            await engine.server.start()
        return

    async def again_and_again() -> None:
        while True:
            await _cut_off(place)
            await asyncio.sleep(0.02)

    async with _locked(place), asyncio.TaskGroup() as tasks:
        cutting = tasks.create_task(again_and_again())
        yield
        cutting.cancel()


def standing_still(place: Cell) -> AbstractAsyncContextManager[None]:
    """It is there, and says nothing."""
    return _stopped(place.engine) if isinstance(place.engine, RedisEngine) else _locked(place)


@asynccontextmanager
async def _stopped(engine: RedisEngine) -> AsyncGenerator[None]:
    engine.server.pause()
    try:
        yield
    finally:
        engine.server.resume()


@asynccontextmanager
async def _locked(place: Cell) -> AsyncGenerator[None]:
    """The live log is locked. Notes are sent in the same statement: none is sent."""
    assert isinstance(place.engine, PostgresEngine)
    connection = await asyncpg.connect(place.engine.url)
    try:
        async with connection.transaction():
            await connection.execute("lock table live_parts in access exclusive mode")
            yield
    finally:
        with suppress(asyncpg.PostgresError):
            await connection.close()


async def _cut_off(place: Cell) -> None:
    """Cut every connection of the bus, and no other."""
    assert isinstance(place.engine, PostgresEngine)
    connection = await asyncpg.connect(place.engine.url)
    try:
        await connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where application_name = 'holdfast bus' and datname = current_database()"
        )
    finally:
        await connection.close()
