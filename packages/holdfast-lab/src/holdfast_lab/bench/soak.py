"""A long run, in which nothing may grow: memory, tasks, files, connections, what the bus keeps."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from holdfast.adapters.postgres.pool import Pool, PoolOptions, open_pool
from holdfast_lab.bench import svg
from holdfast_lab.bench.bus_bare import count_keys
from holdfast_lab.bench.cell import bus_prefix
from holdfast_lab.bench.page import document, plots
from holdfast_lab.bench.processes import open_files, own_bytes
from holdfast_lab.bench.queries import load_query
from holdfast_lab.bench.running import LoadRun
from holdfast_lab.bench.scrape import scrape, summed
from holdfast_lab.bench.slopes import SPAN_MIN_S, Slope, slope_of
from holdfast_lab.bench.told import Told
from holdfast_lab.bench.visits import VisitRun
from holdfast_lab.bench.watch import Sources
from holdfast_lab.bench.whole import Asked

WARM_UP_SHARE: Final = 1 / 3
"""Of the run: pools fill, and the live log is kept for up to 20 minutes. More, until what is
remembered has reached its bound."""
FULL: Final = 0.98
ONE_MORE: Final = 1.9
"""By which the line of something rises that steps up by one: a connection, say, that is kept from
when two were needed at once. Less is no growth."""
LOOKS_EVERY_S: Final = 0.5
UNITS: Final = {"memory": "MiB", "tasks": "tasks", "files": "files"}
MIB: Final = 2**20


@dataclass(frozen=True, slots=True)
class Moment:
    at_s: float
    values: Mapping[str, float]
    remembered: Mapping[str, float] = field(default_factory=dict[str, float])
    """What memory is spent on by design, up to a bound."""


@dataclass(slots=True)
class Soak:
    minutes: float
    run: VisitRun
    setup: Mapping[str, str | int]
    moments: list[Moment] = field(default_factory=list[Moment])

    def series(self) -> dict[str, list[svg.Point]]:
        names = self.moments[0].values if self.moments else ()
        began_s = self.moments[0].at_s if self.moments else 0.0
        return {
            name: [(each.at_s - began_s, each.values[name]) for each in self.moments]
            for name in names
        }

    @property
    def warm_s(self) -> float:
        return self.minutes * 60 * WARM_UP_SHARE

    def full_s(self) -> float:
        """When what is remembered stood at what it came to; 0: nothing is."""
        began_s = self.moments[0].at_s if self.moments else 0.0
        full_s = 0.0
        for name in self.moments[0].remembered if self.moments else ():
            most = max(each.remembered[name] for each in self.moments)
            full = next(each for each in self.moments if each.remembered[name] >= FULL * most)
            full_s = max(full_s, full.at_s - began_s)
        return full_s

    def slopes(self) -> dict[str, Slope]:
        """After the warm-up; of memory, after what is remembered is full."""
        slopes: dict[str, Slope] = {}
        for name, points in self.series().items():
            memory = name.endswith("memory")
            from_s = max(self.warm_s, self.full_s()) if memory else self.warm_s
            after = [point for point in points if point[0] >= from_s]
            slopes[name] = slope_of(after, 0.0 if memory else ONE_MORE)
        return slopes

    @property
    def right(self) -> bool:
        outcome = self.run.outcome
        return not outcome.wrong and outcome.histories == self.run.load.chats

    def growing(self) -> list[str]:
        """Memory that cannot be judged, in a run that is long enough for it, is still being filled
        by what is remembered: that may never end, so it counts."""
        long_enough = self.minutes * 60 - self.warm_s >= SPAN_MIN_S
        return [
            name
            for name, slope in self.slopes().items()
            if slope.grows or (slope.grows is None and long_enough)
        ]


class Scales:
    """Weighs the processes of a cell, and what they hold elsewhere."""

    def __init__(self, sources: Sources, bus_url: str, pool: Pool) -> None:
        self._sources = sources
        self._bus_url = bus_url
        self._pool = pool
        pids = [(part, pid) for part in ("server", "worker") for pid in sources.pids.get(part, ())]
        self._processes = list(zip(pids, sources.metrics_urls, strict=True))

    async def weigh(self) -> Moment:
        values: Counter[str] = Counter()
        remembered: Counter[str] = Counter()
        weights: dict[str, float] = {}
        for (part, pid), url in self._processes:
            counted = await scrape([url])
            weights[f"{part} memory"] = own_bytes(pid) / MIB
            weights[f"{part} tasks"] = summed(counted, "holdfast_tasks")
            weights[f"{part} files"] = open_files(pid)
            for name in ("stream_readers", "stream_chats_followed", "bus_chats_watched"):
                values[name.replace("_", " ")] += int(summed(counted, f"holdfast_{name}"))
            for name in ("chats", "histories_bytes"):
                remembered[name] += int(summed(counted, f"holdfast_remembered_{name}"))
        row = await self._pool.fetchrow(load_query("connections").text)
        assert row is not None, "a count is always one row"
        held = {"database connections": row["open"], "bus entries": await self._entries()}
        return Moment(time.perf_counter(), {**weights, **held, **values}, remembered)

    async def _entries(self) -> int:
        if self._bus_url:
            return await count_keys(self._bus_url, bus_prefix())
        return await self._pool.fetchval(load_query("live_parts").text)

    async def driven(self) -> float:
        return summed(await scrape(self._sources.metrics_urls), "holdfast_worker_chats_driven")


async def measure_soak(
    asked: Asked,
    stage: Callable[[str], None],
    *,
    minutes: float,
    per_minute: float,
    sample_s: float,
    bus_url: str,
) -> Told:
    run = VisitRun(asked.load, asked.target, per_minute)
    soak = Soak(minutes, run, asked.setup)
    async with scales(asked.sources, bus_url) as weighing:

        async def go(_: LoadRun) -> None:
            async with asyncio.TaskGroup() as tasks:
                sampling = tasks.create_task(_sample(soak, weighing, sample_s, stage))
                await run.receive()
                sampling.cancel()
            stage("the last turns of those who vanished")
            await _still(weighing, asked.target.patience_s)
            stage("reading every history again")
            await run.check_histories()

        await run.run(go)
    return told(soak)


@asynccontextmanager
async def scales(sources: Sources, bus_url: str) -> AsyncGenerator[Scales]:
    options = PoolOptions(connections_min=1, connections_max=1)
    async with open_pool(sources.database_url, options) as pool:
        yield Scales(sources, bus_url, pool)


async def _sample(
    soak: Soak, weighing: Scales, sample_s: float, stage: Callable[[str], None]
) -> None:
    while True:
        soak.moments.append(await weighing.weigh())
        run = soak.run
        stage(f"{run.came:,} of {run.load.chats:,} have come, {run.vanished:,} have vanished")
        await asyncio.sleep(sample_s)


async def _still(weighing: Scales, patience_s: float) -> None:
    """Until nothing is driven; what is driven even then shows in its history."""
    loop = asyncio.get_running_loop()
    ends_s = loop.time() + patience_s
    await asyncio.sleep(LOOKS_EVERY_S)
    while await weighing.driven() and loop.time() < ends_s:  # noqa: ASYNC110
        await asyncio.sleep(LOOKS_EVERY_S)


def told(soak: Soak) -> Told:
    lines, growing = list(_lines(soak)), soak.growing()
    passed = soak.right and not growing
    outcome, run = soak.run.outcome, soak.run
    figures: dict[str, Any] = {
        "passed": passed,
        "setup": dict(soak.setup),
        "minutes": soak.minutes,
        "chats": run.came,
        "vanished": run.vanished,
        "turns": run.load.all_turns,
        "histories_checked": outcome.histories,
        "wrong": outcome.wrong,
        "growing": growing,
        "full_after_s": round(soak.full_s()),
        "slopes": {name: _figures(slope) for name, slope in soak.slopes().items()},
        "series": soak.series(),
    }
    title = f"{soak.minutes:g} minutes, {run.came:,} chats, {run.vanished:,} readers vanished"
    drawn = plots(_plots(soak.series()))
    page = document(title, soak.setup, "\n".join(lines), drawn, passed=passed)
    return Told(passed=passed, figures=figures, lines=lines, page=page)


def _figures(slope: Slope) -> dict[str, Any]:
    return {
        "level": round(slope.level, 2),
        "per_hour": round(slope.per_hour, 3),
        "unsure_per_hour": round(slope.unsure_per_hour, 3),
        "samples": slope.samples,
        "grows": slope.grows,
    }


def _lines(soak: Soak) -> Iterator[str]:
    run, outcome = soak.run, soak.run.outcome
    yield (
        f"{run.came:,} chats in {soak.minutes:g} minutes, {run.load.all_turns:,} turns;"
        f" {run.vanished:,} readers vanished in the middle of an answer"
    )
    yield "After the warm-up: level, change in an hour, and how sure that is"
    if soak.full_s() > soak.warm_s:
        yield f"What is remembered was full after {soak.full_s() / 60:.0f} min; memory from then on"
    growing = soak.growing()
    for name, slope in soak.slopes().items():
        said = {None: "too short to say", True: "GROWS", False: "flat"}[slope.grows]
        if slope.grows is None and name in growing:
            said = "STILL FILLING: ask for more minutes, or more chats in each"
        yield (
            f"  {name:<22} {slope.level:>10,.1f} {slope.per_hour:>+10,.2f}"
            f" ± {slope.unsure_per_hour:<10,.2f} {said}"
        )
    if soak.right:
        yield (
            f"Every connected reader received every answer complete, and all {outcome.histories:,}"
            f" histories are right, those of disconnected readers included."
        )
    for chat_id, reason in outcome.wrong.items():
        yield f"FAILED: chat {chat_id}: {reason}"


def _plots(series: Mapping[str, Sequence[svg.Point]]) -> Iterator[str]:
    for name, points in series.items():
        yield svg.lines(name.capitalize(), {name: points}, UNITS.get(name.split()[-1], "in all"))
