"""Every stage of the gate and of the nightly run, in the order in which they start."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
BUILD: Final = ROOT / "build" / "gate"
"""Logs, records and caches of the last run; not in git."""

# Tests that wait for leases, processes and pages leave a core idle: two workers for each core.
WORKERS: Final = str((os.cpu_count() or 2) * 2)


class Kind(StrEnum):
    CHECK = "check"
    """Reads the code."""
    TEST = "test"
    """Runs the code."""


@dataclass(frozen=True)
class Stage:
    """One command with a log, a time and a verdict of its own."""

    name: str
    kind: Kind
    command: tuple[str, ...]
    after: tuple[str, ...] = ()
    """Stages that must have passed before: they build what this one uses."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    is_pytest: bool = False
    """Its tests are recorded, and those that fail are tried once more, alone."""
    then: tuple[str, ...] = ()
    """A command that follows in the same stage."""
    alone: bool = False
    """Nothing may run beside it: it measures real time."""
    tried_again: bool = False
    """If it fails it is run once more, and both are told."""
    begins_within_s: float | None = None
    """After the start of the run. A stage that cannot begin by then is left out and named."""


def just(*words: str) -> tuple[str, ...]:
    return (str(Path(sys.executable).with_name("just")), *words)


def check(name: str, *words: str, after: tuple[str, ...] = ()) -> Stage:
    return Stage(name, Kind.CHECK, just(*words), after=after)


def run(name: str, *words: str, after: tuple[str, ...] = ("page",), alone: bool = False) -> Stage:
    return Stage(name, Kind.TEST, just(*words), after=after, alone=alone)


def session(
    name: str,
    *arguments: str,
    workers: str = WORKERS,
    env: Mapping[str, str] | None = None,
    then: tuple[str, ...] = (),
    after: tuple[str, ...] = ("page",),
    alone: bool = False,
) -> Stage:
    """A pytest session. `loadscope`: tests that share a fixture of their module stay together
    (tests/conftest.py), and every other test goes to the worker that is free."""
    command = (sys.executable, "-m", "pytest", "-n", workers, "--dist", "loadscope", *arguments)
    return Stage(
        name,
        Kind.TEST,
        command,
        after=after,
        env=env or {},
        is_pytest=True,
        then=then,
        alone=alone,
    )


def coverage(name: str, *arguments: str) -> Stage:
    """A pytest session in which every process is traced; at least 95 % of everything must run."""
    plain = session(name, *arguments)
    traced = (sys.executable, "-m", "coverage", "run", *plain.command[1:])
    return replace(plain, command=traced, then=just("_coverage-report"))


def prove(name: str, *attacks: str) -> Stage:
    """Some attacks of `holdfast lab prove --quick`, with the mutants that they must notice. They
    have real deadlines, which a machine that stalls does not keep: hence the second try."""
    chosen = (word for attack in attacks for word in ("--only", attack))
    command = (sys.executable, "-m", "holdfast", "lab", "prove", "--quick", *chosen)
    return Stage(name, Kind.TEST, command, alone=True, tried_again=True)


SUITES: Final = (
    # Files that take long come first, so that the short ones fill the end.
    *("tests/fault", "tests/model", "tests/docs", "tests/simulation"),
    *("tests/integration/server", "tests/integration/cli"),
    *("tests/integration", "tests/architecture", "tests/requirements"),
    *("tests/contract", "tests/unit", "tests/ergonomics"),
)
"""What one pytest session runs; `tests/browser` has another, which starts Chromium."""

OWN_ROW: Final = (
    *("tests/integration/agent", "tests/integration/sandbox", "tests/fault/test_hands.py"),
    *("tests/integration/simulator", "tests/integration/providers", "tests/integration/eval"),
    *("tests/integration/workspaces", "tests/integration/tools"),
    *("tests/integration/cli/test_bench.py", "tests/integration/cli/test_bench_modes.py"),
)
"""What only some files can break: the gate runs it when one of those has changed (changes.py)."""
PAGE: Final = Stage("page", Kind.CHECK, just("ui"))
COLLECT: Final = Stage(
    # Leaves the bytecode of all tests behind: otherwise every worker of xdist compiles it.
    "collect",
    Kind.TEST,
    (sys.executable, "-m", "pytest", "--collect-only", "--quiet", "--quiet", *SUITES),
)
DOCS_SITE: Final = check("docs-site", "docs-site")
"""The documents as a site; fails on a broken link."""
CORE_COVERED: Final = (sys.executable, "-m", "scripts.gate.tracing")

GATE: Final = (
    PAGE,
    COLLECT,
    session(
        "tests",
        *("-p", "scripts.gate.tracing", "-m", "not nightly", *SUITES),
        *(f"--ignore={path}" for path in OWN_ROW),
        then=CORE_COVERED,
        after=("page", "collect"),
    ),
    check("types", "_types"),
    check("lint", "_lint"),
    check("ui", "ui-check", after=("page",)),
    session("browser", "-m", "essential", "tests/browser", workers="2"),
    run("canaries", "_ui-canaries"),
    run("model-check", "model-check", after=()),
    run("wheel", "wheel"),
)
"""Every change."""

NIGHTLY_SIZES: Final = {"HOLDFAST_SIMULATION_SEEDS": "1000", "HOLDFAST_MODEL_STEPS": "50000"}

NIGHTLY: Final = (
    PAGE,
    check("types", "_types"),
    coverage("coverage", "tests/docs", "tests/integration", "tests/contract", "tests/unit"),
    check("lint", "_lint"),
    check("ui", "ui-check", after=("page",)),
    run("model-check", "model-check", after=()),
    session("browser", "tests/browser", workers="2"),
    session("model", "tests/model", workers="2", env=NIGHTLY_SIZES),
    session("simulation", "tests/simulation", workers="2", env=NIGHTLY_SIZES),
    session("rules", "tests/architecture", "tests/requirements", "tests/perf", workers="2"),
    run("ui-mutants", "_ui-mutants"),
    run("browser-mutants", "ui-mutants"),
    run("schemathesis", "schemathesis"),
    run("wheel", "wheel"),
    run("secure", "secure", after=()),
    session("hands", "tests/fault/test_hands.py", workers="2"),
    DOCS_SITE,
    session("proof", "tests/fault/test_prove.py", workers="0", alone=True),
)
"""Before a release, and from the gate where a protected file changed."""
