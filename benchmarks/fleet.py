"""`just bench-fleet`: attacks on a fleet, their mutants, and seeds of the simulation, counted.

Writes benchmarks/fleet.md and fleet.json. A figure that no run has measured is left out of both,
and the page names it as open. What other measurements put into the file is kept, and so are the
figures of a run of which only a part was repeated.
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

from benchmarks.report import FOLDER, stamp, write_json, write_page
from holdfast.prove.report import NAMES

ATTACKS: Final = (
    *("changing primaries", "unreadable rows", "refused statements", "migrations"),
    "endless heads",
)
ELSEWHERE: Final = ("whales", "floods", "big chats", "killed prefixes")
"""Attacks that bring figures of this page where this version has them."""
FIGURES: Final[Mapping[str, tuple[str, str]]] = {
    "failover_readonly_recover_s": ("changing_primaries", "read_only_recover_s"),
    "failover_promoted_recover_s": ("changing_primaries", "promoted_recover_s"),
    "header_attack_added_mb": ("endless_heads", "added_mb_max"),
    "sqlstate_classes": ("refused_statements", "sqlstate_classes"),
    "process_deaths": ("refused_statements", "process_deaths"),
    "migration_longest_wait_s": ("migrations", "longest_wait_s"),
}
"""Key of the page: the attack and the figure that it is."""
MEANINGS: Final[Mapping[str, str]] = {
    "defects_open": "defects of the review that are not mended",
    "repro_scripts_mended": "scripts of the review that no longer show their defect",
    "prove_attacks": "attacks of the proof that was counted",
    "prove_broken": "promises that broke",
    "mutants_total": "protections taken away",
    "mutants_killed": "of those, noticed",
    "simulation_seeds": "seeds of the simulation",
    "simulation_failed": "seeds that broke a promise",
    "failover_readonly_recover_s": "until a message is taken after a read-only standby, s (5)",
    "failover_promoted_recover_s": "until a message is taken after a promotion, s (5)",
    "whale_start_ratio": "start of others' turns beside a whale, to idle (2)",
    "flood_list_ratio": "others' lists beside a flood, to idle (2)",
    "whale_reader_kb": "memory of a stalled reader of a whale, KB (300)",
    "big_chat_added_mb_max": "memory that a big chat adds to a process, MB",
    "header_attack_added_mb": "memory that endless heads add to a process, MB (5)",
    "kill_prefix_trials": "kills in the middle of an answer",
    "kill_prefix_violations": "of those, answers that did not go on from what was seen",
    "sqlstate_classes": "SQLSTATE classes with which every statement was refused",
    "process_deaths": "processes that died of one",
    "migration_longest_wait_s": "the longest wait of others beside a migration, s (2)",
    "cpu_ratio_to_before": "CPU of a turn, to the release before",
}
SEEDS: Final = 10_000
FIRST_SEED: Final = 100_000


def attack(profile: str, report: Path) -> dict[str, Any]:
    """What `holdfast prove` found; mutants are those of these attacks."""
    listed = _prove("--list").stdout
    chosen = [name for name in (*ATTACKS, *ELSEWHERE) if f"{name} " in listed]
    words = [word for name in chosen for word in ("--only", name)]
    _prove(f"--{profile}", *words, "--json", str(report), shows=True)
    found: dict[str, Any] = orjson.loads(report.read_bytes())
    return found


def _prove(*words: str, shows: bool = False) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "holdfast", "prove", *words]
    # Code 1 is a broken promise: it is counted, and not hidden behind an error.
    return subprocess.run(command, check=False, text=True, capture_output=not shows)


def figures_of(report: Mapping[str, Any]) -> dict[str, float | int | str]:
    tried: list[Mapping[str, Any]] = [report[name] for name in NAMES.values() if name in report]
    made = [each for each in tried if "not_tried" not in each]
    found: dict[str, float | int | str] = {
        "prove_attacks": len(made),
        "prove_broken": sum(each["violations"] for each in made),
        "mutants_total": report["mutants_total"],
        "mutants_killed": report["mutants_killed"],
    }
    for key, (name, figure) in FIGURES.items():
        if figure in report.get(name, {}):
            found[key] = report[name][figure]
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
    rows = "\n".join(f"| `{key}` | {MEANINGS[key]} | {figures[key]} |" for key in measured)
    missing = "\n".join(f"- `{key}`: {MEANINGS[key]}" for key in open_) or "None."
    return PAGE.format(stamp=stamp().replace("Measured", "Counted"), rows=rows, missing=missing)


PAGE: Final = """# What a fleet is put through, in figures

{stamp} Made by `just bench-fleet`; the attacks are those of
[prove](../docs/how-to/prove.md). A bound is in brackets. A page that counts a report (`--report`)
holds attacks and mutants of several runs: commit, date and size of each attack are in `prove.json`.

| key | what | measured |
|---|---|---|
{rows}

## Open: not measured yet

{missing}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=("quick", "full", "soak"), default="quick")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="0: no simulation")
    parser.add_argument("--first", type=int, default=FIRST_SEED)
    parser.add_argument("--report", type=Path, help="count this proof, and make none")
    given = parser.parse_args()
    found: dict[str, float | int | str] = {}
    if given.report is not None:
        found |= figures_of(orjson.loads(given.report.read_bytes()))
    else:
        with tempfile.TemporaryDirectory() as folder:
            found |= figures_of(attack(given.profile, Path(folder) / "proof.json"))
            found["prove_profile"] = given.profile
    if given.seeds:
        found |= simulate(given.seeds, given.first)
    write_json("fleet", found)
    write_page("fleet", page(orjson.loads((FOLDER / "fleet.json").read_bytes())))
    print(found)


if __name__ == "__main__":
    main()
