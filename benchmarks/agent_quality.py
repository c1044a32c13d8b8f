"""How well the agent's tools serve a model, counted and measured without a model.

    just bench-agent-quality                  runs `tests/ergonomics`; into benchmarks/agent.json
    just bench-agent-quality --keep-suites    counts only: what the suites measured before stays

A figure whose suite is not there, or was not run, is null: it is not known.
"""

import argparse
import asyncio
import json
import random
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

import yaml

from holdfast_agent.faults import Refused
from holdfast_agent.files.editing import edit
from holdfast_agent.wire import Change, EditFiles, FileEdit
from holdfast_lab.eval.figures import durability_differences
from holdfast_lab.eval.oracle import check_tasks, counts_of
from holdfast_lab.eval.tasks import OWN_TASKS, find_tasks
from tests.ergonomics import test_budget, test_prefix
from tests.ergonomics.test_recovery import RECOVERIES
from tests.support.agent_files import place_in
from tests.support.ergonomics import FolderAgent
from tests.support.model import WIRE_NAMES

ROOT: Final = Path(__file__).resolve().parents[1]
SUITE: Final = ROOT / "tests" / "ergonomics"
OUT: Final = ROOT / "benchmarks" / "agent.json"
PAGE: Final = ROOT / "benchmarks" / "agent.md"
RUN_S: Final = 600.0
SEED: Final = 22
EDITS: Final = 2_000
WORDS: Final = ("return x", "x = 1", "if x:", "for x in y:", "pass", "call(x)", "else:", "y += x")

