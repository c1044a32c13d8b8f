"""Many readers of a few chats on several replicas, while everything around them breaks.

A run has long replies, readers that are cut off all the time, workers and a replica that are
killed, and a bus that is emptied and restarted under all of them. What is counted at the end is
what any reader missed, was told twice, or in the wrong order.
"""

import asyncio
import random
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import uuid4

import asyncpg
import orjson

from holdfast.adapters.postgres.pool import PoolOptions, open_pool
from holdfast.bootstrap import Server, open_server
from holdfast.bootstrap.server import as_they_are
from holdfast.chats.create import create
from holdfast.chats.send import send
from holdfast.domain.chat import Status
from holdfast.domain.events import is_shown, message_json
from holdfast.domain.ids import ChatId, ClientKey
from holdfast.ports.store import IdempotencyKey
from holdfast.settings import Settings
from holdfast_lab.chaos.faults.streams.readers import SocketReader
from holdfast_lab.chaos.faults.workers.trials import BusKind, settings_for
from holdfast_lab.chaos.faults.workers.watching import Watching, text_of
from holdfast_lab.chaos.harness.asking import surely, whole
from holdfast_lab.chaos.harness.cluster import Actor, Theatre
from holdfast_lab.chaos.harness.people import ACTOR, ORG, OWNER, add_user, user
from holdfast_lab.chaos.harness.private_postgres import PrivatePostgres
from holdfast_lab.chaos.harness.private_redis import PrivateRedis, private_redis
from holdfast_lab.chaos.harness.replica import Around

