"""A cell of several workers with scripted drivers, on any store and any bus."""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from holdfast.adapters.postgres.clock import DatabaseClock
from holdfast.adapters.postgres.history import PostgresHistory
from holdfast.adapters.postgres.leases import PostgresLeases
from holdfast.adapters.postgres.pool import PoolOptions, open_pool
from holdfast.adapters.postgres.store import PostgresStore
from holdfast.chats.changes import Actor, ChangeRequest, ChatWriter
from holdfast.chats.ledger import Ledger
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import Command, CommitStep, Create, FinishInterrupt, FinishTurn
from holdfast.domain.errors import Unavailable
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId, UserId, WorkerId
from holdfast.ports.bus import Bus, Hints
from holdfast.ports.clock import Clock
from holdfast.ports.history import History
from holdfast.ports.leases import Acquired, Leases, StoppingChat, Unreadable
from holdfast.ports.store import Store
from holdfast.turn.interrupts import Interrupts
from holdfast.worker.health import CommitHealth
from holdfast.worker.heartbeat import Beside, Heartbeat, in_own_thread, on_this_loop
from holdfast.worker.idle_cache import IdleCache
from holdfast.worker.local_dispatch import LocalDispatch
from holdfast.worker.options import LeaseTimings, WorkerOptions
from holdfast.worker.quarantine import StartAlone
from holdfast.worker.runners import Drive
from holdfast.worker.slots import OfferedSlots
from holdfast.worker.worker import Ports, Worker
from tests.support.builders import ORG, OWNER, reply, user
from tests.support.buses import BusServer, bus_server
from tests.support.database import add_user, temporary_database
from tests.support.doubles import KeptHints, SeededIds
from tests.support.fake_bus import FakeBusServer
from tests.support.fake_store import FakeStore
from tests.support.virtual import LoopClock

NEVER_S = 1_000_000.0
"""A timer that a test wants to know out of the way."""


class Line:
    """One worker's line to the leases, which a test may cut, slow down, or make lose answers."""

    def __init__(self, leases: Leases) -> None:
        self._leases = leases
        self.heart: Leases = leases
        """For heartbeats: where they have a connection of their own."""
        self.is_cut = False
        self.hangs = False
        self.refuses_connections = False
        self.heartbeat_answer_s = 0.0
        self.answers_lost: set[str] = set()
        self.faults: dict[str, int] = {}
        self.asked: list[tuple[float, str]] = []
        self.limits: list[int] = []

    def count(self, what: str) -> int:
        return sum(1 for _, asked in self.asked if asked == what)

    async def _pass(self, what: str) -> None:
        self.asked.append((asyncio.get_running_loop().time(), what))
        if self.hangs:
            await asyncio.Event().wait()
        if self.is_cut:
            raise Unavailable("cut")
        if self.faults.get(what, 0):
            self.faults[what] -= 1
            raise Unavailable("once more, please")

    def _answer(self, what: str) -> None:
        if what in self.answers_lost:
            self.answers_lost.discard(what)
            raise Unavailable("done, but you will never know")

    async def join(self, worker_id: WorkerId, *, name: str, ttl: timedelta) -> None:
        await self._pass("join")
        await self._leases.join(worker_id, name=name, ttl=ttl)
        self._answer("join")

    async def heartbeat(self, worker_id: WorkerId, *, ttl: timedelta) -> datetime | None:
        await self._pass("heartbeat")
        until = await self.heart.heartbeat(worker_id, ttl=ttl)
        await asyncio.sleep(self.heartbeat_answer_s)
        return until

    async def acquire(
        self,
        worker_id: WorkerId,
        *,
        limit: int,
        ring_start: UUID,
        alone_from: int | None = None,
        only: Sequence[ChatId] | None = None,
    ) -> Acquired:
        await self._pass("acquire")
        self.limits.append(limit)
        chats = await self._leases.acquire(
            worker_id, limit=limit, ring_start=ring_start, alone_from=alone_from, only=only
        )
        self._answer("acquire")
        return chats

    async def release(
        self,
        worker_id: WorkerId,
        chat_ids: Sequence[ChatId],
        *,
        undriven: Sequence[ChatId] = (),
    ) -> Sequence[ChatId]:
        await self._pass("release")
        return await self._leases.release(worker_id, chat_ids, undriven=undriven)

    async def set_aside(
        self, worker_id: WorkerId, unreadable: Sequence[Unreadable]
    ) -> Sequence[ChatId]:
        await self._pass("set_aside")
        return await self._leases.set_aside(worker_id, unreadable)

    async def release_all_but(
        self, worker_id: WorkerId, kept: Sequence[ChatId]
    ) -> Sequence[ChatId]:
        await self._pass("release_all_but")
        return await self._leases.release_all_but(worker_id, kept)

    async def leave(self, worker_id: WorkerId) -> Sequence[ChatId]:
        await self._pass("leave")
        return await self._leases.leave(worker_id)

    async def forget(self, *, lapsed_for: timedelta) -> Sequence[WorkerId]:
        await self._pass("forget")
        return await self._leases.forget(lapsed_for=lapsed_for)

    async def expired_awaits(self, *, limit: int) -> Sequence[ChatId]:
        await self._pass("expired_awaits")
        return await self._leases.expired_awaits(limit=limit)

    async def stopping_chats(self, *, limit: int) -> Sequence[StoppingChat]:
        await self._pass("stopping_chats")
        return await self._leases.stopping_chats(limit=limit)


