"""`just bench-fleet`: attacks on a fleet, their mutants, seeds of the simulation, defects: counted.

Writes benchmarks/fleet.md and fleet.json. Each part can be run alone, and tells its commit:

- attacks and mutants; `--skip-attacks` leaves them out, `--report FILE` counts a proof of before;
- seeds of the simulation; `--seeds 0` leaves them out;
- `--before COMMIT`: the CPU of a turn, compared with that commit (benchmarks/before.py);
- kills in the middle of an answer: `python -m benchmarks.words 200`, which writes here, too;
- defects (benchmarks/defects.json), always: they are only counted.

A figure that no run has measured is left out, and the page names it as open. Figures of a part that
was not repeated are kept.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks import before, defects
from benchmarks.report import FOLDER, commit, stamp, write_json, write_page
from holdfast_lab.chaos.report import NAMES

ATTACKS: Final = (
    *("changing primaries", "unreadable rows", "refused statements", "migrations"),
    *("endless heads", "whales", "one floods"),
)
FIGURES: Final[Mapping[str, tuple[str, ...]]] = {
    "failover_readonly_recover_s": ("changing primaries", "read_only_recover_s"),
    "failover_promoted_recover_s": ("changing primaries", "promoted_recover_s"),
    "whale_start_ratio": ("whales", "start_ratio"),
    "whale_list_ratio": ("whales", "list_ratio"),
    "whale_stream_ratio": ("whales", "stream_ratio"),
    "whale_reader_kb": ("whales", "reader_kb"),
    "big_chat_added_mb_max": ("whales", "page_mb", "snapshot_mb", "turn_mb", "fork_mb"),
    "flood_list_ratio": ("one floods", "list_ratio"),
    "flood_turn_ratio": ("one floods", "turn_ratio"),
    "header_attack_added_mb": ("endless heads", "added_mb_max"),
    "header_attack_delay_s": ("endless heads", "others_longest_s"),
    "sqlstate_classes": ("refused statements", "sqlstate_classes"),
    "process_deaths": ("refused statements", "process_deaths"),
    "migration_longest_wait_s": ("migrations", "longest_wait_s"),
}
"""Key of the page: the attack, and the figure that it is; of several, the largest."""
MEANINGS: Final[Mapping[str, str]] = {
    "defects_open": "defects of the review that are not mended",
    "repro_scripts": "scripts of the review",
    "repro_scripts_mended": "of those, scripts that no longer show their defect",
    "prove_attacks": "attacks of the proof that was counted",
    "prove_broken": "promises that broke",
    "mutants_total": "protections taken away",
    "mutants_killed": "of those, noticed",
    "simulation_seeds": "seeds of the simulation",
    "simulation_failed": "seeds that broke a promise",
    "failover_readonly_recover_s": "until a message is taken after a read-only standby, s (5)",
    "failover_promoted_recover_s": "until a message is taken after a promotion, s (5)",
    "whale_start_ratio": "start of others' turns beside a whale, to idle (2)",
    "whale_list_ratio": "others' lists beside a whale, to idle (2)",
    "whale_stream_ratio": "snapshots of others' chats beside a whale, to idle (2)",
    "flood_list_ratio": "others' lists beside a flood, to idle (2)",
    "flood_turn_ratio": "others' turns beside a flood, to idle (2)",
    "whale_reader_kb": "memory of a stalled reader of a whale, KB (300)",
    "big_chat_added_mb_max": "memory that a page, snapshot, turn or fork of 200 MB adds, MB (32)",
    "header_attack_added_mb": "memory that endless heads add to a process, MB (5)",
    "header_attack_delay_s": "longest wait of another person beside them, s (0.1)",
    "kill_prefix_trials": "kills in the middle of an answer",
    "kill_prefix_violations": "of those, answers that did not go on from what was seen",
    "kill_prefix_continued": "replies that a successor went on with",
    "sqlstate_classes": "SQLSTATE classes with which every statement was refused",
    "process_deaths": "processes that died of one",
    "migration_longest_wait_s": "the longest wait of others beside a migration, s (2)",
    "cpu_ms_before": "CPU of a turn at the commit of before, ms",
    "cpu_ms_now": "CPU of a turn now, ms",
    "cpu_ratio_to_before": "CPU of a turn now, to before",
}
PARTS: Final[Mapping[str, str]] = {
    "proof": "attacks and mutants",
    "seeds": "seeds of the simulation",
    "words": "kills in the middle of an answer",
    "before": "CPU of a turn",
    "defects": "defects",
}
"""What is run on its own; the file keeps the commit of each, as `PART_measured_at`."""
SEEDS: Final = 10_000
FIRST_SEED: Final = 100_000


def attack(profile: str, report: Path) -> dict[str, Any]:
    """What `holdfast lab prove` found; mutants are those of these attacks."""
    words = [word for name in ATTACKS for word in ("--only", name)]
    command = [sys.executable, "-m", "holdfast", "lab", "prove", f"--{profile}", *words]
    # Code 1 is a broken promise: it is counted, and not hidden behind an error.
    subprocess.run([*command, "--json", str(report)], check=False)
    found: dict[str, Any] = orjson.loads(report.read_bytes())
    return found


def figures_of(report: Mapping[str, Any]) -> dict[str, float | int | str]:
    tried: list[Mapping[str, Any]] = [report[name] for name in NAMES.values() if name in report]
    made = [each for each in tried if "not_tried" not in each]
    found: dict[str, float | int | str] = {
        "prove_attacks": len(made),
        "prove_broken": sum(each["violations"] for each in made),
        "mutants_total": report["mutants_total"],
        "mutants_killed": report["mutants_killed"],
    }
    for key, (name, *wanted) in FIGURES.items():
        told = report.get(NAMES[name], {})
        if all(figure in told for figure in wanted):
            found[key] = max(told[figure] for figure in wanted)
    return found


def simulate(seeds: int, first: int) -> dict[str, int]:
    """The test ends at the first seed that breaks a promise: one at least has failed then."""
    environment = {
        "HOLDFAST_SIMULATION_SEEDS": str(seeds),
        "HOLDFAST_SIMULATION_FIRST": str(first),
    }
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-n", "2", "-o", "timeout=0"),
            *("tests/simulation/test_simulation.py", "-k", "seeds_keep_every_promise"),
        ],
        check=False,
        env={**os.environ, **environment},
    )
    return {"simulation_seeds": seeds, "simulation_failed": int(done.returncode != 0)}


def page(figures: Mapping[str, Any]) -> str:
    measured = [key for key in MEANINGS if key in figures]
    open_ = [key for key in MEANINGS if key not in figures]
    given = defects.table()
    return PAGE.format(
        stamp=stamp().replace("Measured", "Written"),
        rows="\n".join(f"| `{key}` | {MEANINGS[key]} | {figures[key]} |" for key in measured),
        missing="\n".join(f"- `{key}`: {MEANINGS[key]}" for key in open_) or "None.",
        parts="\n".join(
            f"- {what}: {figures[f'{part}_measured_at']}"
            for part, what in PARTS.items()
            if f"{part}_measured_at" in figures
        ),
        defects=defects.rows(given),
        open_parts=defects.open_parts(given),
    )


def write(part: str, found: Mapping[str, float | int | str]) -> None:
    """Into fleet.json, beside what other parts have put there, and the page of all of it."""
    assert part in PARTS
    write_json("fleet", {**found, f"{part}_measured_at": commit()})
    write_page("fleet", page(orjson.loads((FOLDER / "fleet.json").read_bytes())))
    print(dict(found))


PAGE: Final = """# What a fleet is put through, in figures

