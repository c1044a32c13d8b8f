"""`just bench-sandbox`: what the wall costs, beside the bare subprocess, in the same run.

Both run `true`, turn by turn, so that the machine's moods meet both alike. The self-attack is run
once more, as are all walls with a protection missing. Written into benchmarks/tools.json.
"""

import argparse
import asyncio
import resource
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.tools_page import write_tools
from holdfast_agent.sandbox.bubblewrap import Bubblewrap
from holdfast_lab.chaos.walls.breached import MUTANTS, attacked_through
from holdfast_lab.chaos.walls.wall import open_wall, run

WARM: Final = 5


async def bare() -> None:
    process = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", "true"),
        env={},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    await process.communicate()


@dataclass(frozen=True, slots=True)
class Cost:
    wall_ms: float
    """By the clock: on a busy machine it says more about the others."""
    cpu_ms: float
    """Of the processes that were started."""


async def timed(work: Callable[[], Awaitable[object]]) -> Cost:
    began, cpu_before = time.perf_counter(), _children_s()
    await work()
    return Cost((time.perf_counter() - began) * 1000, (_children_s() - cpu_before) * 1000)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


async def start_cost(wall: Bubblewrap, times: int) -> dict[str, float]:
    walled: list[Cost] = []
    plain: list[Cost] = []
    for number in range(times + WARM):
        plain.append(await timed(bare))
        walled.append(await timed(lambda number=number: run(wall, "true", f"k{number}")))
    plain, walled = plain[WARM:], walled[WARM:]
    bare_ms, wall_ms = (statistics.median(c.wall_ms for c in each) for each in (plain, walled))
    bare_cpu, wall_cpu = (statistics.fmean(c.cpu_ms for c in each) for each in (plain, walled))
    return {
        "sandbox_bare_ms": round(bare_ms, 2),
        "sandbox_ms": round(wall_ms, 2),
        "sandbox_added_ms": round(wall_ms - bare_ms, 2),
        "sandbox_added_ms_least": round(_least(walled) - _least(plain), 2),
        "sandbox_added_cpu_ms": round(wall_cpu - bare_cpu, 2),
        "sandbox_starts": times,
    }


def _least(costs: Sequence[Cost]) -> float:
    return min(cost.wall_ms for cost in costs)


async def figures(times: int) -> dict[str, float]:
    async with open_wall() as wall:
        made = await start_cost(wall, times)
        began = time.perf_counter()
        report = await wall.check()
        made["self_attack_ms"] = round((time.perf_counter() - began) * 1000)
        made["escapes_tried"] = report.attacks
        made["escapes_through"] = len(report.escapes)
        out = [set((await attacked_through(wall, each)).escapes) for each in MUTANTS.values()]
        made["sandbox_mutants"] = len(out)
        made["sandbox_mutants_caught"] = sum(bool(escapes) for escapes in out)
        made["escapes_seen_without_a_protection"] = len(set[str]().union(*out))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=100)
    given = parser.parse_args()
    made = asyncio.run(figures(given.times))
    write_tools("sandbox", made)
    print(made)


if __name__ == "__main__":
    main()
