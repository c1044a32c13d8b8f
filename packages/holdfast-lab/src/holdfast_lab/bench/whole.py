"""A whole run: the load, watched; what is kept, read again; the bare engines."""

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from holdfast_lab.bench.baselines import Baselines, Engines, measure
from holdfast_lab.bench.figures import Result
from holdfast_lab.bench.load import Load
from holdfast_lab.bench.running import LoadRun, Target
from holdfast_lab.bench.watch import Sources, Watch, watching

IDLE_TURNS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    load: Load
    target: Target
    sources: Sources
    setup: Mapping[str, str | int]
    engines: Engines | None = None
    """None: nothing to compare with."""
    baseline_s: int = 5
    simulator_url: str = ""
    """Empty if the run did not start it."""
    folder: Path | None = None
    """For logs of what a mode starts beside it; None: elsewhere."""


@dataclass(frozen=True, slots=True)
class Telling:
    """Whom to tell how it goes."""

    stage: Callable[[str], None]
    begun: Callable[[LoadRun, Watch], None]


async def run_whole(asked: Asked, telling: Telling) -> Result:
    """Raises `CannotRun` if it could not begin; what went wrong later is in the result."""
    idle_ms = None
    if asked.load.storm:
        telling.stage("one chat alone")
        idle_ms = await _alone(asked)
    run = LoadRun(asked.load, asked.target)
    watches: list[Watch] = []

    async def go(run: LoadRun) -> None:
        telling.stage("beginning the chats")
        await run.prepare()
        async with watching(asked.sources, lambda: run.done) as watch:
            watches.append(watch)
            telling.begun(run, watch)
            gc.freeze()  # thousands of readers, all there until the end: no need to walk them
            await run.go(watch.lull)
        telling.stage("reading every history again")
        await run.check_histories()

    await run.run(go)
    baselines = Baselines()
    if asked.engines is not None:
        baselines = await measure(
            asked.engines, asked.load, run.outcome, asked.baseline_s, telling.stage
        )
    return Result(
        load=asked.load,
        outcome=run.outcome,
        watched=watches[0].watched,
        baselines=baselines,
        setup=asked.setup,
        idle_first_part_ms=idle_ms,
    )


async def _alone(asked: Asked) -> float | None:
    """The median time to the first part without other load."""
    load = replace(asked.load, chats=1, turns=IDLE_TURNS, storm=False)
    run = LoadRun(load, asked.target)

    async def go(run: LoadRun) -> None:
        await run.prepare()
        await run.go()

    await run.run(go)
    return run.outcome.first_part.summary().get("p50")
