"""The command: choose stages, run them, print and keep what came of it."""

import argparse
import asyncio
import random
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from holdfast.tasks import end_on_terminate
from scripts.gate import changes, nightly, report
from scripts.gate.runner import Runner
from scripts.gate.stages import GATE, NIGHTLY, Kind, Stage

SEED = "HOLDFAST_TEST_SEED"


def chosen(
    words: Sequence[str], *, again: bool = False, added_within_s: float | None = None
) -> tuple[str, list[Stage]]:
    """The tier's name, and its stages. `added_within_s`: stages that changed files add to the gate
    begin within this time, or not at all."""
    if list(words) == ["nightly"]:
        return "nightly", nightly.failed_stages(NIGHTLY) if again else list(NIGHTLY)
    if list(words) in ([Kind.CHECK], [Kind.TEST]):
        return words[0], [each for each in GATE if each.kind == words[0]]
    known = {
        each.name: each for each in (*NIGHTLY, *(row.stage for row in changes.PROTECTED), *GATE)
    }
    if unknown := set(words) - known.keys():
        sys.exit(f"There is no stage {', '.join(sorted(unknown))}; there are: {', '.join(known)}.")
    if words:
        return "part of the gate", [known[word] for word in words]
    added = changes.added_stages(changes.changed_files)
    names = ", ".join(each.name for each in added) or "nothing"
    print(f"added to the gate, for files that changed since: {names}")
    return "gate", [*GATE, *(replace(each, begins_within_s=added_within_s) for each in added)]


async def attended(runner: Runner) -> None:
    """To its end, or until it is terminated, with all that it has started."""
    end_on_terminate()
    await runner.run()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.gate")
    parser.add_argument("stages", nargs="*", help="nightly, check, test, or names of stages")
    parser.add_argument("--seed", type=int, help="what chance is drawn from; drawn if not given")
    parser.add_argument("--again", action="store_true", help="nightly: only what failed last time")
    parser.add_argument(
        "--keep", action="store_true", help="note in benchmarks/stages.json what passed"
    )
    parser.add_argument(
        "--added-within",
        type=float,
        metavar="MINUTES",
        help="leave out stages of changed files that cannot begin within this time, and name them",
    )
    options = parser.parse_args()
    # A shell starts a background job with SIGINT ignored; tests send it to what they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    seed: int = random.SystemRandom().randrange(10**9) if options.seed is None else options.seed
    tier, stages = chosen(
        options.stages,
        again=options.again,
        added_within_s=None if options.added_within is None else options.added_within * 60,
    )
    print(f"{tier}: {len(stages)} stages, seed {seed} (again: --seed {seed})", flush=True)
    keeper = nightly.Keeper(seed, again=options.again) if tier == "nightly" else None
    runner = Runner(stages, seed, keeper.keep) if keeper else Runner(stages, seed)
    began_s = time.monotonic()
    asyncio.run(attended(runner))
    results = list(runner.results.values())
    found = report.figures(tier, results, time.monotonic() - began_s, seed)
    report.write(found, results)
    passed: bool = found["passed"]
    if keeper:
        nightly.write(keeper.night())
        passed = keeper.night().passed
    print(report.summary(found))
    if options.keep:
        names = [each.stage.name for each in results if each.passed]
        kept = changes.keep(changes.KEPT, found["commit"], names)
        print(f"kept in benchmarks/stages.json: {', '.join(kept) or 'nothing'}")
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
