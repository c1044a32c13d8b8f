"""A publisher and a reader of live events, each in a process of its own, over any lane.

A lane is a way from one to the other: our bus on an engine, or a bare client of that engine. Both
sides see to it that every event is received once and in order; anything else fails the run.
"""

import asyncio
import multiprocessing
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias
from uuid import UUID

import uvloop

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

PACE_S: Final = 0.005
TICK_S: Final = 0.02
WARM_UP: Final = 3
"""Events of each chat before anything is counted."""
TIMED_EVERY: Final = 20
"""Every so manieth event of a chat carries the time at which it was said."""
PAYLOAD: Final = b'{"type":"text","text":"about as much as one delta says, ok"}'
PATIENCE_S: Final = 30

Pipe: TypeAlias = "Connection[Any, Any]"


class Event(NamedTuple):
    chat: UUID
    seq: int
    payload: bytes


Heard: TypeAlias = Callable[[UUID, int, bytes], None]


class Publisher(Protocol):
    async def say(self, events: Sequence[Event]) -> None: ...

    async def all_said(self, count: int) -> None:
        """Returns once so many, all in all, were taken by the engine."""
        ...


class Lane(Protocol):
    def publisher(self, url: str) -> AbstractAsyncContextManager[Publisher]: ...

    def reader(
        self, url: str, chats: Sequence[UUID], heard: Heard
    ) -> AbstractAsyncContextManager[None]:
        """Entered once every chat is followed."""
        ...


@dataclass(frozen=True)
class Load:
    chats: int
    events_per_s: int
    seconds: float

    @property
    def rounds(self) -> int:
        """Events of each chat."""
        return max(1, round(self.events_per_s * self.seconds / self.chats))

    @property
    def events(self) -> int:
        return self.rounds * self.chats

    def ids(self) -> list[UUID]:
        return [UUID(int=(0x7000_8000 << 48) + number) for number in range(self.chats)]


@dataclass(frozen=True)
class Side:
    """What one of the two processes used, in all."""

    cpu_s: float
    took_s: float
    delays_ms: tuple[float, ...] = ()


READY: Final = Side(0.0, 0.0)


class LaneFailed(Exception):
    """An event was lost, doubled or out of order, or a side could not go on."""


@dataclass(frozen=True)
class Run:
    """CPU in µs per event."""

    publisher: float
    reader: float
    engine: float
    events_per_s: float
    engine_cores: float
    p50_ms: float
    p99_ms: float

    @property
    def total(self) -> float:
        return self.publisher + self.reader + self.engine


def run(lane: Lane, url: str, load: Load, engine_cpu_s: Callable[[], float]) -> Run:
    """Two new processes, warmed up; then the load; gone afterwards."""
    context = multiprocessing.get_context("spawn")
    sides: list[tuple[Any, Pipe]] = []
    try:
        for work in (_read, _publish):  # the reader first: nothing may be said before it follows
            ours, theirs = context.Pipe()
            process = context.Process(target=work, args=(lane, url, load, theirs), daemon=True)
            process.start()
            theirs.close()
            sides.append((process, ours))
            if work is _read:
                _hear(ours)
        reader, publisher = (pipe for _, pipe in sides)
        _hear(publisher)
        _hear(reader)
        engine, started = engine_cpu_s(), time.monotonic()
        reader.send("go")
        publisher.send("go")
        said, heard = _hear(publisher), _hear(reader)
        used, took = engine_cpu_s() - engine, time.monotonic() - started
    finally:
        for process, pipe in sides:
            pipe.close()
            process.join(5)
            if process.is_alive():
                process.kill()
    delays = sorted(heard.delays_ms)
    each = 1e6 / load.events
    return Run(
        said.cpu_s * each,
        heard.cpu_s * each,
        used * each,
        load.events / said.took_s,
        used / took,
        delays[len(delays) // 2],
        delays[len(delays) * 99 // 100],
    )


def _hear(pipe: Pipe) -> Side:
    assert pipe.poll(PATIENCE_S), "a side of the lane has not come in time"
    heard = pipe.recv()
    if isinstance(heard, str):
        raise LaneFailed(heard)
    return heard


def _publish(lane: Lane, url: str, load: Load, pipe: Pipe) -> None:
    _tell_failure(pipe, publish(lane, url, load, pipe))


def _read(lane: Lane, url: str, load: Load, pipe: Pipe) -> None:
    _tell_failure(pipe, read(lane, url, load, pipe))


def _tell_failure(pipe: Pipe, work: Coroutine[Any, Any, None]) -> None:
    try:
        uvloop.run(work)
    except BaseException as error:
        pipe.send(f"{type(error).__name__}: {error}")
        raise


async def publish(lane: Lane, url: str, load: Load, pipe: Pipe) -> None:
    chats = load.ids()
    async with lane.publisher(url) as publisher:
        for seq in range(1, WARM_UP + 1):
            await publisher.say([Event(chat, seq, PAYLOAD) for chat in chats])
        await publisher.all_said(WARM_UP * load.chats)
        pipe.send(READY)
        await asyncio.to_thread(pipe.recv)
        cpu, started = time.process_time(), time.monotonic()
        said = 0
        while said < load.events:
            due = min(load.events, int((time.monotonic() - started) * load.events_per_s))
            await publisher.say([_event(chats, load, number) for number in range(said, due)])
            said = due
            await asyncio.sleep(PACE_S)
        await publisher.all_said(load.events + WARM_UP * load.chats)
        pipe.send(Side(time.process_time() - cpu, time.monotonic() - started))


def _event(chats: Sequence[UUID], load: Load, number: int) -> Event:
    turn, chat = divmod(number, load.chats)
    payload = PAYLOAD if number % TIMED_EVERY else b"%060d" % time.monotonic_ns()
    return Event(chats[chat], WARM_UP + 1 + turn, payload)


async def read(lane: Lane, url: str, load: Load, pipe: Pipe) -> None:
    chats = load.ids()
    expected = dict.fromkeys(chats, 1)
    delays: list[float] = []
    left = load.events + WARM_UP * load.chats
    warm, done = asyncio.Event(), asyncio.Event()
    failure: list[str] = []

    def heard(chat: UUID, seq: int, payload: bytes) -> None:
        nonlocal left
        if expected[chat] != seq:
            failure.append(f"chat {chat}: {seq} came where {expected[chat]} was due")
            warm.set()
            done.set()
        expected[chat] = seq + 1
        left -= 1
        if payload.startswith(b"0"):
            delays.append((time.monotonic_ns() - int(payload)) / 1e6)
        if left == load.events:
            warm.set()
        elif left == 0:
            done.set()

    async with lane.reader(url, chats, heard):
        pipe.send(READY)
        await warm.wait()
        pipe.send(READY)
        await asyncio.to_thread(pipe.recv)
        cpu, started = time.process_time(), time.monotonic()
        async with asyncio.timeout(load.seconds * 2 + PATIENCE_S / 2):
            await done.wait()
        used, took = time.process_time() - cpu, time.monotonic() - started
    assert not failure, failure[0]
    assert set(expected.values()) == {WARM_UP + 1 + load.rounds}, "not every event came once"
    pipe.send(Side(used, took, tuple(delays)))
