"""A cell of replicas as production builds them, over one store and one bus, in rough weather."""

import asyncio
import gc
import hashlib
import logging
import random
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property

from holdfast.bootstrap.options import ServerOptions
from holdfast.domain.chat import Chat, Facts, Status
from holdfast.domain.commands import Create, SendMessage
from holdfast.domain.decide import decide_all
from holdfast.domain.parts import Need
from holdfast.stream.options import HubOptions
from holdfast.tasks import FAILURES
from holdfast.turn.options import TurnOptions
from holdfast.turn.retry import RetryPolicy
from holdfast.worker.options import LeaseTimings, WorkerOptions
from tests.simulation import checks
from tests.simulation.actors import Outside
from tests.simulation.loop import simulate
from tests.simulation.people import POLLED_S, Person, Reader
from tests.simulation.replica import Replica
from tests.simulation.store import OpenStore, WatchedBus
from tests.simulation.weather import Weather
from tests.support.builders import ORG, OWNER, user
from tests.support.doubles import SeededIds
from tests.support.virtual import LoopClock

STORM_S = 14.0
LINGER_S = 0.5
SETTLES_S = 100.0
LEASE = LeaseTimings(ttl_s=4.0, heartbeat_every_s=1.3, heartbeat_timeout_s=1.0)
"""Shorter than in production, so that more of them end within a seed."""
TRACE_LINES_MAX = 40
AT_REST = (Status.IDLE, Status.FAILED, Status.AWAITING)


