"""`just exactly-once`: commands while servers and agents die, interrupts, and what `execute` costs.

Writes benchmarks/tools.md and its share of benchmarks/tools.json.
"""

import argparse
import asyncio
import os
import statistics
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.tools_page import write_tools
from holdfast_lab.chaos.hands.campaign import Campaign, agents, servers, trees
from holdfast_lab.chaos.hands.stopping import Stops
from holdfast_lab.chaos.hands.trials import Wall
from holdfast_lab.chaos.stage.theatre import theatre
from tests.support.database import migrated_template
from tests.support.hands import hands_on

WALLS: Mapping[str, tuple[Wall, ...]] = {
    "external": ("external",),
    "bubblewrap": ("bubblewrap",),
    "mix": ("external", "bubblewrap"),
}
WARM = 10


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
        campaign = await servers(stage, given.trials, print, given.scenes, walls)
        struck = await agents(stage, given.agents, print, given.scenes, walls)
        campaign.verdicts += struck.verdicts
        stops = await trees(stage, given.interrupts, given.scenes, walls)
    figures = figures_of(campaign, stops, await cost(given.rounds)) | {"wall": given.wall}
    print(figures)
    if not given.dry:
        write_tools("exactly_once", figures)


if __name__ == "__main__":
    asyncio.run(main())
