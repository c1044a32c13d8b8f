"""`just exactly-once`: commands while servers and agents die, interrupts, and what `execute` costs.

Writes benchmarks/tools.md and its share of benchmarks/tools.json.
"""

import argparse
import asyncio
import os
import statistics
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.report import stamp, write_json, write_page
from holdfast.prove.hands.campaign import Campaign, agents, servers, trees
from holdfast.prove.hands.stopping import Stops
from holdfast.prove.stage.theatre import theatre
from tests.support.database import migrated_template
from tests.support.hands import hands_on

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


def write(campaign: Campaign, stops: Stops, costs: Cost) -> None:
    servers = campaign.struck("kill", "term")
    violations = [v for v in servers if v.wrong]
    wrong = campaign.wrong() + stops.wrong
    figures = {
        "exactly_once_trials": len(servers),
        "exactly_once_violations": len(violations),
        "agent_kills": len(campaign.struck("agent")),
        "agent_kill_violations": sum(bool(v.wrong) for v in campaign.struck("agent")),
        "interrupts": len(stops.times_s),
        "survivors_after_interrupt": stops.survivors,
        "execute_added_ms": round(costs.added_ms, 2),
    }
    write_json("tools", figures)
    where = Counter(v.name for v in servers)
    page = Path(__file__).with_name("tools.template.md").read_text(encoding="utf-8")
    write_page(
        "tools",
        page.format(
            stamp=stamp(),
            cores=os.cpu_count(),
            load=os.getloadavg()[0],
            kills=len(campaign.struck("kill")),
            kills_wrong=sum(bool(v.wrong) for v in campaign.struck("kill")),
            terms=len(campaign.struck("term")),
            terms_wrong=sum(bool(v.wrong) for v in campaign.struck("term")),
            agents=len(campaign.struck("agent")),
            agents_wrong=sum(bool(v.wrong) for v in campaign.struck("agent")),
            unknown=sum(v.unknown for v in campaign.struck("agent")),
            where=", ".join(f"{name} ({number})" for name, number in where.most_common()),
            interrupts=len(stops.times_s),
            survivors=stops.survivors,
            median=statistics.median(stops.times_s or [0.0]),
            longest=max(stops.times_s, default=0.0),
            bare=statistics.median(costs.bare),
            ours=statistics.median(costs.ours),
            added=costs.added_ms,
            rounds=len(costs.ours),
            wrong="\n".join(f"- {each}" for each in wrong) or "None.",
        ),
    )
    print(figures)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--agents", type=int, default=20)
    parser.add_argument("--interrupts", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--scenes", type=int, default=6)
    given = parser.parse_args()
    async with theatre() as stage:
        campaign = await servers(stage, given.trials, print, given.scenes)
        campaign.verdicts += (await agents(stage, given.agents, print, given.scenes)).verdicts
        stops = await trees(stage, given.interrupts, given.scenes)
    write(campaign, stops, await cost(given.rounds))


if __name__ == "__main__":
    asyncio.run(main())
