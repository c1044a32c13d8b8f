"""`just bench-gate FILE…`: what the gate costs, from the `timings.json` of several runs.

    uv run python -m benchmarks.gate --before BEFORE.json RUN.json… --busy RUN.json…

`--before`: the tree before this layout; left out, its figures stay as they are. `--busy`: runs with
a neighbour that kept both cores busy.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks.report import FOLDER, stamp, write_json, write_page

Run = dict[str, Any]
MINUTES_MAX: Final = 15
TEMPLATE: Final = FOLDER / "gate.template.md"


def read(files: Sequence[Path]) -> list[Run]:
    return [orjson.loads(file.read_bytes()) for file in files]


def figures(quiet: Sequence[Run], busy: Sequence[Run]) -> dict[str, float | int | str]:
    last = quiet[-1]
    flat: dict[str, float | int | str] = {
        "gate_s": sorted(run["seconds"] for run in quiet)[len(quiet) // 2],
        "gate_s_max_of_3": max(run["seconds"] for run in quiet[-3:]),
        "gate_runs": len(quiet),
        "gate_busy_runs": len(busy),
        "gate_busy_s_max": max((run["seconds"] for run in busy), default=0),
        "gate_red_runs": sum(not run["passed"] for run in (*quiet, *busy)),
        "tests": last["tests"]["passed"],
        "second_tries": sum(run["second_tries"] for run in (*quiet, *busy)),
        "stages": len(last["stages"]),
    }
    for stage in last["stages"]:
        flat[f"stage_{stage['stage']}_s"] = stage["seconds"]
        flat[f"stage_{stage['stage']}_cpu_s"] = stage["cpu_s"]
    return flat


def before_figures(before: Run) -> dict[str, float | int | str]:
    flat: dict[str, float | int | str] = {"before_s": before["seconds"]}
    for stage in before["stages"]:
        flat[f"before_{stage['stage']}_s"] = stage["seconds"]
        flat[f"before_{stage['stage']}_cpu_s"] = stage["cpu_s"]
    return flat


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    return "\n".join(
        f"| {' | '.join(str(cell) for cell in row)} |" for row in (head, ["---"] * len(head), *rows)
    )


def stage_rows(run: Run) -> str:
    return table(
        ("stage", "seconds", "CPU seconds", "tests"),
        [
            (each["stage"], f"{each['seconds']:.0f}", f"{each['cpu_s']:.0f}", each["tests"] or "")
            for each in run["stages"]
        ],
    )


def run_rows(quiet: Sequence[Run], busy: Sequence[Run]) -> str:
    rows = [
        (
            number,
            neighbour,
            run["commit"],
            run["seed"],
            f"{run['seconds']:.0f}",
            "passed" if run["passed"] else "**failed**",
            f"{run['tests']['passed']:,}",
            run["second_tries"],
        )
        for number, (neighbour, run) in enumerate(
            [*(("none", run) for run in quiet), *(("both cores busy", run) for run in busy)], 1
        )
    ]
    head = ("run", "neighbour", "commit", "seed", "seconds", "verdict", "tests", "second tries")
    return table(head, rows)


def summary(quiet: Sequence[Run], busy: Sequence[Run]) -> str:
    runs = (*quiet, *busy)
    slowest_s = max(run["seconds"] for run in quiet)
    verdict = "within" if slowest_s <= MINUTES_MAX * 60 else "above"
    return (
        f"{len(runs)} runs in a row: {sum(run['passed'] for run in runs)} passed, "
        f"{sum(run['second_tries'] for run in runs)} second tries. The slowest run without a "
        f"neighbour took {slowest_s:.0f} s, {verdict} the bound of {MINUTES_MAX * 60} s."
    )


def slowest_rows(run: Run) -> str:
    slow = sorted(run["files"], key=lambda row: -row["seconds"])[:20]
    return table(
        ("file", "stage", "seconds", "CPU seconds", "tests"),
        [
            (f"`{r['file']}`", r["stage"], f"{r['seconds']:.1f}", f"{r['cpu_s']:.1f}", r["tests"])
            for r in slow
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--before", type=Path, default=FOLDER / "gate-before.json")
    parser.add_argument("--busy", nargs="*", type=Path, default=[])
    options = parser.parse_args()
    before: Run = orjson.loads(options.before.read_bytes())
    quiet, busy = read(options.runs), read(options.busy)
    write_json("gate", {**before_figures(before), **figures(quiet, busy)})
    page = TEMPLATE.read_text().format(
        stamp=stamp(),
        minutes_max=MINUTES_MAX,
        runs=run_rows(quiet, busy),
        summary=summary(quiet, busy),
        before_s=f"{before['seconds']:.0f}",
        before_commit=before["commit"],
        before=stage_rows(before),
        after=stage_rows(quiet[-1]),
        slowest=slowest_rows(quiet[-1]),
    )
    write_page("gate", page)


if __name__ == "__main__":
    main()
