"""What a turn costs the database, and what watching it adds: counted on the wire.

Each of three replicas, two that serve readers and a worker, has a tap of its own in front of
PostgreSQL. A statement is known by its text. Left out, because they happen whether anybody speaks
or not, are those of `BACKGROUND`: beats, polls, sweeps, what a replica asks when it opens and what
the driver asks about types on a new connection; and an acquire that found nothing, if so much time
has passed that the worker's timer explains it. The bus's own connections say who they are when they
begin, and are counted apart.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from holdfast.adapters.bus.options import BusOptions
from holdfast.adapters.bus.queries import block_names as bus_names
from holdfast.adapters.bus.queries import load_query as load_bus_query
from holdfast.adapters.postgres.queries import block_names, load_query
from holdfast.adapters.postgres.store import LOAD, LOAD_MANY
from holdfast.bootstrap import Adapters, Server
from holdfast.chats.changes import ChangeRequest
from holdfast.domain.chat import Chat
from holdfast.domain.commands import SendMessage
from holdfast.domain.events import EventType
from holdfast.stream.hub import Hub
from holdfast_lab.chaos.harness.private_redis import private_redis
from tests.support.builders import user
from tests.support.buses import until
from tests.support.replica import Replicas, ask, replicas_apart
from tests.support.wire import Executed, WireTap, tapped
from tests.support.world import ACTOR

BUS: Final = "holdfast bus"
TICK_S: Final = BusOptions().tick_s
BACKGROUND: Final = frozenset(
    {
        *("heartbeat", "join_worker", "forget_workers", "expired_awaits", "release_all_but"),
        *("stopping_chats", "users_stopping"),
        *("heads", "moved", "database_time", "durability", "applied_migrations", "types"),
    }
)
NAMES: Final = {
    **{load_query(name).text: name for name in block_names() if name[:7] != "commit_"},
    **{load_bus_query(name).text: name for name in bus_names()},
    LOAD.text: "load_chat",
    LOAD_MANY.text: "load_chats",
}
TYPES: Final = ("typeinfo_tree", "set_config('jit'")
"""What asyncpg asks about the types of a statement's parameters, once on each connection."""
TIMER_S_MIN: Final = 0.5
"""Of a worker that asks for chats although nobody told it of one."""
COMMIT: Final = load_query("commit_begin").text[:40]
PROMPT: Final = 'Well? [[sim: say "one two three four five six seven eight nine ten" | rate=200]]'


