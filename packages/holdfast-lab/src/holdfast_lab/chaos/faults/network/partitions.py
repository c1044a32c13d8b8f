"""Servers cut off in the middle of their work, each on an island whose links are taken down.

A worker loses the database, and its successor goes on; a replica loses the bus, then the database,
under its readers. Links are mended while the others are at work.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from holdfast_lab.chaos.attack import Found, Order
from holdfast_lab.chaos.faults.streams.cell import QUICK, Cell, Plan, Run, cell, port_of
from holdfast_lab.chaos.faults.workers.trials import Elsewhere, Scene, Verdict, play, scene
from holdfast_lab.chaos.harness.cluster import Actor, Theatre, many_connections, theatre
from holdfast_lab.chaos.harness.netns import Island, Link, an_island
from holdfast_lab.chaos.harness.private_redis import private_redis
from holdfast_lab.chaos.harness.proxy import HERE, a_line

EVERYWHERE: Final = "0.0.0.0"
ISLANDS_MAX: Final = 4
"""Of workers, side by side."""
REPLICAS_SHARE: Final = 0.4
"""Of all cuts; the others are workers'."""
BOUNDARIES: Final = ("before commit", "after commit", "before append", "before load")
TAKEOVER_MAX_S: Final = 20.0
BACK_MAX_S: Final = 30.0
AWAY_S: Final = (1.0, 2.5)
CUT_EVERY_S: Final = 3.5
CUTS_MAX: Final = 30
"""Of one replica; then another one begins, with chats that are short again."""
AT_WORK: Final = "select count(*) from workers where lease_until > clock_timestamp()"
WORKERS_LOSE: Final[tuple[tuple[Link, ...], ...]] = (("database",), ("database", "bus"), ("bus",))
REPLICAS_LOSE: Final[tuple[Link, ...]] = ("bus", "database")
READERS: Final = Plan(seconds=0, seed=1, readers=12, joining=0, chats=2, replicas=1, workers=1)


@dataclass
class Sum:
    """What became of all that were cut off."""

    cuts: int = 0
    takeovers_s: list[float] = field(default_factory=list[float])
    backs_s: list[float] = field(default_factory=list[float])
    wrong: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Trial:
    links: tuple[Link, ...]
    boundary: str
    number: int
    wake_at: int


async def cut_off(order: Order) -> Found:
    """On a mainland: workers and, beside them, a replica."""
    replicas = int(order.count * REPLICAS_SHARE)
    trials, total = _trials(order.seed, order.count - replicas), Sum()
    async with (
        theatre(database=many_connections(EVERYWHERE)) as stage,
        asyncio.TaskGroup() as tasks,
    ):
        for number in range(min(ISLANDS_MAX, order.count - replicas)):
            tasks.create_task(_workers(stage, number, trials, total))
        if replicas:
            tasks.create_task(_replicas(stage, replicas, order, total))
    longest, back = max(total.takeovers_s, default=0.0), max(total.backs_s, default=0.0)
    if longest > TAKEOVER_MAX_S:
        total.wrong.append(f"taken over after {longest:.1f} s, {TAKEOVER_MAX_S:.0f} s at most")
    figures = {"takeover_max_s": round(longest, 2), "back_max_s": round(back, 2)}
    return Found(total.cuts, total.wrong, figures)


async def cut_off_unfenced(order: Order) -> Found:
    """The mutant: a worker that was cut off may write when it is back."""
    async with (
        theatre(database=many_connections(EVERYWHERE)) as stage,
        _shore(stage, 0, Sum(), "no fence, cut off") as shore,
    ):
        verdict = await play(shore.place, "cut", 1, wake_at=4, name="before commit")
    return Found(1, verdict.wrong)


def _trials(seed: int, count: int) -> Iterator[Trial]:
    chance = random.Random(seed)
    for number in range(count):
        boundary = BOUNDARIES[number % len(BOUNDARIES)]
        links = WORKERS_LOSE[number % len(WORKERS_LOSE)]
        yield Trial(links, boundary, chance.randrange(1, 3), chance.randrange(1, 12))


# Workers.


@dataclass
class Shore:
    """Where a worker's links end."""

    place: Scene
    island: Island
    total: Sum
    links: tuple[Link, ...] = ("database",)
    """Those that are cut."""
    mended_at: float = 0.0

    async def cut(self) -> None:
        for link in self.links:
            await self.island.cut(link)

    async def mend(self) -> None:
        for link in self.links:
            await self.island.heal(link)
        self.mended_at = time.monotonic()

    async def until_back(self) -> list[str]:
        """The worker has a lease, and its successor."""
        while (waited_s := time.monotonic() - self.mended_at) < BACK_MAX_S:
            if await self.place.pool.fetchval(AT_WORK) >= 2:
                self.total.backs_s.append(waited_s)
                return []
            await asyncio.sleep(0.1)
        return [f"not at work again {BACK_MAX_S:.0f} s after its link was mended"]