@dataclass
class World:
    seed: int
    chance: random.Random = field(init=False)
    problems: list[str] = field(default_factory=list[str])
    seen: list[tuple[object, ...]] = field(default_factory=list[tuple[object, ...]])
    """When, and what: put into words only if somebody wants to read them."""
    replicas: list[Replica] = field(default_factory=list[Replica])
    over: bool = False

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.clock = LoopClock()
        self.store = OpenStore(self.clock)
        self.bus = WatchedBus()
        self.weather = Weather(self.chance)
        self.outside = Outside(self.store, self.problems)
        self.watch = checks.Commits(self.store, self.bus, self.problems)
        self.group = asyncio.TaskGroup()
        self.doors = asyncio.Event()
        self.doors.set()
        self.people: list[Person] = []
        self.readers: list[Reader] = []
        self._number = 0
        self._names = 0

    def options(self, name: str) -> ServerOptions:
        return ServerOptions(
            hub=HubOptions(linger_s=LINGER_S),
            turn=TurnOptions(
                retry=RetryPolicy(first_delay_s=0.5, delay_s_max=4.0),
                await_s=dict.fromkeys(Need, 6.0),
            ),
            worker=WorkerOptions(name=name, capacity=4, lease=LEASE),
        )

    # What everybody may ask of it.

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def words(self) -> str:
        return f"message {self.next_number()}"

    def some_replica(self) -> Replica | None:
        """As a balancer picks one: it does not know which of them are stopped."""
        up = [replica for replica in self.replicas if replica.up]
        return self.chance.choice(up) if up else None

    def see(self, process: str, name: str) -> None:
        """A statement was carried out."""
        self.watch.look()
        self.seen.append((_now_s(), process, name, self.watch.summary))

    def note(self, what: str) -> None:
        self.seen.append((_now_s(), what))

    # The run.

    async def run(self) -> None:
        failed_before = FAILURES.total()
        try:
            async with self.group:
                async with asyncio.timeout(3600):
                    await self._story()
                self.over = True
                for replica in self.replicas:
                    if replica.up:
                        replica.server.drain()
        except* AssertionError as wrong:
            self.problems += [repr(each) for each in wrong.exceptions]
        if FAILURES.total() > failed_before:  # a server survives it; here it is a mistake of ours
            self.problems.append(f"a background task failed: {dict(FAILURES)}")
        self.note("end")
        left = asyncio.all_tasks() - {asyncio.current_task()}
        if left:
            self.problems.append(f"tasks left behind: {sorted(t.get_name() for t in left)}")

    async def _story(self) -> None:
        for _ in range(self.chance.choice((2, 2, 2, 3, 3, 4))):
            self.new_replica()
        await asyncio.sleep(0.05)
        for number in range(self.chance.randint(1, 2)):
            chat = Chat(chat_id=SeededIds(number).new_chat_id(), org_id=ORG, owner_id=OWNER)
            person = Person(self, chat.chat_id)
            text = self.words()
            created = Create((user(text),))
            await self._create(chat, created)
            person.accepted.add(text)
            self.people.append(person)
            for each in range(self.chance.randint(1, 2)):
                reader = Reader(self, f"reader {number}.{each}", chat.chat_id)
                self.readers.append(reader)
                self.group.create_task(reader.read())
        await self._storm()
        await self._calm()
        checks.check_end(self)

    async def _create(self, chat: Chat, command: Create) -> None:
        outcome = decide_all(Facts(chat=chat), (command,), self.clock.now())
        await self.store.create(outcome)

    def new_replica(self) -> Replica:
        self._names += 1
        replica = Replica(self, f"r{self._names}")
        self.replicas.append(replica)
        replica.start()
        return replica

    async def _storm(self) -> None:
        async with asyncio.TaskGroup() as acts:
            for person in self.people:
                acts.create_task(person.act(STORM_S))
            weather = self.weather
            for likely, trouble in (
                (weather.crashes, self._crash),
                (weather.freezes, self._freeze),
                (weather.partitions, self._cut_off),
                (weather.drains, self._drain),
                (weather.bus_troubles, self._trouble_bus),
            ):
                for _ in range(round(likely)):
                    acts.create_task(self._later(trouble))

    async def _later(self, trouble: Callable[[], Awaitable[None]]) -> None:
        await asyncio.sleep(self.chance.uniform(0.1, STORM_S))
        await trouble()

    async def _crash(self) -> None:
        replica = self.some_replica()
        if replica is None:
            return
        self.note(f"{replica.process.name} crashes")
        replica.crash()
        await asyncio.sleep(self.chance.uniform(0.0, 5.0))
        self.new_replica()

    async def _freeze(self) -> None:
        replica = self.some_replica()
        if replica is None:
            return
        self.note(f"{replica.process.name} freezes")
        replica.process.freeze()
        await asyncio.sleep(self.chance.uniform(1.0, 12.0))
        if replica.process.frozen:
            self.note(f"{replica.process.name} wakes")
            replica.process.wake()

    async def _cut_off(self) -> None:
        """The store is far away for one replica: what it sends arrives late, if at all."""
        replica = self.some_replica()
        if replica is not None:
            self.note(f"{replica.process.name} is cut off")
            replica.line.cut_until_s = _now_s() + self.chance.uniform(2.0, 14.0)

    async def _drain(self) -> None:
        replica = self.some_replica()
        if replica is None:
            return
        self.note(f"{replica.process.name} drains")
        replica.up = False
        replica.server.drain()
        await asyncio.sleep(self.chance.uniform(0.0, 5.0))
        self.new_replica()

    async def _trouble_bus(self) -> None:
        kind = self.chance.choice(["cut", "empty", "stop"])
        self.note(f"the bus: {kind}")
        if kind == "cut":
            await self.bus.cut()
            return
        if kind == "empty":
            await self.bus.empty()
            return
        await self.bus.stop()
        await asyncio.sleep(self.chance.uniform(0.5, 10.0))
        await self.bus.start()

    async def _calm(self) -> None:
        """No more faults. Everybody says one more thing, while readers come in; then all rests."""
        self.note("calm")
        self.weather.calm = True
        for replica in self.replicas:
            replica.line.hurry()
        for reader in self.readers:
            reader.stays = True
        await self._until_at_rest()
        before = [self.store.peek(person.chat_id) for person in self.people]
        await asyncio.sleep(POLLED_S)
        rested = {chat.chat_id for chat in before if self.store.peek(chat.chat_id) is chat}
        settled = [r for r in self.readers if r.chat_id in rested and r.is_settled()]
        checks.check_views(self, settled)
        self.weather.bus_calm = True
        # All leave and come back at the very moment at which something happens (R3).
        self.doors.clear()
        for replica in self.replicas:
            replica.hang_up()
        await asyncio.sleep(LINGER_S + 0.2)
        # What broke in the storm may come back only now: until it does, its hints wait.
        while not all(r.speaks for r in self.replicas if r.up):  # noqa: ASYNC110 - virtual time
            await asyncio.sleep(0.1)
        found = self._found_by_poll()
        for person in self.people:
            fresh = Reader(self, "late reader", person.chat_id, stays=True)
            self.readers.append(fresh)
            self.group.create_task(fresh.read())
        self.doors.set()
        for person in self.people:
            await person.ask(SendMessage(user(self.words())))
        await asyncio.sleep(0.1)
        await self._until_at_rest()
        await asyncio.sleep(3.0)  # until those who still read on a stopped connection came back
        await self._until_at_rest()
        while not await self._stay_at_rest():
            await self._until_at_rest()
        now_found = self._found_by_poll()
        # The poll is for losses, and of none was a feed told: subscribing came too late (R3).
        self.problems += [
            f"{hub} found {now_found[hub][0] - before} times by its poll alone what was new (R3)"
            for hub, (before, gaps) in found.items()
            if hub in now_found and now_found[hub][0] > before and now_found[hub][1] == gaps
        ]

    def _found_by_poll(self) -> dict[str, tuple[int, int]]:
        """How often, and how many gaps its feeds were told of: a connection that broke in the storm
        may come back in the calm, and says then that it may have missed something."""
        return {
            replica.process.name: (replica.hub.counters.found_by_poll, replica.hub.counters.gaps)
            for replica in self.replicas
            if replica.up and replica.polls
        }

    async def _stay_at_rest(self) -> bool:
        """Long enough for everybody to have been told; a wait may run out meanwhile."""
        before = [self.store.peek(person.chat_id) for person in self.people]
        await asyncio.sleep(0.5)
        return all(self.store.peek(chat.chat_id) is chat for chat in before)

    async def _until_at_rest(self) -> None:
        ends_s = _now_s() + SETTLES_S
        while not all(self._rests(person) for person in self.people):
            if _now_s() > ends_s:
                states = [str(checks.state(self.store.peek(p.chat_id))) for p in self.people]
                raise AssertionError(f"stuck: {states} (S7)")
            await asyncio.sleep(0.5)

    def _rests(self, person: Person) -> bool:
        chat = self.store.peek(person.chat_id)
        return chat.status in AT_REST and chat.worker_id is None