@dataclass
class Replica:
    """A worker, its line, and what its scripted driver did."""

    worker: Worker
    line: Line
    bus: Bus
    script: "Script"
    slots: OfferedSlots

    @property
    def counters(self):
        return self.worker.counters


@dataclass
class Script:
    """Drives a chat for so long, then answers and finishes; or ends early if it is nudged."""

    store: Store
    ledger: ChatWriter
    length_s: float = 0.0
    started: list[tuple[float, Chat]] = field(default_factory=list[tuple[float, Chat]])
    driving: dict[ChatId, Chat] = field(default_factory=dict[ChatId, Chat])
    ended: list[tuple[float, ChatId]] = field(default_factory=list[tuple[float, ChatId]])
    most: int = 0

    async def drive(self, chat: Chat, nudges: Interrupts) -> Chat:
        now = asyncio.get_running_loop().time
        self.started.append((now(), chat))
        self.driving[chat.chat_id] = chat
        self.most = max(self.most, len(self.driving))
        try:
            return await self.work(chat, nudges)
        finally:
            self.ended.append((now(), chat.chat_id))
            if self.driving.get(chat.chat_id) is chat:
                del self.driving[chat.chat_id]

    async def work(self, chat: Chat, nudges: Interrupts) -> Chat:
        if chat.status is not Status.INTERRUPTING:
            try:
                async with asyncio.timeout(self.length_s):
                    while await self._goes_on(chat, nudges):
                        await nudges.wait()
            except TimeoutError:
                pass
        if nudges.leaving:
            return chat
        loaded = await self.store.load(chat.chat_id)
        assert loaded is not None
        latest = loaded.facts.chat
        if latest.status is Status.INTERRUPTING:
            return await self.commit(chat, latest, FinishInterrupt())
        return await self.commit(chat, latest, CommitStep((reply(),)), FinishTurn())

    async def _goes_on(self, chat: Chat, nudges: Interrupts) -> bool:
        if nudges.leaving:
            return False
        loaded = await self.store.load(chat.chat_id)
        assert loaded is not None
        nudges.settle(loaded.facts.chat)
        return loaded.facts.chat.status is Status.RUNNING

    async def commit(self, owned: Chat, latest: Chat, *commands: Command) -> Chat:
        fence = Fence(
            chat_id=owned.chat_id,
            worker_id=Fence.of(owned).worker_id,
            epoch=owned.epoch,
            history_version=latest.history_version,
            history_stamp=latest.history_stamp,
        )
        request = ChangeRequest(commands, by=fence, snapshot=latest)
        done = await self.ledger.transact(owned.chat_id, request)
        return done.chat

    @property
    def chat_ids(self) -> list[ChatId]:
        return [chat.chat_id for _, chat in self.started]


def timings(ttl_s: float = 10.0) -> LeaseTimings:
    """The usual proportions."""
    return LeaseTimings(
        ttl_s=ttl_s,
        heartbeat_every_s=0.3 * ttl_s,
        heartbeat_timeout_s=0.2 * ttl_s,
        retry_s=0.025 * ttl_s,
    )