@asynccontextmanager
async def _shore(
    stage: Theatre, number: int, total: Sum, mutant: str | None = None
) -> AsyncGenerator[Shore]:
    """A scene whose victim lives on an island."""
    async with (
        private_redis() as redis,
        scene(stage, "postgres", mutant, bus_url=redis.url, **QUICK) as place,
        an_island(number) as island,
        _seen_from(island, stage, place.settings) as (settings, part),
    ):
        shore = Shore(place, island, total)
        place.elsewhere = Elsewhere(settings, part, shore.cut, shore.mend, shore.until_back)
        yield shore


@asynccontextmanager
async def _seen_from(
    island: Island, stage: Theatre, settings: dict[str, Any]
) -> AsyncGenerator[tuple[dict[str, Any], dict[str, Any]]]:
    """The same servers at the addresses that the island has for them. The database itself listens
    there: what it does about people who are gone is part of the attack."""
    rest, (model,) = island.mainland("rest"), settings["models"]
    async with (
        a_line(settings["bus_url"], island.mainland("bus")) as bus,
        a_line(stage.simulator, rest) as models,
        a_line(stage.recorder.url, rest) as effects,
    ):
        there = {
            **settings,
            "database_url": settings["database_url"].replace(HERE, island.mainland("database")),
            "bus_url": bus.instead_of(settings["bus_url"]),
            "models": [{**model, "base_url": models.instead_of(model["base_url"])}],
        }
        recorder, edge = effects.instead_of(stage.recorder.url), island.home("rest")
        yield there, {"island": island.path, "recorder": recorder, "edge": edge}


async def _workers(stage: Theatre, number: int, trials: Iterator[Trial], total: Sum) -> None:
    async with _shore(stage, number, total) as shore:
        for trial in trials:
            shore.links = trial.links
            verdict = await play(
                shore.place, "cut", trial.number, wake_at=trial.wake_at, name=trial.boundary
            )
            _add(verdict, total)


def _add(verdict: Verdict, total: Sum) -> None:
    total.cuts += verdict.name != "never reached"
    total.wrong += [f"cut off {verdict.name}: {sentence}" for sentence in verdict.wrong]
    if verdict.takeover_s is not None:
        total.takeovers_s.append(verdict.takeover_s)


# A replica.


async def _replicas(stage: Theatre, cuts: int, order: Order, total: Sum) -> None:
    for begun in range(0, cuts, CUTS_MAX):
        some = min(CUTS_MAX, cuts - begun)
        await _cut_replica(stage, ISLANDS_MAX, Order(some, order.seed + begun, order.say), total)
        order.say(f"{total.cuts} links cut")


async def _cut_replica(stage: Theatre, number: int, order: Order, total: Sum) -> None:
    """Readers of two replicas, of which one is cut off now and then."""
    cuts = order.count
    plan = replace(READERS, seconds=cuts * CUT_EVERY_S, seed=order.seed)
    async with (
        cell(stage, "redis", plan) as place,
        an_island(number) as island,
        _seen_from(island, stage, place.settings) as (settings, part),
    ):
        replica = await stage.engage("api", {**settings, "role": "api"}, **part)
        place.replicas.append(replica)

        async def breaks() -> None:
            chance = random.Random(order.seed)
            for cut in range(cuts):
                away_s = chance.uniform(*AWAY_S)
                await _cut_once(island, REPLICAS_LOSE[cut % len(REPLICAS_LOSE)], away_s)
                await asyncio.sleep(CUT_EVERY_S - away_s)
                total.cuts += 1

        async with _door(place, island, replica):
            tally = await Run(place, plan, breaks=breaks).play()
    total.wrong += tally.wrong
    if tally.resets:
        total.wrong.append(f"{tally.resets} readers were told to begin anew")


@asynccontextmanager
async def _door(place: Cell, island: Island, replica: Actor) -> AsyncGenerator[None]:
    """Readers on the mainland know nothing of islands."""
    async with a_line(f"tcp://{island.home('rest')}:{port_of(replica)}") as line:
        place.doors[replica.name] = line.port
        yield


async def _cut_once(island: Island, link: Link, away_s: float) -> None:
    await island.cut(link)
    await asyncio.sleep(away_s)
    await island.heal(link)
