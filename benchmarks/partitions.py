"""`just bench-partitions COMMIT`: what hash partitions add to the CPU of a turn.

Three trees take turns with the same `holdfast lab bench`: that commit, this tree, and this tree
with its three large tables in one piece. Counted is what a turn costs an operator: server, worker
and PostgreSQL. Two things are taken out of a noisy machine's figures:

- The start of processes and the first statement of each connection: a tree runs a small and a
  large cell, and only the difference counts.
- The speed of the CPU at that moment: the simulator and the load generator do the same work in
  every tree, so a tree's cost is stated as a multiple of theirs in the same two runs.

The trees of a round run within three minutes of one another, so each round has a ratio of its own;
the result is their median. Writes `partition_*` and `contract_cpu_ratio` into
benchmarks/contract.json.
"""

import argparse
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Final

import orjson

from benchmarks.before import environment, named_now, tree_of
from benchmarks.report import write_json
from holdfast_lab.bench.growth import OURS

CELLS: Final = (60, 300)
"""Chats of the small and of the large cell, with `TURNS` turns each."""
TURNS: Final = 10
SAME_WORK: Final = ("simulator", "load generator")
BASE: Final = Path("packages/holdfast/src/holdfast/adapters/postgres/migrations/0001-base.sql")


@contextmanager
def tree_in_one_piece(folder: Path) -> Generator[tuple[str, ...]]:
    """This commit, without partitions."""
    with tree_of("HEAD", folder) as command:
        file = folder / BASE
        text = file.read_text().replace(") partition by hash (chat_id);", ");")
        loop = text.index("do $$\ndeclare\n    grows")
        end = text.index("$$;", loop + len("do $$")) + len("$$;")
        file.write_text(text[:loop] + text[end:])
        yield command


def cost(command: Sequence[str], file: Path) -> float:
    """What a further turn costs, as a multiple of the simulator's and the load generator's part."""
    small, large = (_cpu_ms(command, chats, file) for chats in CELLS)
    more = {part: large[part] - small[part] for part in large}
    return sum(more.get(part, 0.0) for part in OURS) / sum(more[part] for part in SAME_WORK)


def _cpu_ms(command: Sequence[str], chats: int, file: Path) -> dict[str, float]:
    cell = ("--chats", str(chats), "--turns", str(TURNS), "--baseline", "0", "--json", str(file))
    subprocess.run(
        [*command, *named_now(command, "lab", "bench"), *cell],
        check=True,
        cwd=file.parent,
        stdout=subprocess.DEVNULL,
        env=environment(),
    )
    figures = orjson.loads(file.read_bytes())
    assert figures["passed"], "the run lost or doubled something: what it costs says nothing"
    by_part: dict[str, float] = figures["cpu_ms_per_turn"]
    return {part: ms * chats * TURNS for part, ms in by_part.items()}


def ratios(these: Sequence[float], those: Sequence[float]) -> list[float]:
    """Of each round."""
    return [round(this / that, 3) for this, that in zip(these, those, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", required=True, metavar="COMMIT")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-partitions-") as name, ExitStack() as trees:
        folder = Path(name)
        commands = {
            "before": trees.enter_context(tree_of(given.before, folder / "before")),
            "now": trees.enter_context(tree_of("HEAD", folder / "now")),
            "plain": trees.enter_context(tree_in_one_piece(folder / "plain")),
        }
        costs = {tree: list[float]() for tree in commands}
        for number in range(given.rounds):
            for tree in sorted(commands, reverse=number % 2 == 1):
                costs[tree].append(cost(commands[tree], folder / "bench.json"))
            print({tree: round(found[-1], 3) for tree, found in costs.items()}, flush=True)
    partitions = ratios(costs["now"], costs["plain"])
    contract = ratios(costs["now"], costs["before"])
    figures = {
        "partition_cpu_ratio": median(partitions),
        "partition_cpu_ratio_min": min(partitions),
        "partition_cpu_ratio_max": max(partitions),
        "contract_cpu_ratio": median(contract),
        "contract_cpu_ratio_min": min(contract),
        "contract_cpu_ratio_max": max(contract),
        "partition_rounds": given.rounds,
        "partition_before_commit": given.before,
    }
    print(figures)
    write_json("contract", figures)


if __name__ == "__main__":
    main()
