"""`just kill-1000`: workers killed, frozen and asked to leave at every boundary, and interrupts.

Writes benchmarks/faults.md and its share of benchmarks/faults.json.
"""

import argparse
import asyncio
import math
import re
import subprocess
import sys
from pathlib import Path

from benchmarks.report import stamp, write_json, write_page
from holdfast_lab.chaos.stage.theatre import theatre
from holdfast_lab.chaos.turns.campaign import Campaign, run, tasks_of
from holdfast_lab.chaos.turns.interrupts import Sweep, sweep
from holdfast_lab.chaos.turns.trials import Blow

MUTANT_TESTS = [
    "tests/fault/test_prove.py",
    "tests/unit/turn/test_crash.py",
    "tests/unit/worker/test_mutants.py",
    "tests/integration/worker/test_worker.py",
    "tests/integration/stream/test_mutants.py",
]


def tell(said: str) -> None:
    print(said, flush=True)


def count_mutants() -> tuple[int, int]:
    """How many there are, and how many a test was seen to catch just now."""
    wanted = "mutant or removed or memory_only"
    base = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-k", wanted, *MUTANT_TESTS]
    done = subprocess.run(base, capture_output=True, text=True, check=False)
    numbers = {kind: int(n) for n, kind in re.findall(r"(\d+) (passed|failed)", done.stdout)}
    passed, failed = numbers.get("passed", 0), numbers.get("failed", 0)
    return passed + failed, passed


def at(times: list[float], share: float) -> float:
    return times[min(len(times) - 1, int(len(times) * share))] if times else 0.0


ROW = "| {name} | {struck} | {p50:.2f} | {p99:.2f} | {max:.2f} | {limit} |\n"


def row(campaign: Campaign, blow: Blow, name: str, limit: str) -> str:
    times = campaign.takeovers(blow)
    return ROW.format(
        name=name,
        struck=campaign.struck(blow),
        p50=at(times, 0.5),
        p99=at(times, 0.99),
        max=max(times, default=0.0),
        limit=limit,
    )


def write(campaign: Campaign, swept: Sweep, mutants: tuple[int, int], seed: int) -> None:
    wrong = campaign.wrong() + swept.wrong
    rows = (
        row(campaign, "kill", "SIGKILL", "12")
        + row(campaign, "freeze", "SIGSTOP, woken in the successor's turn", "(the lease: 10)")
        + row(campaign, "term", "SIGTERM", "1")
    )
    figures = {
        "seed": seed,
        "kills": campaign.struck("kill"),
        "zombies": campaign.struck("freeze"),
        "handovers": campaign.struck("term"),
        "lost": campaign.counted("history is") + campaign.counted("of 2 messages"),
        "doubled": campaign.counted("twice"),
        "reordered": campaign.counted(" after ") - campaign.counted("stuck after"),
        "stuck": campaign.counted("stuck"),
        "violations": len(wrong),
        "zombie_writes": campaign.total("zombie_commits"),
        "once_effects_repeated": campaign.total("once_repeated"),
        "unknown_outcomes": campaign.total("unknown_outcomes"),
        "takeover_max_s_sigkill": round(max(campaign.takeovers("kill"), default=0.0), 2),
        "takeover_max_s_sigterm": round(max(campaign.takeovers("term"), default=0.0), 2),
        "interrupts": swept.chats,
        "interrupt_bytes_shown": swept.bytes_shown,
        "interrupt_bytes_lost": swept.bytes_lost,
        "mutants_total": mutants[0],
        "mutants_killed": mutants[1],
    }
    write_json("faults", figures)
    sums = "".join(f"| {name} | {value} |\n" for name, value in figures.items())
    verdicts = "\n".join(f"- {sentence}" for sentence in wrong) or "None."
    page = Path(__file__).with_name("faults.template.md").read_text(encoding="utf-8")
    write_page(
        "faults", page.format(stamp=stamp(), seed=seed, rows=rows, sums=sums, verdicts=verdicts)
    )
    print(rows, sums, verdicts, sep="\n")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    # Some boundaries lie beyond the end of their turn and strike nobody: a few more than 1,000.
    parser.add_argument("--kills", type=int, default=1060)
    parser.add_argument("--zombies", type=int, default=1060)
    parser.add_argument("--handovers", type=int, default=210)
    parser.add_argument("--sweeps", type=int, default=4)
    parser.add_argument("--scenes", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    tasks = tasks_of(given.seed, kill=given.kills, freeze=given.zombies, term=given.handovers)
    async with theatre() as stage:
        campaign = await run(stage, tasks, given.scenes, within_s=given.minutes * 60, say=tell)
    swept = await sweep(given.sweeps, tell)
    write(campaign, swept, count_mutants(), given.seed)


if __name__ == "__main__":
    asyncio.run(main())
