"""`python -m benchmarks.fleet --before COMMIT`: the CPU of a turn, then and now.

Both trees run the same small `holdfast lab bench`, in turns, so that whatever else the machine does
meets both alike. Counted is what a turn costs an operator: the server, the worker and PostgreSQL.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

import orjson

from holdfast_lab.bench.growth import OURS

ROOT: Final = Path(__file__).parent.parent
ROUNDS: Final = 7
BENCH: Final = ("--chats", "40", "--turns", "10", "--baseline", "0")


def compare(commit: str) -> dict[str, float | int | str]:
    """Milliseconds of CPU for a turn, of that commit and of this tree, and their ratio."""
    then_ms, now_ms = list[float](), list[float]()
    with tempfile.TemporaryDirectory(prefix="holdfast-before-") as name:
        folder = Path(name)
        with tree_of(commit, folder / "tree") as command:
            ours = (sys.executable, "-m", "holdfast")
            for number in range(ROUNDS):
                trees = [(command, then_ms), (ours, now_ms)]
                for tree, found in trees if number % 2 else reversed(trees):
                    found.append(_cpu_ms(tree, folder / "bench.json"))
                print(f"CPU of a turn: then {then_ms[-1]:.2f} ms, now {now_ms[-1]:.2f} ms")
    return {
        "before_commit": commit,
        "cpu_ms_before": round(median(then_ms), 2),
        "cpu_ms_now": round(median(now_ms), 2),
        "cpu_ratio_to_before": round(median(now_ms) / median(then_ms), 3),
    }


def cpu_ms_of(figures: Mapping[str, Any]) -> float:
    assert figures["passed"], "the run lost or doubled something: what it costs says nothing"
    by_part = figures["cpu_ms_per_turn"]
    return sum(by_part[part] for part in OURS if part in by_part)


def _cpu_ms(command: Sequence[str], file: Path) -> float:
    subprocess.run(
        [*command, *named_now(command, "lab", "bench"), *BENCH, "--json", str(file)],
        check=True,
        cwd=file.parent,
        stdout=subprocess.DEVNULL,
        env=environment(),
    )
    return cpu_ms_of(orjson.loads(file.read_bytes()))


def named_now(command: Sequence[str], group: str, name: str) -> tuple[str, ...]:
    """A command of today's groups, as the tree calls it: an older tree has no such group."""
    known = subprocess.run(
        [*command, group, "--help"], check=False, capture_output=True, env=environment()
    )
    return (group, name) if known.returncode == 0 else (name,)


@contextmanager
def tree_of(commit: str, folder: Path) -> Generator[tuple[str, ...]]:
    """A tree of that commit with an environment of its own; the command that runs it."""
    _git("worktree", "add", "--detach", str(folder), commit)
    try:
        sync = ["uv", "sync", "--locked", "--quiet", "--compile-bytecode"]
        subprocess.run(sync, check=True, cwd=folder, env=environment())
        yield (str(folder / ".venv" / "bin" / "holdfast"),)
    finally:
        _git("worktree", "remove", "--force", str(folder))


def environment() -> dict[str, str]:
    """Without what points at the environment of this tree."""
    ours = ("VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if name not in ours}


def _git(*words: str) -> None:
    subprocess.run(["git", *words], check=True, cwd=ROOT, capture_output=True)
