"""What Holdfast adds to an answer: the time to its first part and from part to part, through a
server and without one, in turns, by the same client.

Nothing is timed before all speak, nor after the first has said its last: what is told is of so many
streams at once, no fewer.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from holdfast_lab.bench import svg
from holdfast_lab.bench.direct import DirectRun
from holdfast_lab.bench.load import Load
from holdfast_lab.bench.page import document, plots
from holdfast_lab.bench.running import LoadRun, Outcome
from holdfast_lab.bench.times import Times
from holdfast_lab.bench.told import Told
from holdfast_lab.bench.whole import Asked

GOALS_MS: Final = {"median": 5.0, "p99": 25.0}
SHARES: Final = {"median": "p50", "p99": "p99"}


@dataclass(slots=True)
class Side:
    """What was timed on one way."""

    first_part: Times = field(default_factory=Times)
    gap: Times = field(default_factory=Times)

    def add(self, outcome: Outcome) -> None:
        self.first_part.values.extend(outcome.first_part.values)
        self.gap.values.extend(outcome.gap.values)

    def summaries(self) -> dict[str, dict[str, float]]:
        return {"first_part": self.first_part.summary(), "gap": self.gap.summary()}


@dataclass(slots=True)
class Latency:
    load: Load
    through: Side = field(default_factory=Side)
    direct: Side = field(default_factory=Side)
    wrong: dict[str, str] = field(default_factory=dict[str, str])
    told_whole: int = 0
    turns: int = 0

    def added(self) -> dict[str, float]:
        """Ours less the simulator's, percentile by percentile."""
        ours, bare = self.through.summaries(), self.direct.summaries()
        return {
            f"added_{what}_{name}_ms": round(ours[what][share] - bare[what][share], 2)
            for what in ours
            for name, share in SHARES.items()
            if ours[what] and bare[what]
        }


async def measure_latency(asked: Asked, stage: Callable[[str], None], rounds: int) -> Told:
    """`asked.load` needs a rate, and two turns at least."""
    load = replace(asked.load, spread_s=asked.load.words / asked.load.rate)
    found = Latency(load)
    for number in range(1, rounds + 1):
        stage(f"round {number} of {rounds}: the simulator alone")
        await _direct(found, asked)
        stage(f"round {number} of {rounds}: through Holdfast")
        await _through(found, asked)
    return told(found, asked.setup)


async def _direct(found: Latency, asked: Asked) -> None:
    run = DirectRun(found.load, asked.simulator_url, asked.target.patience_s)
    try:
        await run.prepare()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_steady(run.outcome, found.load, found.direct))
            await run.go()
    finally:
        run.close()
    found.wrong |= run.outcome.wrong


async def _through(found: Latency, asked: Asked) -> None:
    run = LoadRun(found.load, asked.target)

    async def go(run: LoadRun) -> None:
        await run.prepare()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_steady(run.outcome, found.load, found.through))
            await run.go()
        await run.check_histories()

    await run.run(go)
    found.wrong |= run.outcome.wrong
    found.told_whole += run.outcome.told_whole
    found.turns += run.outcome.turns


async def _steady(outcome: Outcome, load: Load, side: Side) -> None:
    await asyncio.sleep(load.spread_s)
    outcome.first_part, outcome.gap = Times(), Times()
    await asyncio.sleep((load.turns - 1) * load.words / load.rate)
    side.add(outcome)


def told(found: Latency, setup: Mapping[str, str | int]) -> Told:
    lines = list(_lines(found))
    summaries = {"through": found.through.summaries(), "direct": found.direct.summaries()}
    figures: dict[str, Any] = {
        "passed": not found.wrong,
        "load": asdict(found.load),
        "setup": dict(setup),
        **found.added(),
        "turns": found.turns,
        "told_whole": found.told_whole,
        "wrong": found.wrong,
        "times_ms": summaries,
    }
    title = f"What Holdfast adds, at {found.load.chats:,} streams at once"
    drawn = plots(_plots(found))
    page = document(title, setup, "\n".join(lines), drawn, passed=not found.wrong)
    return Told(passed=not found.wrong, figures=figures, lines=lines, page=page)


def _lines(found: Latency) -> Iterator[str]:
    load = found.load
    yield f"{load.chats:,} streams at once, {load.rate:g} words/s each; p50 and p99, ms"
    ours, bare = found.through.summaries(), found.direct.summaries()
    for what in ours:
        for name, each in (("simulator alone", bare[what]), ("through Holdfast", ours[what])):
            if each:
                yield (
                    f"  {what.replace('_', ' '):<11} {name:<17} {each['p50']:>8.2f}"
                    f" {each['p99']:>8.2f}   of {each['count']:,}"
                )
    for name, value in found.added().items():
        goal = GOALS_MS["p99" if "p99" in name else "median"]
        said = "within" if value <= goal else "beyond"
        what = name.removesuffix("_ms").replace("_", " ")
        yield f"  {what:<25} {value:>8.2f} ms, {said} {goal:g}"
    if found.told_whole:
        yield f"{found.told_whole} answers were there before their first part was"
    if not found.wrong:
        yield "Every word of every answer came once and in order, on both ways."
    for name, reason in found.wrong.items():
        yield f"FAILED: {name}: {reason}"


def _plots(found: Latency) -> Iterator[str]:
    for name, side in (("simulator alone", found.direct), ("through Holdfast", found.through)):
        yield svg.histogram(f"To the first part, {name}", side.first_part.histogram(), "ms")
        yield svg.histogram(f"From part to part, {name}", side.gap.histogram(), "ms")