@dataclass
class Cell:
    store: Store
    history: History
    leases: Leases
    clock: Clock
    buses: BusServer
    bus: Bus
    """The one of who sends: another process."""
    url: str | None = None
    ids: SeededIds = field(default_factory=lambda: SeededIds(99))
    seed: int = 0
    stamps: random.Random = field(default_factory=lambda: random.Random(0))
    """Of the commits: the same in each run."""
    beside: Beside = on_this_loop

    @asynccontextmanager
    async def replica(
        self,
        options: WorkerOptions | None = None,
        *,
        length_s: float = 0.0,
        drive: Drive | None = None,
        beside: Beside | None = None,
        health: CommitHealth | None = None,
        start_alone: StartAlone | None = None,
    ) -> AsyncGenerator[Replica]:
        self.seed += 1
        line = Line(self.leases)

        @asynccontextmanager
        async def open_leases() -> AsyncGenerator[Leases]:
            if line.refuses_connections:
                raise OSError("no more connections")
            if self.url is None:
                yield line
                return
            only = PoolOptions(connections_min=1, connections_max=1, command_timeout_s=2.0)
            async with open_pool(self.url, only) as pool:
                line.heart = PostgresLeases(pool)
                yield line

        async with self.buses.open() as bus:
            slots = OfferedSlots()
            ledger = LocalDispatch(self._ledger(bus), slots, IdleCache(chats_max=0))
            script = Script(self.store, ledger, length_s)
            worker = Worker(
                drive or script.drive,
                Ports(line, self.history, bus, ledger),
                Heartbeat(open_leases, beside or self.beside),
                random.Random(self.seed).random,
                options or WorkerOptions(),
                slots,
                health,
                start_alone,
            )
            async with worker:
                yield Replica(worker, line, bus, script, slots)

    def _ledger(self, hints: Hints) -> Ledger:
        return Ledger(self.store, hints, self.clock, self.stamps.getrandbits)

    async def send(
        self, *, owner: UserId = OWNER, silently: bool = False, at: Replica | None = None
    ) -> Chat:
        """A new chat with a message; `silently`: the hint is lost; `at`: who serves us drives."""
        hints: Hints = KeptHints() if silently else self.bus
        ledger = at.script.ledger if at is not None else self._ledger(hints)
        chat = Chat(chat_id=self.ids.new_chat_id(), org_id=ORG, owner_id=owner)
        return (await ledger.create(chat, Create((user(),)))).chat

    async def do(self, chat_id: ChatId, *commands: Command, silently: bool = False) -> Chat:
        hints: Hints = KeptHints() if silently else self.bus
        ledger = self._ledger(hints)
        return (await ledger.transact(chat_id, ChangeRequest(commands, by=Actor(ORG, OWNER)))).chat

    async def load(self, chat_id: ChatId) -> Chat:
        loaded = await self.store.load(chat_id)
        assert loaded is not None
        return loaded.facts.chat

    async def until_idle(self, *chats: Chat, within_s: float = 60.0) -> float:
        """How long it took."""
        return await until(lambda: self._are_idle(chats), within_s)

    async def _are_idle(self, chats: Sequence[Chat]) -> bool:
        heads = await self.history.heads([chat.chat_id for chat in chats])
        return all(head.status is Status.IDLE for head in heads)


async def until(true: Callable[[], object], within_s: float = 60.0) -> float:
    """How long it took."""
    began = asyncio.get_running_loop().time()
    async with asyncio.timeout(within_s):
        while True:
            found = true()
            if await found if asyncio.iscoroutine(found) else found:
                return asyncio.get_running_loop().time() - began
            await asyncio.sleep(0.01)


@asynccontextmanager
async def fake_cell() -> AsyncGenerator[Cell]:
    clock = LoopClock()
    store, buses = FakeStore(clock), FakeBusServer()
    async with buses.open() as bus:
        yield Cell(store, store, store, clock, buses, bus)


@asynccontextmanager
async def real_cell(bus_kind: str, template: str) -> AsyncGenerator[Cell]:
    """On PostgreSQL, heartbeats in threads of their own."""
    async with (
        temporary_database(template) as url,
        open_pool(url, PoolOptions(connections_max=6)) as pool,
        bus_server(bus_kind, template) as buses,
        buses.open() as bus,
    ):
        await add_user(pool, ORG, OWNER)
        yield Cell(
            PostgresStore(pool),
            PostgresHistory(pool),
            PostgresLeases(pool),
            await DatabaseClock.open(pool),
            buses,
            bus,
            url=url,
            beside=in_own_thread,
        )
