"""Many commands, struck side by side; the sums that the reports print."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from holdfast_lab.chaos.attack import Found, Order, Say
from holdfast_lab.chaos.faults.tools.stopping import TREES, Stops, interrupt_tree
from holdfast_lab.chaos.faults.tools.trials import Blow, Place, Verdict, Wall, place, play
from holdfast_lab.chaos.harness.cluster import Theatre, theatre

BOUNDARIES = 44
"""About as many as a turn with one command has; a number beyond its end has no effect."""
STEPS_S = (0.05, 1.0)
"""Commands that have ended when their server's successor comes, and such that still run."""
BLOWS: list[Blow] = ["kill", "kill", "kill", "term"]
SCENES = 6
Walls = Sequence[Wall]
BARE: Walls = ("external",)


@dataclass
class Campaign:
    verdicts: list[Verdict] = field(default_factory=list[Verdict])

    def struck(self, *blows: Blow) -> list[Verdict]:
        return [v for v in self.verdicts if v.name != "never reached" and v.blow in blows]

    def wrong(self) -> list[str]:
        return [f"{v.blow} at {v.name}: {each}" for v in self.verdicts for each in v.wrong]

    def add(self, verdict: Verdict, say: Say) -> None:
        self.verdicts.append(verdict)
        for sentence in verdict.wrong:
            say(f"{verdict.blow} at {verdict.name}: {sentence}")
        if len(self.verdicts) % 20 == 0:
            say(f"{len(self.verdicts)} trials, {len(self.wrong())} wrong")


def found(campaign: Campaign, *blows: Blow) -> Found:
    struck = campaign.struck(*blows)
    return Found(len(struck), campaign.wrong(), {"unknown": sum(v.unknown for v in struck)})


async def strike_servers(order: Order) -> Campaign:
    async with theatre() as stage:
        return await servers(stage, order.count, order.say)


async def strike_agents(order: Order) -> Campaign:
    async with theatre() as stage:
        return await agents(stage, order.count, order.say)


async def stop_trees(order: Order) -> Stops:
    async with theatre() as stage:
        return await trees(stage, order.count)


async def servers(
    stage: Theatre, wanted: int, say: Say, scenes: int = SCENES, walls: Walls = BARE
) -> Campaign:
    """Until so many were struck, at boundaries spread evenly over the turn."""
    campaign = Campaign()
    # Seven boundaries at a time, so that a few trials lie far apart, too: 7 and 44 share no factor.
    turns = (1 + (number * 7) % BOUNDARIES for number in itertools.count())
    blows = itertools.cycle(BLOWS)

    async def perform(scene: Place) -> None:
        while len(campaign.struck("kill", "term")) < wanted:
            step_s = STEPS_S[len(campaign.verdicts) % 2]
            campaign.add(await play(scene, next(blows), next(turns), step_s=step_s), say)

    await _side_by_side(stage, min(scenes, wanted), walls, perform)
    return campaign


async def agents(
    stage: Theatre, wanted: int, say: Say, scenes: int = SCENES, walls: Walls = BARE
) -> Campaign:
    campaign = Campaign()

    async def perform(scene: Place) -> None:
        while len(campaign.struck("agent")) < wanted:
            nth = 1 + len(campaign.verdicts) % 3
            verdict = await play(scene, "agent", nth, step_s=0.5, name="after agent")
            campaign.add(verdict, say)

    await _side_by_side(stage, min(scenes, wanted), walls, perform)
    return campaign


async def trees(stage: Theatre, wanted: int, scenes: int = SCENES, walls: Walls = BARE) -> Stops:
    stops = Stops()
    kinds = itertools.islice(itertools.cycle(TREES), wanted)

    async def perform(scene: Place) -> None:
        scene.successor.tell(do="open")
        for tree in kinds:
            await interrupt_tree(scene, tree, stops)

    await _side_by_side(stage, min(scenes, wanted), walls, perform)
    return stops


async def _side_by_side(
    stage: Theatre, scenes: int, walls: Walls, perform: Callable[[Place], Awaitable[None]]
) -> None:
    async def one(number: int) -> None:
        bus = "redis" if number % 2 else "postgres"
        async with place(stage, bus, wall=walls[number % len(walls)]) as scene:
            await perform(scene)

    async with asyncio.TaskGroup() as group:
        for number in range(scenes):
            group.create_task(one(number))