def name_of(executed: Executed) -> str:
    if executed.text.startswith(COMMIT):
        return "commit"
    if any(mark in executed.text for mark in TYPES):
        return "types"
    return NAMES.get(executed.text, executed.text.split(maxsplit=1)[0].lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Of some turns of one chat, one after another, with so many readers on each api replica."""

    turns: int
    per_turn: tuple[int, ...]
    """Statements of all pools together, for each turn, from the message to idle."""
    by_name: Counter[str]
    """The same for all turns together, by what they are."""
    background: Counter[str]
    reading: Counter[str]
    """Statements of the replica that only reads, without the background."""
    speaking: Counter[str]
    """Statements of the replica on which messages are sent, which reads as well."""
    reads: int
    """What the hubs of both replicas counted as reads of the store."""
    commits: int
    """Commits that the hubs took from hints."""
    events: int
    bus: Counter[str]
    """Statements on the connections of the bus, by what they are."""
    flushes_per_tick: float
    """The most flushes of one connection, for each tick that it took."""


@dataclass
class Watched:
    """Two replicas that serve readers, a worker, and the taps before them in this order."""

    servers: Sequence[Server]
    taps: Sequence[WireTap]

    async def turns(self, readers: int, turns: int) -> Cost:
        speaks, worker = self.servers[0], self.servers[2].worker
        assert worker is not None
        chat = await ask(speaks, user(PROMPT))
        await until(lambda: worker.counters.acquired > 0 and worker.counters.driven == 0)
        async with AsyncExitStack() as stack:
            seen = [
                await stack.enter_async_context(_reading(hub, chat))
                for hub in self._hubs
                for _ in range(readers)
            ]
            await until(lambda: all(reader.caught_up for reader in seen))
            await self._one_turn(chat, seen)  # whatever is prepared once, is prepared now
            return await self._measured(chat, seen, turns)

    @property
    def _hubs(self) -> list[Hub]:
        return [server.hub for server in self.servers if server.hub is not None]

    async def _measured(self, chat: Chat, seen: "Sequence[Reading]", turns: int) -> Cost:
        marks = [len(tap.seen()) for tap in self.taps]
        before = [(hub.counters.reads, hub.counters.commits) for hub in self._hubs]
        events = sum(reader.events for reader in seen)
        per_turn: list[int] = []
        began_s = asyncio.get_running_loop().time()
        for _ in range(turns):
            already = sum(len(self._pool(tap)) for tap in self.taps)
            by_timer = await self._one_turn(chat, seen)
            per_turn.append(sum(len(self._pool(tap)) for tap in self.taps) - already - by_timer)
        took_s = asyncio.get_running_loop().time() - began_s
        new = [tap.seen()[mark:] for tap, mark in zip(self.taps, marks, strict=True)]
        pools = [[x for x in each if x.application != BUS] for each in new]
        after = [(hub.counters.reads, hub.counters.commits) for hub in self._hubs]
        every = Counter(name_of(x) for each in pools for x in each)
        return Cost(
            turns=turns,
            per_turn=tuple(per_turn),
            by_name=Counter({k: n for k, n in every.items() if k not in BACKGROUND}),
            background=Counter({k: n for k, n in every.items() if k in BACKGROUND}),
            reading=Counter(n for x in pools[1] if (n := name_of(x)) not in BACKGROUND),
            speaking=Counter(n for x in pools[0] if (n := name_of(x)) not in BACKGROUND),
            reads=sum(a[0] - b[0] for a, b in zip(after, before, strict=True)),
            commits=sum(a[1] - b[1] for a, b in zip(after, before, strict=True)),
            events=sum(reader.events for reader in seen) - events,
            bus=Counter(name_of(x) for each in new for x in each if x.application == BUS),
            flushes_per_tick=max(map(_flushes, new)) * TICK_S / took_s,
        )

    async def _one_turn(self, chat: Chat, seen: "Sequence[Reading]") -> int:
        """From the message to idle, everywhere; how many acquires the worker's timer explains."""
        worker = self.servers[2].worker
        assert worker is not None
        acquired, idles = worker.counters.acquired, [reader.idles for reader in seen]
        empty = worker.counters.acquires - acquired
        began_s = asyncio.get_running_loop().time()
        request = ChangeRequest((SendMessage(user(PROMPT)),), by=ACTOR)
        await self.servers[0].ledger.transact(chat.chat_id, request)
        # Neither looks into the database: what is counted is the turn's own.
        await until(lambda: worker.counters.acquired > acquired and worker.counters.driven == 0)
        await until(lambda: all(r.idles > n for r, n in zip(seen, idles, strict=True)))
        took_s = asyncio.get_running_loop().time() - began_s
        empty = worker.counters.acquires - worker.counters.acquired - empty
        return min(empty, int(took_s / TIMER_S_MIN))

    def _pool(self, tap: WireTap) -> list[Executed]:
        return [x for x in tap.seen() if x.application != BUS and name_of(x) not in BACKGROUND]


def _flushes(new: Sequence[Executed]) -> int:
    counts = Counter(x.connection for x in new if name_of(x) == "flush")
    return max(counts.values(), default=0)


@dataclass
class Reading:
    """One reader; reads as fast as it is told."""

    events: int = 0
    idles: int = 0
    parts: int = 0
    caught_up: bool = False

    async def follow(self, hub: Hub, chat: Chat) -> None:
        async with hub.follow(chat.chat_id, None) as events:
            async for event in events:
                self.events += 1
                self.parts += event.kind is EventType.PREVIEW_DELTA
                if event.kind is EventType.CHAT_STATE and b'"idle"' in event.data:
                    self.idles += self.caught_up
                    self.caught_up = True


@asynccontextmanager
async def _reading(hub: Hub, chat: Chat) -> AsyncGenerator[Reading]:
    reading = Reading()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(reading.follow(hub, chat))
        yield reading
        task.cancel()


@asynccontextmanager
async def watched(
    cell: Replicas, redis_url: str, around: Callable[[Adapters], Adapters] | None = None
) -> AsyncGenerator[Watched]:
    async with AsyncExitStack() as stack:
        taps: list[WireTap] = []
        servers: list[Server] = []
        for role in ("api", "api", "worker"):
            tap = await stack.enter_async_context(tapped(cell.database_url))
            more = {"role": role, "database_url": tap.url, "bus_url": redis_url}
            opened = cell.open(around, within_s=100, **more)
            taps.append(tap)
            servers.append(await stack.enter_async_context(opened))
        yield Watched(servers, taps)


async def measure(
    template: str, bus: str, readers: Sequence[int] = (0, 1, 50), turns: int = 10
) -> dict[int, Cost]:
    """The cost of turns for each number of readers on each of the two replicas."""
    async with private_redis() as redis, replicas_apart(template) as cell:
        url = redis.url if bus == "redis" else ""
        async with watched(cell, url) as replicas:
            return {count: await replicas.turns(count, turns) for count in readers}