{stamp} Made by `just bench-fleet`; the attacks are those of
[prove](../docs/how-to/prove.md). A bound is in brackets. A page that counts a report (`--report`)
holds attacks and mutants of several runs: commit, date and size of each attack are in `prove.json`.

| key | what | measured |
|---|---|---|
{rows}

Each part was measured at a commit of its own:

{parts}

## Open: not measured yet

{missing}

## Defects of a review

Each was shown by a script. A test of ours, an attack, or both, keep it away since.

| defect | script | kept away by | now |
|---|---|---|---|
{defects}

What of them is still open:

{open_parts}
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--profile", choices=("quick", "full", "soak"), default="quick")
    parser.add_argument("--skip-attacks", action="store_true", help="make no proof")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="0: no simulation")
    parser.add_argument("--first", type=int, default=FIRST_SEED)
    parser.add_argument("--report", type=Path, help="count this proof, and make none")
    parser.add_argument("--before", metavar="COMMIT", help="compare the CPU of a turn with it")
    given = parser.parse_args()
    write("defects", defects.counted(defects.table()))
    if given.report is not None:
        write("proof", figures_of(orjson.loads(given.report.read_bytes())))
    elif not given.skip_attacks:
        with tempfile.TemporaryDirectory() as folder:
            found = figures_of(attack(given.profile, Path(folder) / "proof.json"))
        write("proof", {**found, "prove_profile": given.profile})
    if given.seeds:
        write("seeds", simulate(given.seeds, given.first))
    if given.before:
        write("before", before.compare(given.before))


if __name__ == "__main__":
    main()