def _now_s() -> float:
    return asyncio.get_running_loop().time()


@dataclass(frozen=True)
class Run:
    seed: int
    problems: tuple[str, ...]
    seen: tuple[tuple[object, ...], ...]
    counts: dict[str, int]

    @cached_property
    def trace(self) -> list[str]:
        return [f"{at_s:.4f} {' '.join(map(str, what))}" for at_s, *what in self.seen]

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()

    def __str__(self) -> str:  # pyright: ignore[reportImplicitOverride]
        last = "\n  ".join(self.trace[-TRACE_LINES_MAX:])
        wrong = "\n  ".join(self.problems)
        return f"seed {self.seed}:\n  {wrong}\n  replay: just simulate-seed {self.seed}\n  {last}"


class _Complaints(logging.Handler):
    """What is logged with a traceback was not expected by anybody."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.problems: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:  # pyright: ignore[reportImplicitOverride]
        if record.exc_info is not None or "did not stop" in record.msg:
            self.problems.append(f"logged: {self.format(record)}")


@contextmanager
def _complaints() -> Generator[list[str]]:
    """In place of whatever listens otherwise: a seed logs hundreds of lines."""
    logger, handler = logging.getLogger("holdfast"), _Complaints()
    before = logger.propagate, logger.level
    logger.propagate = False
    if logger.getEffectiveLevel() < logging.WARNING:  # else every logger would forget its own
        logger.setLevel(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield handler.problems
    finally:
        logger.removeHandler(handler)
        logger.propagate = before[0]
        if logger.level != before[1]:
            logger.setLevel(before[1])


@cache
def _freeze_heap() -> None:
    """What is there before the first seed is never garbage: nobody need look at it again."""
    gc.freeze()


@contextmanager
def _uncollected() -> Generator[None]:
    """Garbage is collected after a seed, not within it, where it would be a fifth of the time."""
    _freeze_heap()
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.collect()
        if collects:
            gc.enable()


def run(seed: int) -> Run:
    with _uncollected(), _complaints() as complaints:
        world, counts = simulate(_run(seed))
    world.problems += complaints
    return Run(seed, tuple(world.problems), tuple(world.seen), counts)


async def _run(seed: int) -> tuple[World, dict[str, int]]:
    world = World(seed)
    await world.run()
    counts = {
        "statements": len(world.seen),
        "attempts": world.outside.asked,
        "effects": world.outside.effects.total(),
        "events": sum(len(reader.events) for reader in world.readers),
    }
    return world, counts