CUT_ALL_EVERY_S = 2.5
SLICE_BYTES = 97
SETTLE_S = 60.0
LONGER_S = 45.0
QUICK: dict[str, Any] = {"lease_ttl_s": 4.0, "heartbeat_every_s": 1.0, "drain_s": 5.0}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How much of it. `joining` of the readers come at random times, the others at once."""

    seconds: float
    seed: int
    events_min: int = 0
    """Talk goes on until so many were told, for `LONGER_S` at most: how fast a machine starts
    processes must not decide how much is shown."""
    readers: int = 60
    joining: int = 20
    chats: int = 6
    replicas: int = 3
    workers: int = 2
    rounds: int = 1
    """How often everything breaks; 0: never."""
    words: int = 120
    words_per_s: int = 150
    catch_up_s: float = 10.0
    """For every reader to catch up after the last commit."""


class Engine(Protocol):
    """What carries the bus."""

    async def empty(self) -> None: ...

    async def restart(self, away_s: float) -> None: ...


@dataclass
class RedisEngine:
    server: PrivateRedis

    async def empty(self) -> None:
        await self.server.command("FLUSHALL")

    async def restart(self, away_s: float) -> None:
        await self.server.stop()
        await asyncio.sleep(away_s)
        await self.server.start()


@dataclass
class PostgresEngine:
    """The database crashes with it: what is committed is all that is left."""

    server: PrivatePostgres
    url: str

    async def empty(self) -> None:
        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute("truncate live_parts")
        finally:
            await connection.close()

    async def restart(self, away_s: float) -> None:
        await self.server.stop()
        await asyncio.sleep(away_s)
        await self.server.start()


@dataclass
class Tally:
    """What became of a run. Everything from `missing` on should be nothing."""

    events: int = 0
    parts: int = 0
    connections: int = 0
    readers: int = 0
    messages: int = 0
    turns: int = 0
    missing: int = 0
    doubled: int = 0
    reordered: int = 0
    resets: int = 0
    wrong: list[str] = field(default_factory=list[str])

    def add(self, other: "Tally") -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


@dataclass
class Cell:
    """A database, a bus, replicas with readers, workers, and a client that sends."""

    theatre: Theatre
    settings: dict[str, Any]
    server: Server
    engine: Engine
    mutant: str | None = None
    replicas: list[Actor] = field(default_factory=list[Actor])
    workers: list[Actor] = field(default_factory=list[Actor])
    doors: dict[str, int] = field(default_factory=dict[str, int])
    """Where readers of a replica knock instead of at its own port, by its name."""

    def ports(self) -> list[int]:
        return [self.doors.get(actor.name) or port_of(actor) for actor in self.replicas]

    async def add_replica(self) -> None:
        settings = {**self.settings, "role": "api"}
        self.replicas.append(await self.theatre.engage("api", settings, mutant=self.mutant))

    async def add_worker(self) -> None:
        self.workers.append(await self.theatre.engage("worker", self.settings))

    async def kill_worker(self) -> None:
        self.workers.pop(0).signal(signal.SIGKILL)
        await self.add_worker()

    async def kill_replica(self) -> None:
        """Its readers find its port closed until another one stands in for it."""
        dead = self.replicas[0]
        dead.signal(signal.SIGKILL)
        await dead.gone()
        await self.add_replica()
        self.replicas.remove(dead)

    async def told(self, chat_id: ChatId) -> dict[int, dict[str, Any]]:
        """The stored history, as a reader should know it."""
        return {
            message.seq: orjson.loads(orjson.dumps(message_json(message)))
            for message in await whole(self.server.adapters.history, chat_id)
            if is_shown(message.body)
        }

    async def until_idle(self, chat_id: ChatId, within_s: float = SETTLE_S) -> None:
        store = self.server.adapters.store
        async with asyncio.timeout(within_s):
            while True:
                loaded = await surely(lambda: store.load(chat_id))
                assert loaded is not None
                if loaded.facts.chat.status not in (Status.RUNNING, Status.INTERRUPTING):
                    assert loaded.facts.chat.status is Status.IDLE, loaded.facts.chat
                    return
                await asyncio.sleep(0.1)


def port_of(actor: Actor) -> int:
    return next(h.what["port"] for h in actor.heard if h.what.get("said") == "ready")


@asynccontextmanager
async def cell(
    theatre: Theatre,
    bus: BusKind,
    plan: Plan,
    mutant: str | None = None,
    around: Around = as_they_are,
) -> AsyncGenerator[Cell]:
    """`around`: what wraps the adapters of the sender."""
    url = await theatre.new_database()
    async with private_redis() as redis:
        settings = settings_for(theatre, url, bus, **QUICK)
        engine: Engine = PostgresEngine(theatre.postgres, url)
        if bus == "redis":
            settings["bus_url"] = redis.url
            engine = RedisEngine(redis)
        async with open_pool(url, PoolOptions(connections_min=1, connections_max=2)) as pool:
            await add_user(pool, ORG, OWNER)
        sender = Settings.model_validate({**settings, "role": "api"})
        async with open_server(sender, around) as server:
            place = Cell(theatre, settings, server, engine, mutant)
            for _ in range(plan.replicas):
                await place.add_replica()
            for _ in range(plan.workers):
                await place.add_worker()
            try:
                yield place
            finally:
                for actor in (*place.replicas, *place.workers):
                    theatre.dismiss(actor)


@dataclass
class Run:
    """One plan, played in one cell."""

    place: Cell
    plan: Plan
    chats: list[ChatId] = field(default_factory=list[ChatId])
    readers: list[SocketReader] = field(default_factory=list[SocketReader])
    turns: int = 0
    breaks: Callable[[], Awaitable[None]] | None = None
    """What goes wrong, instead of the usual."""
    asked: dict[ChatId, list[str]] = field(default_factory=dict[ChatId, list[str]])

    def __post_init__(self) -> None:
        self._chance = random.Random(self.plan.seed)
        self._told: dict[ChatId, dict[tuple[int, int, int], Any]] = {}

    async def play(self) -> Tally:
        for _ in range(self.plan.chats):
            self.chats.append(await self._begin())
        async with asyncio.TaskGroup() as tasks:
            others = [tasks.create_task(self._cut_all())]
            for number in range(self.plan.readers):
                late = number < self.plan.joining
                after_s = self._chance.random() * self.plan.seconds * 0.9 if late else 0.0
                others.append(tasks.create_task(self._read(number, after_s)))
            breaking = tasks.create_task(self._break_all())
            talks = [tasks.create_task(self._talk(chat_id)) for chat_id in self.chats]
            await asyncio.wait([breaking, *talks])
            tally = await self._settle()
            for task in others:
                task.cancel()
        return tally

    # Those who write.

    def _words(self) -> str:
        plan = self.plan
        count = self._chance.randrange(plan.words // 2, plan.words * 3 // 2)
        told = f"words={count} | rate={plan.words_per_s}"
        if self._chance.random() < 0.3:
            told = f"words={count // 3} | call record_repeatable | then | {told}"
        return f"{uuid4().hex} [[sim: {told}]]"

    async def _begin(self) -> ChatId:
        server, words, key = self.place.server, self._words(), IdempotencyKey(_key(), b"begin")
        done = await surely(
            lambda: create(server.ledger, server.adapters.ids, ACTOR, [user(words)], keyed=key)
        )
        self.asked[done.chat.chat_id] = [words]
        return done.chat.chat_id

    async def _talk(self, chat_id: ChatId) -> None:
        """One turn after the other until the time is up and enough was told."""
        ledger, now = self.place.server.ledger, asyncio.get_running_loop().time
        ends_at = now() + self.plan.seconds
        while True:
            await self.place.until_idle(chat_id)
            self.turns += 1
            if now() >= ends_at and (self._told_enough() or now() >= ends_at + LONGER_S):
                return
            words, key = self._words(), IdempotencyKey(_key(), b"send")
            await surely(lambda w=words, k=key: send(ledger, ACTOR, chat_id, user(w), keyed=k))
            self.asked[chat_id].append(words)

    def _told_enough(self) -> bool:
        return sum(reader.events for reader in self.readers) >= self.plan.events_min

    # Those who read.

    async def _read(self, number: int, after_s: float) -> None:
        await asyncio.sleep(after_s)
        chat_id = self.chats[number % len(self.chats)]
        told = self._told.setdefault(chat_id, {})
        reader = SocketReader(
            chat_id,
            self.place.ports,
            random.Random(self._chance.random()),
            cut_every_bytes=8_000,
            slices_bytes=SLICE_BYTES if number % 3 == 0 else None,
            seen=Watching(told_others=told),
        )
        self.readers.append(reader)
        await reader.run()

    async def _cut_all(self) -> None:
        while True:
            await asyncio.sleep(CUT_ALL_EVERY_S)
            for reader in self.readers:
                reader.cut()

    # What goes wrong.

    async def _break_all(self) -> None:
        await (self._break_things() if self.breaks is None else self.breaks())

    async def _break_things(self) -> None:
        place, loop = self.place, asyncio.get_running_loop()
        began, round_s = loop.time(), self.plan.seconds / max(1, self.plan.rounds)
        acts: list[tuple[float, Callable[[], Awaitable[None]]]] = [
            (0.10, place.kill_worker),
            (0.20, place.kill_replica),
            (0.40, place.engine.empty),
            (0.50, lambda: place.engine.restart(0.3)),
            (0.55, place.kill_worker),
            (0.80, place.engine.empty),
        ]
        for number in range(self.plan.rounds):
            for share, act in acts:
                due = began + (number + share) * round_s
                await asyncio.sleep(max(0.0, due - loop.time()))
                await act()

    async def _settle(self) -> Tally:
        """All readers catch up; then their views are compared with what is stored."""
        tally = Tally(turns=self.turns, readers=len(self.readers))
        stored = {chat_id: await self.place.told(chat_id) for chat_id in self.chats}
        tally.messages = sum(map(len, stored.values()))
        async with asyncio.TaskGroup() as tasks:
            for reader in self.readers:
                tasks.create_task(_finish(reader, stored[reader.chat_id], self.plan.catch_up_s))
        for reader in self.readers:
            _count(reader, stored[reader.chat_id], tally)
        for chat_id, told in stored.items():
            _compare(self.asked[chat_id], told, tally)
        return tally


async def _finish(reader: SocketReader, told: dict[int, dict[str, Any]], within_s: float) -> None:
    seen = reader.seen
    with suppress(TimeoutError):
        await seen.until(lambda: seen.is_idle and seen.messages.keys() >= told.keys(), within_s)


def _count(reader: SocketReader, told: dict[int, dict[str, Any]], tally: Tally) -> None:
    seen = reader.seen
    for name in ("events", "connections", "resets"):
        setattr(tally, name, getattr(tally, name) + getattr(reader, name))
    for name in ("parts", "missing", "doubled", "reordered", "wrong"):
        setattr(tally, name, getattr(tally, name) + getattr(seen, name))
    lacking = told.keys() - seen.messages.keys()
    tally.missing += len(lacking)
    if lacking:
        tally.wrong.append(f"messages {sorted(lacking)} never came, at {reader.cursor}")
    if not seen.is_idle:
        tally.missing += 1
        tally.wrong.append(f"the end never came: {seen.status}, at {reader.cursor}")
    if any(seen.messages[seq] != told.get(seq) for seq in seen.messages):
        tally.wrong.append(f"a message is not the stored one, at {reader.cursor}")


def _compare(asked: list[str], told: dict[int, dict[str, Any]], tally: Tally) -> None:
    """What people said, and were told is taken: all of it, once, in order."""
    said = [text_of(message) for _, message in sorted(told.items()) if message["role"] == "user"]
    if said != asked:
        lost, doubled = set(asked) - set(said), len(said) - len(set(said))
        tally.wrong.append(f"{len(asked)} taken: {len(lost)} lost, {doubled} doubled, of {said}")


def _key() -> ClientKey:
    return ClientKey(uuid4().hex)
