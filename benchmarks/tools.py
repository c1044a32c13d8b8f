"""`just exactly-once`: commands while servers and agents die, interrupts, and what `execute` costs.

Writes benchmarks/tools.md and its share of benchmarks/tools.json.
"""

import argparse
import asyncio
import itertools
import os
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.tools_page import write_tools
from tests.fault.hands import Blow, Verdict, Wall, place, play
from tests.fault.stopping import TREES, Stops, interrupt_tree
from tests.fault.theatre import Theatre, theatre
from tests.support.database import migrated_template
from tests.support.hands import hands_on

BOUNDARIES = 44
"""About as many as a turn with one command has; a number beyond its end strikes nobody."""
STEPS_S = (0.05, 1.0)
"""Commands that have ended when their server's successor comes, and such that still run."""
WALLS: Mapping[str, tuple[Wall, ...]] = {
    "external": ("external",),
    "bubblewrap": ("bubblewrap",),
    "mix": ("external", "bubblewrap"),
}
WARM = 10
BLOWS: list[Blow] = ["kill", "kill", "kill", "term"]


@dataclass
class Campaign:
    verdicts: list[Verdict] = field(default_factory=list[Verdict])

    def struck(self, *blows: Blow) -> list[Verdict]:
        return [v for v in self.verdicts if v.name != "never reached" and v.blow in blows]

    def wrong(self) -> list[str]:
        return [f"{v.blow} at {v.name}: {each}" for v in self.verdicts for each in v.wrong]


async def trials(
    stage: Theatre, wanted: int, agents: int, scenes: int, walls: Sequence[Wall]
) -> Campaign:
    """So many servers struck, so many agents, at boundaries spread evenly over the turn."""
    campaign = Campaign()
    turns = itertools.cycle(range(1, BOUNDARIES + 1))
    blows = itertools.cycle(BLOWS)

    async def perform(number: int) -> None:
        bus = "redis" if number % 2 else "postgres"
        async with place(stage, bus, wall=walls[number % len(walls)]) as scene:
            while len(campaign.struck("kill", "term")) < wanted:
                step_s = STEPS_S[len(campaign.verdicts) % 2]
                _tell(campaign, await play(scene, next(blows), next(turns), step_s=step_s))
            while len(campaign.struck("agent")) < agents:
                nth = 1 + len(campaign.verdicts) % 3
                _tell(campaign, await play(scene, "agent", nth, step_s=0.5, name="after agent"))

    async with asyncio.TaskGroup() as group:
        for number in range(scenes):
            group.create_task(perform(number))
    return campaign


def _tell(campaign: Campaign, verdict: Verdict) -> None:
    campaign.verdicts.append(verdict)
    for sentence in verdict.wrong:
        print(f"{verdict.blow} at {verdict.name}: {sentence}", flush=True)
    if len(campaign.verdicts) % 20 == 0:
        print(f"{len(campaign.verdicts)} trials, {len(campaign.wrong())} wrong", flush=True)


async def interrupts(stage: Theatre, wanted: int, scenes: int, walls: Sequence[Wall]) -> Stops:
    stops = Stops()
    trees = itertools.islice(itertools.cycle(TREES), wanted)

    async def perform(number: int) -> None:
        async with place(stage, "postgres", wall=walls[number % len(walls)]) as scene:
            scene.successor.tell(do="open")
            for tree in trees:
                await interrupt_tree(scene, tree, stops)

    async with asyncio.TaskGroup() as group:
        for number in range(scenes):
            group.create_task(perform(number))
    return stops


@dataclass
class Cost:
    """Milliseconds of `true`, in turns with each other in one run."""

    bare: list[float] = field(default_factory=list[float])
    ours: list[float] = field(default_factory=list[float])

    @property
    def added_ms(self) -> float:
        return statistics.median(self.ours) - statistics.median(self.bare)


async def cost(rounds: int) -> Cost:
    """`execute true` by the server's toolbox through an agent, beside a bare subprocess."""
    found = Cost()
    async with migrated_template() as template, hands_on(template) as at_work:
        for number in range(rounds + WARM):
            began_s = time.perf_counter()
            process = await asyncio.create_subprocess_exec("sh", "-c", "true")
            await process.wait()
            between_s = time.perf_counter()
            await at_work.says("execute", command="true")
            if number >= WARM:
                found.bare.append((between_s - began_s) * 1000)
                found.ours.append((time.perf_counter() - between_s) * 1000)
    return found


def figures_of(campaign: Campaign, stops: Stops, costs: Cost) -> dict[str, float | int | str]:
    servers = campaign.struck("kill", "term")
    agents = campaign.struck("agent")
    where = Counter(v.name for v in servers)
    wrong = campaign.wrong() + stops.wrong
    return {
        "exactly_once_trials": len(servers),
        "exactly_once_violations": sum(bool(v.wrong) for v in servers),
        **{f"server_{blow}s": len(campaign.struck(blow)) for blow in ("kill", "term")},
        **{
            f"server_{blow}_violations": sum(bool(v.wrong) for v in campaign.struck(blow))
            for blow in ("kill", "term")
        },
        "server_struck_at": ", ".join(f"{name} ({count})" for name, count in where.most_common()),
        "agent_kills": len(agents),
        "agent_kill_violations": sum(bool(v.wrong) for v in agents),
        "agent_kills_told_unknown": sum(v.unknown for v in agents),
        "interrupts": len(stops.times_s),
        "survivors_after_interrupt": stops.survivors,
        "interrupt_median_s": round(statistics.median(stops.times_s or [0.0]), 2),
        "interrupt_longest_s": round(max(stops.times_s, default=0.0), 2),
        "execute_bare_ms": round(statistics.median(costs.bare), 2),
        "execute_ms": round(statistics.median(costs.ours), 2),
        "execute_added_ms": round(costs.added_ms, 2),
        "execute_rounds": len(costs.ours),
        "load": round(os.getloadavg()[0], 1),
        "broken_promises": "\n".join(f"- {each}" for each in wrong) or "None.",
    }


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--agents", type=int, default=20)
    parser.add_argument("--interrupts", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--scenes", type=int, default=6)
    parser.add_argument("--wall", choices=WALLS, default="mix", help="around the commands")
    parser.add_argument("--dry", action="store_true", help="print, and write nothing")
    given = parser.parse_args()
    walls = WALLS[given.wall]
    async with theatre() as stage:
        campaign = await trials(stage, given.trials, given.agents, given.scenes, walls)
        stops = await interrupts(stage, given.interrupts, given.scenes, walls)
    figures = figures_of(campaign, stops, await cost(given.rounds)) | {"wall": given.wall}
    print(figures)
    if not given.dry:
        write_tools("exactly_once", figures)


if __name__ == "__main__":
    asyncio.run(main())
