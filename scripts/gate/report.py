"""What a run leaves: `timings.json`, `second-tries.json`, and the slowest files in its summary."""

import subprocess
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson

from scripts.gate.recorder import Record  # noqa: TC001
from scripts.gate.runner import Result
from scripts.gate.stages import BUILD, ROOT

SLOWEST: Final = 20
Figures = dict[str, Any]


def figures(tier: str, results: Sequence[Result], seconds: float, seed: int) -> Figures:
    return {
        "tier": tier,
        "commit": commit(),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "seed": seed,
        "passed": not any(each.failed for each in results),
        "left_out": [each.stage.name for each in results if each.is_left_out],
        "seconds": round(seconds, 1),
        "tests": {
            outcome: sum(each.counted(outcome) for each in results)
            for outcome in ("passed", "failed", "skipped")
        },
        "second_tries": sum(len(each.again) for each in results),
        "stages": [
            {
                "stage": each.stage.name,
                "passed": each.passed,
                "seconds": round(each.seconds, 1),
                "cpu_s": round(each.cpu_s, 1),
                "tests": len(each.records),
            }
            for each in results
            if not each.is_left_out
        ],
        "files": [row for each in results for row in files_of(each)],
    }


def files_of(result: Result) -> list[Figures]:
    by_file: dict[str, list[Record]] = defaultdict(list)
    for record in result.records:
        by_file[record.file].append(record)
    return [
        {
            "stage": result.stage.name,
            "file": file,
            "seconds": round(sum(each.seconds for each in records), 1),
            "cpu_s": round(sum(each.cpu_s for each in records), 1),
            "tests": len(records),
        }
        for file, records in by_file.items()
    ]


def write(found: Figures, results: Sequence[Result], folder: Path = BUILD) -> None:
    """`second-tries.json` holds the runs of this checkout, so that a test which needs a second
    try twice stands out."""
    _write(folder / "timings.json", found)
    file = folder / "second-tries.json"
    before: list[Figures] = orjson.loads(file.read_bytes()) if file.exists() else []
    now: list[Figures] = [
        {
            "commit": found["commit"],
            "date": found["date"],
            "stage": result.stage.name,
            "test": each.test,
            "second_try": each.outcome,
            "why": each.why,
        }
        for result in results
        for each in result.again
    ]
    _write(file, [*before, *now])


def _write(file: Path, value: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n")


def summary(found: Figures) -> str:
    slow = sorted(found["files"], key=lambda row: -row["seconds"])[:SLOWEST]
    tests, tries = found["tests"], found["second_tries"]
    lines = [
        "",
        f"The {len(slow)} slowest test files (seconds, CPU seconds, tests):",
        *(
            f"{row['seconds']:8.1f} {row['cpu_s']:8.1f} {row['tests']:5}  {row['file']}"
            for row in slow
        ),
        "",
        f"The {found['tier']} {'passed' if found['passed'] else 'FAILED'} in"
        f" {found['seconds']:.0f} s at commit {found['commit']}, seed {found['seed']};"
        f" {tries} second {'try' if tries == 1 else 'tries'}.",
        *(
            f"Left out, because their time to begin was over: {', '.join(found['left_out'])}."
            " The next gate adds them again."
            for _ in found["left_out"][:1]
        ),
        f"{tests['passed']} passed, {tests['failed']} failed, {tests['skipped']} skipped",
    ]
    return "\n".join(lines)


def commit() -> str:
    """The commit that was run; marked if the tree held changes."""
    head = git("rev-parse", "--short", "HEAD")
    return f"{head}+" if git("status", "--porcelain") else head


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()
