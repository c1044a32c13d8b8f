"""Tasks: folders in the layout of Harbor and Terminal-Bench 2.

task.toml                  difficulty, category, time limits
instruction.md             what the model is asked
environment/Dockerfile     for Harbor; runs setup.sh
environment/setup.sh       fills a fresh folder, named by its first argument
tests/test.sh              writes a reward from 0 to 1 to reward.txt
solution/solve.sh          solves the task
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, cast

from holdfast.domain.errors import HoldfastError

OWN_TASKS: Final = Path(__file__).parent / "own_tasks"
DIFFICULTIES: Final = ("easy", "medium", "hard")
FILES: Final = (
    "instruction.md",
    "environment/Dockerfile",
    "environment/setup.sh",
    "tests/test.sh",
    "solution/solve.sh",
)


class WrongTask(HoldfastError):
    """A folder that is no task; says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalTask:
    name: str
    folder: Path
    instruction: str
    difficulty: str
    category: str
    agent_s: float
    """Time limit of the model."""
    verifier_s: float
    """Time limit of tests/test.sh."""

    @property
    def setup(self) -> Path:
        return self.folder / "environment" / "setup.sh"

    @property
    def tests(self) -> Path:
        return self.folder / "tests"

    @property
    def solution(self) -> Path:
        return self.folder / "solution"


def read_task(folder: Path) -> EvalTask:
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise WrongTask(f"{folder} is no task: it has no {', '.join(missing)}.")
    try:
        given = tomllib.loads((folder / "task.toml").read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise WrongTask(f"{folder / 'task.toml'} cannot be read: {error}") from error
    about = _table(given, "metadata")
    difficulty = about.get("difficulty")
    if difficulty not in DIFFICULTIES:
        raise WrongTask(f"{folder}: the difficulty is {', '.join(DIFFICULTIES)}.")
    instruction = (folder / "instruction.md").read_text(encoding="utf-8").strip()
    if not instruction:
        raise WrongTask(f"{folder}: instruction.md is empty.")
    return EvalTask(
        name=folder.name,
        folder=folder,
        instruction=instruction,
        difficulty=difficulty,
        category=str(about.get("category", "")),
        agent_s=_seconds(folder, given, "agent"),
        verifier_s=_seconds(folder, given, "verifier"),
    )


def find_tasks(folder: Path, wanted: Sequence[str] = ()) -> list[EvalTask]:
    """The tasks below a folder, by name. `wanted`: patterns of names, a difficulty or a category;
    none: all."""
    names = sorted(each.parent for each in folder.glob("*/task.toml"))
    tasks = [read_task(each) for each in names]
    for pattern in wanted:
        if not any(_fits(task, pattern) for task in tasks):
            raise WrongTask(f"No task in {folder} fits {pattern!r}.")
    chosen = [task for task in tasks if not wanted or any(_fits(task, each) for each in wanted)]
    if not chosen:
        raise WrongTask(f"There is no task in {folder}.")
    return chosen


def _fits(task: EvalTask, pattern: str) -> bool:
    return pattern in (task.difficulty, task.category) or fnmatchcase(task.name, pattern)


def _table(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = given.get(name)
    return cast(dict[str, Any], found) if isinstance(found, dict) else {}


def _seconds(folder: Path, given: Mapping[str, Any], section: str) -> float:
    found = _table(given, section).get("timeout_sec")
    if not isinstance(found, int | float) or isinstance(found, bool) or found <= 0:
        raise WrongTask(f"{folder}: [{section}] timeout_sec is a number of seconds above 0.")
    return float(found)
