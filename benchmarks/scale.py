"""`just bench-scale`: what one machine does, by `holdfast lab bench` itself, part by part.

Each part writes its share of benchmarks/scale.json as soon as it is measured, and the page anew;
`--only PART` measures one, and what the others wrote stays. Plots go to benchmarks/scale/.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from benchmarks.report import FOLDER, commit, write_json, write_page

PAGES = FOLDER / "scale"
Figures = dict[str, float | int | str]


@dataclass(frozen=True)
class Part:
    arguments: Sequence[str]
    figures: Callable[[Mapping[str, Any]], Figures]
    asked_for: bool = False
    """Only where it is named: it takes an hour."""


def turns(found: Mapping[str, Any]) -> Figures:
    used = found["cpu_ms_per_turn"]
    return {
        "chats": found["load"]["chats"],
        "turns": found["turns"],
        "seconds": found["seconds"],
        "turns_per_s": found["turns_per_s"],
        "ratio_to_pgbench": found["ratios"]["turns_to_pgbench"],
        "pgbench_turns_per_s": round(found["baselines"]["pgbench_turns_per_s"], 1),
        "cpu_ms_per_turn": used["all"],
        "cpu_ms_worker": 0.0,  # unless there is one
        **{f"cpu_ms_{part.replace(' ', '_')}": ms for part, ms in used.items() if part != "all"},
        "statements_per_turn": found["statements_per_turn"],
        "bus_operations_per_turn": found["bus_operations_per_turn"],
        "lost": found["lost"],
        "doubled": found["doubled"],
        "errors": found["wrong_chats"],
    }


def storm(found: Mapping[str, Any]) -> Figures:
    return {
        "storm_chats": found["load"]["chats"],
        "storm_reads_per_turn": found["follow_up_stream_reads_per_turn"],
        "storm_connections_max": found["connections_max"],
        "storm_connections_busy_max": found["connections_busy_max"],
        "storm_p99_to_idle": found["storm_p99_to_idle"],
        "storm_errors": found["wrong_chats"],
    }


def storm_thinking(found: Mapping[str, Any]) -> Figures:
    return {
        "storm_think_s": found["load"]["think_s"],
        "storm_thinking_p99_to_idle": found["storm_p99_to_idle"],
        "storm_thinking_errors": found["wrong_chats"],
    }


def people(found: Mapping[str, Any]) -> Figures:
    """A turn as people have it: what capacity is planned by."""
    return {
        **{
            f"people_cpu_ms_{part.replace(' ', '_')}": ms
            for part, ms in found["cpu_ms_per_turn"].items()
        },
        "people_statements_per_turn": found["statements_per_turn"],
        "people_bus_operations_per_turn": found["bus_operations_per_turn"],
        "people_errors": found["wrong_chats"],
    }


def latency(found: Mapping[str, Any]) -> Figures:
    added = {name: value for name, value in found.items() if name.startswith("added_")}
    return {
        **added,
        "latency_streams": found["load"]["chats"],
        "direct_first_part_median_ms": found["times_ms"]["direct"]["first_part"]["p50"],
        "direct_gap_median_ms": found["times_ms"]["direct"]["gap"]["p50"],
        "latency_errors": len(found["wrong"]),
    }


def idle(found: Mapping[str, Any]) -> Figures:
    names = (
        "bytes_per_idle_reader", "bytes_per_reader", "bytes_per_reader_bare",
        "bytes_per_reader_of_one_chat", "idle_cpu_share", "message_arrives_median_ms",
        "message_arrives_max_ms",
    )  # fmt: skip
    return {
        "idle_readers": found["readers"],
        **{name: found[name] for name in names},
        "idle_errors": len(found["wrong"]),
    }


def growth(found: Mapping[str, Any]) -> Figures:
    figures = {name: value for name, value in found.items() if name.startswith("growth_")}
    for size in found["sizes"]:
        figures[f"cpu_ms_at_{size['chats']}"] = size["cpu_ms_per_turn"]
        figures[f"statements_at_{size['chats']}"] = size["statements_per_turn"]
        figures[f"bytes_per_chat_at_{size['chats']}"] = size["bytes_per_chat"]
    return {**figures, "growth_errors": len(found["wrong"])}


def soak(found: Mapping[str, Any]) -> Figures:
    figures: Figures = {
        "soak_minutes": found["minutes"],
        "soak_chats": found["chats"],
        "soak_vanished": found["vanished"],
        "soak_errors": len(found["wrong"]),
        "soak_growing": ", ".join(found["growing"]) or "nothing",
    }
    for name, slope in found["slopes"].items():
        figures[f"soak_{name.replace(' ', '_')}_level"] = slope["level"]
        figures[f"soak_{name.replace(' ', '_')}_per_hour"] = slope["per_hour"]
    return figures


TWO = ("--replicas", "2", "--workers", "0")
"""Two processes that serve and drive: one for each core."""
STORM = ("--storm", "--chats", "600", "--turns", "5", "--baseline", "0", *TWO)
PARTS = {
    "turns": Part(("--chats", "5000", "--turns", "10", "--baseline", "15", *TWO), turns),
    "storm": Part(STORM, storm),
    "storm_thinking": Part((*STORM, "--think", "1"), storm_thinking),
    "people": Part(
        (
            *("--chats", "200", "--turns", "3", "--baseline", "0"),
            *("--words", "250", "--rate", "50", "--think", "1", "--tools", "3"),
        ),
        people,
    ),
    "latency": Part(("latency", "--streams", "100", *TWO), latency),
    "idle": Part(("idle", "--readers", "10000"), idle),
    "growth": Part(("growth", "--turns", "30"), growth),
    "soak": Part(("soak", "--minutes", "60"), soak, asked_for=True),
}


def measure(name: str, further: Sequence[str]) -> Figures:
    """What was wrong is among the figures; only if nothing was measured, this fails."""
    part = PARTS[name]
    PAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "found.json"
        told = ("--json", str(found), "--html", str(PAGES / f"{name}.html"))
        command = (
            sys.executable,
            "-m",
            "holdfast",
            "lab",
            "bench",
            *part.arguments,
            *further,
            *told,
        )
        done = subprocess.run(command, check=False)
        assert found.exists(), f"{name} could not be measured: exit code {done.returncode}"
        figures = part.figures(orjson.loads(found.read_bytes()))
    return {**figures, f"{name}_commit": commit()}


ROWS = (
    ("chats × 10 turns, all watched", "chats", ""),
    ("turns", "turns", ""),
    ("seconds", "seconds", "165"),
    ("of the bare PostgreSQL turn rate", "ratio_to_pgbench", "0.25 or more"),
    ("ms of CPU per turn, all processes", "cpu_ms_per_turn", ""),
    ("of these, server", "cpu_ms_server", ""),
    ("of these, worker", "cpu_ms_worker", ""),
    ("of these, PostgreSQL", "cpu_ms_postgresql", ""),
    ("of these, simulator", "cpu_ms_simulator", ""),
    ("of these, load generator", "cpu_ms_load_generator", ""),
    ("turns lost", "lost", "0"),
    ("things doubled", "doubled", "0"),
    ("chats with an error", "errors", "0"),
    ("storm: reads for streams per follow-up", "storm_reads_per_turn", "0.05"),
    ("storm: database connections", "storm_connections_max", "20"),
    ("storm: p99 to the first part, of the idle median", "storm_p99_to_idle", "3"),
    ("the same where models think for a second", "storm_thinking_p99_to_idle", "3"),
    ("added to the first part, median, ms", "added_first_part_median_ms", "5"),
    ("added to the first part, p99, ms", "added_first_part_p99_ms", "25"),
    ("added from part to part, median, ms", "added_gap_median_ms", "5"),
    ("added from part to part, p99, ms", "added_gap_p99_ms", "25"),
    ("bytes of an idle reader, beyond a bare app's", "bytes_per_idle_reader", "25,000"),
    ("a message reaches an idle reader, at most, ms", "message_arrives_max_ms", "50"),
    ("CPU per turn, 10,000 chats to 100", "growth_cpu_10000_over_100", "1.25"),
    ("statements per turn, 10,000 chats to 100", "growth_statements_10000_over_100", "1.25"),
    ("memory per chat, 10,000 to 1,000", "growth_memory_10000_over_1000", "1.25"),
    ("soak: minutes", "soak_minutes", "60"),
    ("soak: what grows", "soak_growing", "nothing"),
    ("soak: wrong chats", "soak_errors", "0"),
    ("wrong chats in all other parts", "errors_beside", "0"),
)  # fmt: skip


def write_the_page() -> None:
    known = orjson.loads((FOLDER / "scale.json").read_bytes())
    beside = [key for key in known if key.endswith("_errors") and key != "soak_errors"]
    known["errors_beside"] = sum(known[key] for key in beside)
    rows = "".join(f"| {what} | {_said(known.get(key))} | {goal} |\n" for what, key, goal in ROWS)
    commits = ", ".join(
        f"{name} {known[f'{name}_commit']}" for name in PARTS if f"{name}_commit" in known
    )
    template = (FOLDER / "scale.template.md").read_text(encoding="utf-8")
    write_page("scale", template.format(date=known["date"], rows=rows, commits=commits))


def _said(value: float | str | None) -> str:
    if value is None:
        return "not yet measured"
    return value if isinstance(value, str) else f"{value:,}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("--bus", default="", help="a Redis server; else PostgreSQL")
    parser.add_argument("further", nargs="*", help="for `holdfast lab bench`, behind a --")
    given = parser.parse_args()
    named = given.only or [name for name, part in PARTS.items() if not part.asked_for]
    further = [*given.further, *(("--bus", given.bus) if given.bus else ())]
    wrong = 0
    for name in named:
        print(f"# {name}", flush=True)
        figures = measure(name, further)
        write_json("scale", figures)
        write_the_page()
        wrong += sum(int(value) for key, value in figures.items() if key.endswith("errors"))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
