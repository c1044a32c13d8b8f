"""The page of a nightly run: what ran, with which seed, what failed, how to repeat it."""

from collections.abc import Sequence
from typing import Final

import orjson

from scripts.gate.report import Figures
from scripts.gate.runner import Result
from scripts.gate.stages import ROOT

FOLDER: Final = ROOT / "benchmarks"
MINUTES_MAX: Final = 90


def write(found: Figures, results: Sequence[Result]) -> None:
    """The page always; `nightly.json`, which the gate goes by, only if the run passed."""
    (FOLDER / "nightly.md").write_text(page(found, results), encoding="utf-8")
    if found["passed"] and not found["commit"].endswith("+"):
        flat = {
            "commit": found["commit"],
            "date": found["date"],
            "seed": found["seed"],
            "nightly_s": found["seconds"],
            "second_tries": found["second_tries"],
            **{f"tests_{outcome}": number for outcome, number in found["tests"].items()},
            **{f"stage_{each['stage']}_s": each["seconds"] for each in found["stages"]},
        }
        file = FOLDER / "nightly.json"
        file.write_bytes(orjson.dumps(flat, option=orjson.OPT_INDENT_2) + b"\n")


def page(found: Figures, results: Sequence[Result]) -> str:
    tests = found["tests"]
    lines = [
        "# The last nightly run",
        "",
        f"Commit {found['commit']}, {found['date']}, seed {found['seed']}:"
        f" **{'passed' if found['passed'] else 'failed'}** in {found['seconds'] / 60:.0f} minutes"
        f" ({MINUTES_MAX} at most). {tests['passed']:,} tests passed, {tests['failed']} failed,"
        f" {tests['skipped']} were skipped; {found['second_tries']} needed a second try.",
        "",
        f"All of it again, with the same seed: `uv run just nightly --seed {found['seed']}`.",
        "One stage: `uv run python -m scripts.gate STAGE --seed SEED`.",
        "",
        "| stage | verdict | seconds | CPU seconds | tests | what it says at its end |",
        "|---|---|---|---|---|---|",
        *(_row(each) for each in results),
        "",
        "## Failed",
        "",
        *(_failed(results) or ["Nothing."]),
        "",
        "## Second tries",
        "",
        *(_second_tries(results) or ["None."]),
    ]
    return "\n".join(lines) + "\n"


def _row(result: Result) -> str:
    verdict = "passed" if result.passed else "**failed**"
    numbers = f"{result.seconds:.0f} | {result.cpu_s:.0f} | {len(result.records) or ''}"
    return f"| {result.stage.name} | {verdict} | {numbers} | {_last_line(result)} |"


def _last_line(result: Result) -> str:
    if result.skipped:
        return result.skipped
    lines = result.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    said = lines[-1].strip(" =") if lines else ""
    return said.replace("|", "\\|")[:160]


def _failed(results: Sequence[Result]) -> list[str]:
    lines: list[str] = []
    for result in results:
        if result.passed:
            continue
        again = f"uv run python -m scripts.gate {result.stage.name}"
        lines.append(f"- {result.stage.name}: exit {result.code}; again: `{again}`")
        saved = {each.test for each in result.again if each.outcome == "passed"}
        lines += [
            f"  - `{each.test}`: {each.why}"
            for each in result.records
            if each.outcome == "failed" and each.test not in saved
        ]
    return lines


def _second_tries(results: Sequence[Result]) -> list[str]:
    return [
        f"- {result.stage.name}: `{each.test}`: {each.outcome} at its second try; first: {each.why}"
        for result in results
        for each in result.again
    ]
