"""Rows of SWE-bench as task folders.

The folder of a task gets exactly the base commit, without the history after it: the fix is not in
it. The tests of the row are applied by the verifier, after the model has ended.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import orjson

from holdfast.domain.errors import HoldfastError

NEEDED: Final = ("repo", "base_commit", "problem_statement", "test_patch", "FAIL_TO_PASS")
COMMIT: Final = re.compile(r"[0-9a-f]{40}")
REPO: Final = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")
UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.-]+")
AGENT_S: Final = 1800.0
VERIFIER_S: Final = 1800.0


class WrongRow(HoldfastError):
    """A row that is no task; says why."""


def read_rows(path: Path) -> list[dict[str, Any]]:
    """JSON lines, or one JSON list. Raises `WrongRow`."""
    text = path.read_bytes()
    try:
        found: Any = orjson.loads(text) if text.lstrip().startswith(b"[") else None
        if found is None:
            found = [orjson.loads(line) for line in text.splitlines() if line.strip()]
    except orjson.JSONDecodeError as error:
        raise WrongRow(f"{path} is not JSON: {error}") from error
    rows = cast("list[Any]", found)
    if not all(isinstance(row, dict) for row in rows):
        raise WrongRow(f"{path}: each row is an object.")
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    repositories: str
    """A URL or a folder; the name of the repository is added."""
    test_command: str
    image: str

    def write(self, row: Mapping[str, Any], into: Path) -> Path:
        """The new folder of the task. Raises `WrongRow`."""
        for name in NEEDED:
            if not row.get(name):
                raise WrongRow(f"{_name(row)}: the row has no {name}.")
        if not COMMIT.fullmatch(str(row["base_commit"])) or not REPO.fullmatch(str(row["repo"])):
            raise WrongRow(f"{_name(row)}: repo is OWNER/NAME, base_commit has 40 hex digits.")
        folder = into / _name(row)
        for name, text in self._files(row):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return folder

    def _files(self, row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        yield "task.toml", _toml(row)
        yield "instruction.md", f"{str(row['problem_statement']).strip()}\n"
        yield "environment/Dockerfile", self._dockerfile(row)
        yield "environment/setup.sh", self._setup(row)
        yield "tests/test.patch", _patch(row["test_patch"])
        yield "tests/test.sh", self._test(row)
        yield "solution/solve.sh", SOLVE
        yield "solution/solution.patch", _patch(row.get("patch") or "")

    def _dockerfile(self, row: Mapping[str, Any]) -> str:
        image = self.image.replace("{id}", _name(row))
        return (
            f"FROM {image}\nRUN mkdir -p /app\nCOPY setup.sh /opt/setup.sh\n"
            "RUN sh /opt/setup.sh /app\nWORKDIR /app\n"
        )

    def _setup(self, row: Mapping[str, Any]) -> str:
        source = shlex.quote(f"{self.repositories.rstrip('/')}/{row['repo']}")
        return SETUP.format(source=source, commit=row["base_commit"])

    def _test(self, row: Mapping[str, Any]) -> str:
        names = (*named_tests(row["FAIL_TO_PASS"]), *named_tests(row.get("PASS_TO_PASS") or ()))
        named = " ".join(shlex.quote(name) for name in names)
        return TEST.format(command=f"{self.test_command} {named}")


def named_tests(given: object) -> tuple[str, ...]:
    """The data set has a list, or a list as JSON text. Raises `WrongRow`."""
    try:
        found: Any = orjson.loads(given) if isinstance(given, str) else given
    except orjson.JSONDecodeError as error:
        raise WrongRow(f"A list of tests is not JSON: {error}") from error
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise WrongRow("The tests of a row are a list of names.")
    return tuple(str(name) for name in cast("Sequence[Any]", found))


def _name(row: Mapping[str, Any]) -> str:
    """Of the folder: no path leads out of where it belongs."""
    given = row.get("instance_id") or f"{row.get('repo')}-{str(row.get('base_commit'))[:12]}"
    return UNSAFE.sub("__", str(given)).strip(".") or "row"


def _patch(text: object) -> str:
    said = str(text)
    return said if not said or said.endswith("\n") else f"{said}\n"


def _toml(row: Mapping[str, Any]) -> str:
    return (
        'version = "1.0"\n\n[metadata]\n'
        f'author_name = "SWE-bench"\ndifficulty = "hard"\ncategory = "{row["repo"]}"\n\n'
        f"[agent]\ntimeout_sec = {AGENT_S}\n\n[verifier]\ntimeout_sec = {VERIFIER_S}\n\n"
        "[environment]\nbuild_timeout_sec = 1800.0\ncpus = 2\nmemory_mb = 4096\n"
        "storage_mb = 10240\n"
    )


SETUP: Final = """#!/bin/sh
# Fills the folder of the task with exactly the base commit.
set -eu
cd "${{1:-/app}}"
git init -q -b main
git fetch -q --depth 1 {source} {commit}
git -c advice.detachedHead=false checkout -q -B main FETCH_HEAD
rm -f .git/FETCH_HEAD
"""
TEST: Final = """#!/bin/sh
# Applies the tests of the row; writes 1 to reward.txt if they pass, else 0.
set -u
root=${{EVAL_ROOT:-/app}}
logs=${{EVAL_LOGS:-/logs/verifier}}
tests=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$logs"
echo 0 >"$logs/reward.txt"
cd "$root" || exit 0
# The row's version of its test files, whatever the model has done to them.
git apply --numstat "$tests/test.patch" | cut -f 3 | while read -r file; do
    git checkout -q HEAD -- "$file" 2>/dev/null || rm -f "$file"
done
git apply "$tests/test.patch" || exit 0
{command} && echo 1 >"$logs/reward.txt"
"""
SOLVE: Final = """#!/bin/sh
# Applies the solution of the row.
set -eu
cd "${EVAL_ROOT:-/app}"
patch=$(cd "$(dirname "$0")" && pwd)/solution.patch
[ -s "$patch" ] || { echo "The row has no solution." >&2; exit 1; }
git apply "$patch"
"""
