"""`just bench-model`: the model test and its mutants, counted into benchmarks/ledger.json."""

import time
from collections.abc import Callable

import pytest

from benchmarks.report import write_json
from tests.model.harness import machine_settings, on_postgres, run_machine, run_steps
from tests.model.mutants import MUTANTS

SHARDS = 4
STEPS_MIN = 50_000
EXAMPLES = 100


def count_steps() -> int:
    """Worker steps without a violation; a violation ends the run with its reason."""
    steps = 0
    for shard in range(SHARDS):
        steps += run_steps(shard, STEPS_MIN // SHARDS)
        print(f"shard {shard}: {steps} worker steps so far, 0 violations")
    return steps


def is_caught(mutant: Callable[[pytest.MonkeyPatch], None]) -> bool:
    with on_postgres() as (runner, world), pytest.MonkeyPatch.context() as patch:
        mutant(patch)
        try:
            run_machine(runner, world, shard=0, options=machine_settings(EXAMPLES))
        except Exception:  # noqa: BLE001  (whatever stops it has caught the mutant)
            return True
    return False


def main() -> None:
    steps = count_steps()
    killed = 0
    for name, mutant in MUTANTS.items():
        started = time.monotonic()
        caught = is_caught(mutant)
        killed += caught
        verdict = "caught" if caught else "SURVIVED"
        print(f"{name}: {verdict} after {time.monotonic() - started:.1f} s")
    figures = {
        "model_steps": steps,
        "model_violations": 0,
        "mutants_total": len(MUTANTS),
        "mutants_killed": killed,
    }
    write_json("ledger", figures)
    print(figures)


if __name__ == "__main__":
    main()
