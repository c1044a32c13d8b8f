"""What opening beneath the workspace costs beside a plain open, and how often a race gets out.

Written into benchmarks/tools.json. All in one run on one machine, rounds interleaved: only ratios
mean anything elsewhere.
"""

import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from benchmarks.tools_page import write_tools
from holdfast_agent.files.beneath import INSIDE
from holdfast_agent.files.beneath import Place as Spot
from holdfast_agent.files.kernel import openat2
from tests.support.agent_files import Place, by_check, by_kernel, leaks, place_in

if TYPE_CHECKING:
    from collections.abc import Callable

PATH: Final = "a/b/c/file.txt"
ROUNDS: Final = 21


def main(tries: int = 40_000, opens: int = 2_000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        figures = {**cost(place_in(Path(folder)), opens), "race_tries": tries}
    for name, read in (("openat2", by_kernel), ("realpath_then_open", by_check)):
        with tempfile.TemporaryDirectory() as folder:
            leaked, _ = leaks(place_in(Path(folder)), read, tries=tries, enough=tries)
        figures[f"leaks_{name}"] = leaked
    write_tools("files", {f"files_{name}": figure for name, figure in figures.items()})
    print(figures)


def cost(place: Place, opens: int) -> dict[str, float | int]:
    """Microseconds of CPU per open and close, the median of the rounds."""
    place.write(PATH, "content")
    root = os.open(place.root, os.O_PATH)
    plain, encoded, spot = str(place.root / PATH), PATH.encode(), Spot(PATH)

    def checked() -> None:
        assert os.path.realpath(plain).startswith(str(place.root))
        os.close(os.open(plain, os.O_RDONLY))

    def served() -> None:
        with place.beneath.file(spot):
            pass

    ways: dict[str, Callable[[], None]] = {
        "open": lambda: os.close(os.open(plain, os.O_RDONLY)),
        "openat2": lambda: os.close(openat2(root, encoded, os.O_RDONLY, INSIDE)),
        "realpath_then_open": checked,
        "served": served,
    }
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            begin = time.process_time()
            for _ in range(opens):
                way()
            took[name].append((time.process_time() - begin) / opens * 1e6)
    os.close(root)
    medians = {name: statistics.median(each) for name, each in took.items()}
    figures: dict[str, float | int] = {f"{name}_us": round(us, 2) for name, us in medians.items()}
    for name in ("openat2", "realpath_then_open", "served"):
        figures[f"{name}_per_open"] = round(medians[name] / medians["open"], 2)
    return figures


if __name__ == "__main__":
    typer.run(main)
