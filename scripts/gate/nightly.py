"""The page of a nightly run: what ran, with which seed, what failed, how to repeat it.

`just nightly --again` runs only the stages that have not passed in the last run of this checkout
and puts them in the place of their rows. Each row names the commit that it ran on. The gate goes by
the oldest of them: a file that changed since then adds what protects it.
"""

import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Final

import orjson

from scripts.gate.report import commit
from scripts.gate.runner import Result, last_line
from scripts.gate.stages import BUILD, ROOT, Stage

FOLDER: Final = ROOT / "benchmarks"
KEPT: Final = BUILD / "nightly.json"
"""The rows of the last run of this checkout, for `--again`."""
MINUTES_MAX: Final = 90


@dataclass(frozen=True)
class Row:
    """What became of one stage."""

    stage: str
    commit: str
    seed: int
    passed: bool
    seconds: float
    cpu_s: float
    tests: dict[str, int]
    said: str
    """The last line of its log."""
    failures: list[str] = field(default_factory=list[str])
    second_tries: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Night:
    """All rows, and how long it took to make them."""

    date: str
    seconds: float
    rows: list[Row]

    @property
    def passed(self) -> bool:
        return all(row.passed for row in self.rows)

    @property
    def commits(self) -> list[str]:
        return list(dict.fromkeys(row.commit for row in self.rows))

    def tests(self, outcome: str) -> int:
        return sum(row.tests.get(outcome, 0) for row in self.rows)

    @property
    def second_tries(self) -> int:
        return sum(len(row.second_tries) for row in self.rows)


def failed_stages(stages: Sequence[Stage]) -> list[Stage]:
    """The stages that did not pass in the last run of this checkout, with what they build on."""
    last = _kept()
    passed = {row.stage for row in last.rows if row.passed} if last else set[str]()
    missing = [stage for stage in stages if stage.name not in passed]
    needed = {name for stage in missing for name in stage.after}
    return [stage for stage in stages if stage in missing or stage.name in needed]


class Keeper:
    """Keeps the row of each stage as soon as it is over, so that a run that is ended early can be
    resumed."""

    def __init__(self, seed: int, *, again: bool) -> None:
        self._seed = seed
        self._commit = commit()
        last = _kept() if again else None
        self._seconds_before = last.seconds if last else 0.0
        self._rows = {row.stage: row for row in last.rows} if last else dict[str, Row]()
        self._began_s = time.monotonic()

    def keep(self, result: Result) -> None:
        row = row_of(self._commit, self._seed, result)
        self._rows[row.stage] = row
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        KEPT.write_bytes(orjson.dumps(asdict(self.night())))

    def night(self) -> Night:
        seconds = self._seconds_before + time.monotonic() - self._began_s
        return Night(f"{datetime.now(UTC):%Y-%m-%d}", seconds, list(self._rows.values()))


def write(night: Night) -> None:
    """The page always; `nightly.json`, which the gate goes by, only if every stage passed."""
    (FOLDER / "nightly.md").write_text(page(night), encoding="utf-8")
    if night.passed and not any(commit.endswith("+") for commit in night.commits):
        (FOLDER / "nightly.json").write_bytes(
            orjson.dumps(flat(night, oldest(night.commits)), option=orjson.OPT_INDENT_2) + b"\n"
        )
        (FOLDER / "stages.json").unlink(missing_ok=True)  # rows of before this run


def _kept() -> Night | None:
    if not KEPT.exists():
        return None
    kept = orjson.loads(KEPT.read_bytes())
    return Night(kept["date"], kept["seconds"], [Row(**row) for row in kept["rows"]])


def row_of(commit: str, seed: int, result: Result) -> Row:
    return Row(
        stage=result.stage.name,
        commit=commit,
        seed=seed,
        passed=result.passed,
        seconds=round(result.seconds, 1),
        cpu_s=round(result.cpu_s, 1),
        tests={each: result.counted(each) for each in ("passed", "failed", "skipped")},
        said=_last_line(result),
        failures=_failures(result),
        second_tries=[
            f"- {result.stage.name}: `{each.test}`: {each.outcome} at its second try;"
            f" first: {each.why}"
            for each in result.again
        ],
    )


def oldest(commits: Sequence[str]) -> str:
    """The commit that every other one descends from."""
    asked = ["git", "merge-base", "--octopus", *commits]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    return next(name for name in commits if done.stdout.startswith(name))


def flat(night: Night, commit: str) -> dict[str, str | int | float]:
    return {
        "commit": commit,
        "date": night.date,
        "seed": night.rows[0].seed,
        "nightly_s": round(night.seconds, 1),
        "second_tries": night.second_tries,
        **{f"tests_{each}": night.tests(each) for each in ("passed", "failed", "skipped")},
        **{f"stage_{row.stage}_s": row.seconds for row in night.rows},
    }


def page(night: Night) -> str:
    failures = [line for row in night.rows for line in row.failures]
    tries = [line for row in night.rows for line in row.second_tries]
    seed = night.rows[0].seed
    parts = (
        f" Stages that failed were mended and run again (`just nightly --again`), so the rows name"
        f" {len(night.commits)} commits; the minutes are those of all runs together."
        if len(night.commits) > 1
        else ""
    )
    lines = [
        "# The last nightly run",
        "",
        f"Commit {', '.join(night.commits)}, {night.date}, seed {seed}:"
        f" **{'passed' if night.passed else 'failed'}** in {night.seconds / 60:.0f} minutes"
        f" ({MINUTES_MAX} at most). {night.tests('passed'):,} tests passed,"
        f" {night.tests('failed')} failed, {night.tests('skipped')} were skipped;"
        f" {night.second_tries} needed a second try.{parts}",
        "",
        f"All of it again, with the same seed: `uv run just nightly --seed {seed}`.",
        "One stage: `uv run python -m scripts.gate STAGE --seed SEED`.",
        "",
        "| stage | commit | verdict | seconds | CPU seconds | tests | what it says at its end |",
        "|---|---|---|---|---|---|---|",
        *(_line(row) for row in night.rows),
        "",
        "## Failed",
        "",
        *(failures or ["Nothing."]),
        "",
        "## Second tries",
        "",
        *(tries or ["None."]),
    ]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    verdict = "passed" if row.passed else "**failed**"
    numbers = f"{row.seconds:.0f} | {row.cpu_s:.0f} | {sum(row.tests.values()) or ''}"
    return f"| {row.stage} | {row.commit} | {verdict} | {numbers} | {row.said} |"


def _last_line(result: Result) -> str:
    if result.skipped:
        return result.skipped
    return last_line(result.log).replace("|", "\\|")[:160]


def _failures(result: Result) -> list[str]:
    if result.passed:
        return []
    again = f"uv run python -m scripts.gate {result.stage.name}"
    saved = {each.test for each in result.again if each.outcome == "passed"}
    return [
        f"- {result.stage.name}: exit {result.code}; again: `{again}`",
        *(
            f"  - `{each.test}`: {each.why}"
            for each in result.records
            if each.outcome == "failed" and each.test not in saved
        ),
    ]