FINDINGS: Final = tuple(f"R{number}" for number in range(1, 25))
EVIDENCE: Final[Mapping[str, tuple[str, ...]]] = {
    # The test files that show a finding mended; it is open while one of them is missing or fails.
    "R1": ("tests/ergonomics/test_reads.py",),
    "R2": ("tests/integration/sandbox/test_normal_work.py",),
    "R3": ("tests/ergonomics/test_looks.py",),
    "R4": ("tests/unit/bootstrap/test_system_prompt.py",),
    "R5": ("tests/unit/providers/wires/test_failed_results.py",),
    "R6": ("tests/unit/turn/test_call_order.py",),
    "R7": ("tests/ergonomics/test_reads.py",),
    "R8": ("tests/ergonomics/test_argument_forms.py",),
    "R9": ("tests/ergonomics/test_edit_cases.py",),
    "R10": ("tests/unit/tools/workspace/test_apply_patch.py",),
    "R11": ("tests/ergonomics/test_edit_cases.py",),
    "R12": ("tests/ergonomics/test_edit_cases.py",),
    "R13": ("tests/ergonomics/test_looks.py",),
    "R14": ("tests/ergonomics/test_looks.py",),
    "R15": ("tests/ergonomics/test_reads.py",),
    "R16": ("tests/unit/tools/workspace/test_awareness.py",),
    "R17": ("tests/unit/tools/workspace/test_awareness.py",),
    "R18": ("tests/unit/tools/workspace/test_awareness.py",),
    "R19": ("tests/unit/turn/test_pause.py",),
    "R20": ("tests/unit/turn/test_compaction.py",),
    "R21": ("tests/ergonomics/test_reads.py",),
    "R22": (
        *("tests/unit/tools/test_plan.py", "tests/unit/tools/test_web_fetch.py"),
        "tests/unit/tools/test_questions.py",
    ),
    "R23": ("tests/unit/agent/test_saved.py", "tests/ergonomics/test_sessions.py"),
    "R24": ("tests/ergonomics/test_sessions.py",),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep-suites", action="store_true")
    options = parser.parse_args()
    before: dict[str, Any] = json.loads(OUT.read_text()) if OUT.exists() else {}
    figures = counted()
    figures |= {key: before.get(key) for key in SUITES} if options.keep_suites else measured()
    OUT.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    PAGE.write_text(page(figures), encoding="utf-8")
    print(OUT.read_text())


def counted() -> dict[str, Any]:
    """What the data of the suites and the texts themselves say."""
    commit = subprocess.run(
        ("git", "rev-parse", "--short=12", "HEAD"),
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    absent = [
        name for name in FINDINGS if not all((ROOT / path).exists() for path in EVIDENCE[name])
    ]
    return {
        "commit": commit.stdout.strip(),
        "date": datetime.now(UTC).date().isoformat(),
        "findings_open": len(absent),
        "findings_open_names": absent,
        "edit_cases": cases_in("edits.yaml"),
        "argument_variants": variants(),
        "recovery_cases": len(RECOVERIES),
        "tools_tokens": test_budget.tools_tokens(),
        "prompt_tokens": test_budget.prompt_tokens(),
        "prefix_breaks": asyncio.run(prefix_breaks()),
        "eval_durability_differences": durability_differences(json.loads(DURABILITY.read_bytes())),
    }


SUITES: Final = (
    *("ergonomics_s", "ergonomics_tests", "ergonomics_failed", "recovery_failed"),
    *("random_edits", "wrong_edits", "missing_lines"),
    *("eval_tasks", "solutions_failed", "empty_runs_passed"),
)
DURABILITY: Final = ROOT / "benchmarks" / "eval.json"
"""Written by a run of `holdfast lab eval` with kills."""


def cases_in(name: str) -> int | None:
    """How many cases a file of the suite has: a list, or lists under names."""
    path = SUITE / name
    if not path.exists():
        return None
    found: object = yaml.safe_load(path.read_text(encoding="utf-8"))
    if isinstance(found, list):
        return len(cast("list[object]", found))
    lists = cast("dict[str, object]", found).values()
    return sum(len(cast("list[object]", each)) for each in lists if isinstance(each, list))


def variants() -> int | None:
    found = [cases for name in ("arguments.yaml", "forms.yaml") if (cases := cases_in(name))]
    return sum(found) or None


async def prefix_breaks() -> int:
    asked = await test_prefix.requests()
    return sum(test_prefix.breaks(asked, wire) for wire in WIRE_NAMES)


def measured() -> dict[str, Any]:
    """One run of the suite: how long it took, and what failed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "junit.xml"
        command = (
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-n",
            "0",
            str(SUITE),
            *("-o", "junit_family=xunit1"),  # a test records how many edits it made
            f"--junitxml={report}",
        )
        began_s = time.monotonic()
        subprocess.run(command, cwd=ROOT, timeout=RUN_S, check=False)
        took_s = time.monotonic() - began_s
        cases = list(ET.parse(report).iter("testcase"))
    failed = [
        case for case in cases if case.find("failure") is not None or case.find("error") is not None
    ]
    recovery = [case for case in failed if "test_recovery" in case.get("classname", "")]
    return {
        **random_edits(),
        "missing_lines": asyncio.run(missing_lines()),
        **counts_of(asyncio.run(check_tasks(find_tasks(OWN_TASKS, ()), "external"))),
        "ergonomics_s": round(took_s, 1),
        "ergonomics_tests": len(cases),
        "ergonomics_failed": len(failed),
        "recovery_failed": len(recovery),
    }


def random_edits() -> dict[str, int]:
    """Edits of random files, exact or with another indentation. Wrong: applied, and the file is not
    what replacing the text at its only place makes of it."""
    chance, wrong = random.Random(SEED), 0
    with tempfile.TemporaryDirectory() as folder:
        place = place_in(Path(folder))
        for _ in range(EDITS):
            lines = [f"{' ' * 4 * chance.randrange(3)}{chance.choice(WORDS)}" for _ in range(40)]
            at, count = chance.randrange(38), chance.randrange(1, 4)
            old = lines[at : at + count]
            change = Change(old="\n".join(old) + "\n", new="new line\n")
            place.write("a.txt", "\n".join(lines) + "\n")
            before = (place.root / "a.txt").read_text()
            try:
                edit(place.beneath, EditFiles(files=(FileEdit(path="a.txt", changes=(change,)),)))
            except Refused:
                continue
            after = (place.root / "a.txt").read_text()
            places = [
                "\n".join([*lines[:n], "new line", *lines[n + count :]]) + "\n"
                for n in range(len(lines))
                if lines[n : n + count] == old
            ]
            wrong += before == after or len(places) != 1 or after != places[0]
    return {"random_edits": EDITS, "wrong_edits": wrong}


async def missing_lines() -> int:
    """Lines of a long file that no page of `read_file` shows, read on as each page says."""
    wanted = {f"line {number} {'x' * (number % 90)}" for number in range(1, 5001)}
    with tempfile.TemporaryDirectory() as folder:
        place = place_in(Path(folder))
        place.write("a.txt", "".join(f"{each}\n" for each in sorted(wanted)))
        agent, offset = FolderAgent(place.beneath), 1
        while True:
            said = await agent.says("read_file", path="a.txt", offset=offset)
            wanted -= {row.partition("\t")[2] for row in said.splitlines()}
            following = re.search(r"continue with offset=(\d+)", said.partition("\n")[0])
            if following is None:
                return len(wanted)
            offset = int(following[1])


def page(figures: Mapping[str, Any]) -> str:
    rows = "\n".join(
        f"| `{name}` | {'not known' if value is None else shown(value)} |"
        for name, value in figures.items()
    )
    return f"""# Quality of the agent's tools

Written by `just bench-agent-quality`. Counted without a model: a token is four bytes. A finding of
the review is open while a test file that shows it mended is missing.

| figure | value |
| --- | --- |
{rows}
"""


def shown(value: object) -> str:
    return (
        ", ".join(map(str, cast("list[object]", value))) if isinstance(value, list) else str(value)
    )


if __name__ == "__main__":
    main()
