"""Workers and a replica whose wall clocks jump by hours and drift, in the middle of turns.

Leases are reckoned by the database's clock and the monotonic one: a wrong clock can neither steal
a chat nor keep one (S5). So no lease is lost and no chat is taken over, whatever the clocks say;
and when a worker whose clock is ahead dies, one whose clock is behind takes over in time.
"""

import asyncio
import random
import signal
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from uuid import uuid4

import asyncpg

from holdfast.chats.create import create
from holdfast.domain.ids import ChatId
from holdfast_lab.chaos.attack import Found, Order
from holdfast_lab.chaos.stage.faketime import WallClock, environment
from holdfast_lab.chaos.stage.people import ACTOR, user
from holdfast_lab.chaos.stage.theatre import Actor, Heard, theatre
from holdfast_lab.chaos.streams.cell import Cell, Plan, Run, Tally, cell
from holdfast_lab.chaos.turns.watching import watching

HOUR_S: Final = 3600.0
JUMPS_S: Final = (3 * HOUR_S, -3 * HOUR_S, 30.0, -30.0)
"""Far beyond every lease, and just beyond it."""
JUMPS_MAX: Final = 120
"""In a cell; then another one begins, with chats that are short again."""
DRIFT_STEPS: Final = 10
DRIFT_S: Final = 2.0
"""Ahead or behind, in steps of a twentieth of a second: forty times as fast as time."""
STEP_S: Final = 0.05
BETWEEN_S: Final = (0.3, 0.6)
TAKEOVER_MAX_S: Final = 12.0
SAYS: Final = "words=60 | rate=30"
WORKERS: Final = 2
EMPTY: Final = Plan(seconds=0, seed=1, replicas=0, workers=0)
PLAN: Final = Plan(seconds=0, seed=1, readers=6, joining=0, chats=4, words=40, words_per_s=40)


@dataclass
class Clocks:
    """Each actor's own, by its place on the stage."""

    folder: Path
    usual: WallClock = field(init=False)
    own: dict[str, WallClock] = field(default_factory=dict[str, WallClock])

    def __post_init__(self) -> None:
        self.usual = self.make("usual")

    def make(self, name: str) -> WallClock:
        clock = WallClock(self.folder / name)
        clock.set(0)
        return clock

    def add(self, name: str) -> str:
        self.own[name] = self.make(name)
        return str(self.own[name].path)


@contextmanager
def _clocks() -> Generator[Clocks]:
    with TemporaryDirectory(prefix="hf-clocks-") as folder:
        yield Clocks(Path(folder))


async def jump(order: Order, mutant: str | None = None) -> Found:
    found = Found(0)
    with _clocks() as clocks:
        async with theatre(environment=environment(clocks.usual)) as stage:
            while found.count < order.count:
                count = min(JUMPS_MAX, order.count - found.count)
                async with cell(stage, "redis", EMPTY) as place:
                    await _engage(place, clocks, mutant)
                    await _talk_on(
                        place, clocks, Order(count, order.seed + found.count, order.say), found
                    )
                    if not found.violations:
                        await _die_ahead(place, clocks, found)
                order.say(f"{found.count} jumps")
    return found


async def _engage(place: Cell, clocks: Clocks, mutant: str | None) -> None:
    stage, settings = place.theatre, place.settings
    for number in range(WORKERS):
        clock = clocks.add(f"worker{number}")
        worker = await stage.engage("worker", settings, clock=clock, mutant=mutant)
        place.workers.append(worker)
    replica = {**settings, "role": "api"}
    place.replicas.append(await stage.engage("api", replica, clock=clocks.add("replica")))


async def _talk_on(place: Cell, clocks: Clocks, order: Order, found: Found) -> None:
    """People talk while every clock jumps, each in its own time."""
    jumps = -(-order.count // len(clocks.own))
    plan = replace(PLAN, seconds=jumps * BETWEEN_S[1], seed=order.seed)

    async def breaks() -> None:
        async with asyncio.TaskGroup() as tasks:
            for number, clock in enumerate(clocks.own.values()):
                chance = random.Random(order.seed + number)
                tasks.create_task(_set_wrong(clock, jumps, chance, found))

    run = Run(place, plan, breaks=breaks)
    tally = await run.play()
    found.violations += await _wrong(place, run, tally)
    found.figures["messages"] = found.figures.get("messages", 0) + tally.messages


async def _set_wrong(clock: WallClock, jumps: int, chance: random.Random, found: Found) -> None:
    for _ in range(jumps):
        if chance.random() < 1 / (len(JUMPS_S) + 1):
            await _drift(clock, chance.choice((DRIFT_S, -DRIFT_S)))
        else:
            clock.set(chance.choice(JUMPS_S))
        found.count += 1
        await asyncio.sleep(chance.uniform(*BETWEEN_S))
    clock.set(0)


async def _drift(clock: WallClock, each_s: float) -> None:
    for step in range(DRIFT_STEPS):
        clock.set(step * each_s)
        await asyncio.sleep(STEP_S)


async def _wrong(place: Cell, run: Run, tally: Tally) -> list[str]:
    wrong = list(tally.wrong)
    asked = sum(map(len, run.asked.values()))
    acquired = sum(_acquired(worker) for worker in place.workers)
    if acquired != asked:
        wrong.append(f"{acquired - asked} chats taken over from workers that are well")
    connection = await asyncpg.connect(str(place.settings["database_url"]))
    try:
        leases = await connection.fetchval("select count(*) from workers")
    finally:
        await connection.close()
    if leases != WORKERS:
        wrong.append(f"{leases - WORKERS} leases lost to a clock")
    return wrong


def _acquired(worker: Actor, chat_id: ChatId | None = None) -> int:
    said = [h.what for h in worker.heard if h.what.get("said") == "acquired"]
    return sum(chat_id is None or what["chat"] == str(chat_id) for what in said)


async def _die_ahead(place: Cell, clocks: Clocks, found: Found) -> None:
    """The one that drives is hours ahead, and dies; the other is hours behind, and goes on."""
    server = place.server
    assert server.hub is not None
    asked = user(f"{uuid4().hex} [[sim: {SAYS}]]")
    chat_id = (await create(server.ledger, server.adapters.ids, ACTOR, [asked])).chat.chat_id
    async with watching(server.hub, chat_id) as seen:
        await seen.until(lambda: seen.parts > 2, TAKEOVER_MAX_S)
        for worker, clock in zip(place.workers, clocks.own.values(), strict=False):
            clock.set(JUMPS_S[0] if _acquired(worker, chat_id) else JUMPS_S[1])
        driver = next(worker for worker in place.workers if _acquired(worker, chat_id))
        (other,) = [worker for worker in place.workers if worker is not driver]
        driver.signal(signal.SIGKILL)
        died = time.monotonic()
        try:
            taken = await asyncio.wait_for(_taken(other, chat_id), TAKEOVER_MAX_S)
            waited_s = max(found.figures.get("takeover_max_s", 0.0), taken.at - died)
            found.figures["takeover_max_s"] = round(waited_s, 2)
            await seen.until_idle(2, TAKEOVER_MAX_S)
        except TimeoutError:
            found.violations.append(f"not taken over in {TAKEOVER_MAX_S:.0f} s")
    found.violations += seen.wrong


async def _taken(worker: Actor, chat_id: ChatId) -> Heard:
    return await worker.until(lambda w: w.get("said") == "acquired" and w["chat"] == str(chat_id))
