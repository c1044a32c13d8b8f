"""Many trials at once, on both buses, from one seed; the sums that the reports print."""

import asyncio
import math
import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from types import MappingProxyType
from typing import Any

from holdfast_lab.chaos.attack import Say
from holdfast_lab.chaos.faults.workers.trials import Blow, BusKind, Scene, Verdict, play, scene
from holdfast_lab.chaos.harness.cluster import Theatre

BOUNDARIES = 60
"""About as many as a turn of the trial has; a number beyond its end has no effect."""


def _quietly(_said: str) -> None:
    pass


@dataclass
class Campaign:
    """What was struck, and what became of it."""

    verdicts: dict[Blow, list[Verdict]] = field(default_factory=dict[Blow, list[Verdict]])

    def add(self, blow: Blow, verdict: Verdict) -> None:
        self.verdicts.setdefault(blow, []).append(verdict)

    def struck(self, blow: Blow) -> int:
        return sum(v.name != "never reached" for v in self.verdicts.get(blow, []))

    def wrong(self) -> list[str]:
        return [
            f"{blow} at {v.boundary} ({v.name}): {sentence}"
            for blow, verdicts in self.verdicts.items()
            for v in verdicts
            for sentence in v.wrong
        ]

    def counted(self, said: str) -> int:
        return sum(said in sentence for sentence in self.wrong())

    def takeovers(self, blow: Blow) -> list[float]:
        times = [v.takeover_s for v in self.verdicts.get(blow, [])]
        return sorted(t for t in times if t is not None)

    def total(self, field_name: str) -> int:
        return sum(getattr(v, field_name) for vs in self.verdicts.values() for v in vs)


@dataclass(frozen=True)
class Task:
    blow: Blow
    boundary: int
    wake_at: int


def tasks_of(seed: int, **counts: int) -> list[Task]:
    """So many of each blow. The seed chooses the boundaries; none is struck again before every
    other one has been struck."""
    chance = random.Random(seed)
    blows: list[Blow] = ["kill", "freeze", "term"]
    boundaries = chance.sample(range(1, BOUNDARIES + 1), BOUNDARIES)
    tasks = [
        Task(blow, boundaries[number % BOUNDARIES], chance.randrange(1, BOUNDARIES // 2))
        for blow in blows
        for number in range(counts.get(blow, 0))
    ]
    chance.shuffle(tasks)
    return tasks


async def run(
    stage: Theatre,
    tasks: list[Task],
    scenes: int,
    *,
    within_s: float = math.inf,
    say: Say = _quietly,
    mutant: str | None = None,
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> Campaign:
    """All tasks, or as many as there is time for, on so many scenes side by side, half of them on
    each bus."""
    ends_s = time.monotonic() + within_s
    campaign = Campaign()
    queue = takewhile(lambda _: time.monotonic() < ends_s, iter(tasks))

    async def perform(bus: BusKind) -> None:
        async with scene(stage, bus, mutant, **settings) as place:
            await _all(place, queue, campaign, say)

    async with asyncio.TaskGroup() as group:
        for number in range(scenes):
            group.create_task(perform("redis" if number % 2 else "postgres"))
    return campaign


async def _all(place: Scene, queue: Iterator[Task], campaign: Campaign, say: Say) -> None:
    for task in queue:
        verdict = await play(place, task.blow, task.boundary, wake_at=task.wake_at)
        campaign.add(task.blow, verdict)
        for sentence in verdict.wrong:
            say(f"{task.blow} at {verdict.boundary} ({verdict.name}): {sentence}")
        done = sum(map(len, campaign.verdicts.values()))
        if done % 50 == 0:
            say(f"{done} trials, {len(campaign.wrong())} broken promises")
