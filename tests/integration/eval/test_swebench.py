"""Rows of SWE-bench become tasks, from a repository on this machine."""

import os
import subprocess
from pathlib import Path
from typing import Any

import orjson
import pytest

from holdfast_lab.eval.oracle import check_task
from holdfast_lab.eval.swebench import Adapter, WrongRow, named_tests, read_rows
from holdfast_lab.eval.tasks import read_task
from holdfast_lab.eval.verifier import set_up

WRONG = "def double(x):\n    return x + 2\n"
RIGHT = "def double(x):\n    return 2 * x\n"
OLD_TEST = "def test_two():\n    assert True\n"
NEW_TEST = (
    "import unittest\nfrom double import double\n\n\nclass DoubleTest(unittest.TestCase):\n"
    "    def test_three(self):\n        self.assertEqual(double(3), 6)\n"
)


class Repository:
    """A local one; `mirror` is the folder that plays GitHub."""

    def __init__(self, folder: Path) -> None:
        self.mirror = folder / "mirror"
        self.path = self.mirror / "ada" / "double"
        self.path.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        said = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org"}
        said |= {"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org"}
        done = subprocess.run(
            ("git", *arguments),
            cwd=self.path,
            check=True,
            capture_output=True,
            text=True,
            env={"PATH": os.environ["PATH"], **said},
        )
        return done.stdout

    def commit(self, **files: str) -> str:
        for name, text in files.items():
            (self.path / f"{name}.py").write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "Change.")
        return self.git("rev-parse", "HEAD").strip()

    def patch(self, base: str, name: str) -> str:
        return self.git("diff", base, "HEAD", "--", f"{name}.py")


def a_row(repository: Repository) -> dict[str, Any]:
    base = repository.commit(double=WRONG, test_double=OLD_TEST)
    repository.commit(double=RIGHT, test_double=NEW_TEST)
    return {
        "instance_id": "ada__double-1",
        "repo": "ada/double",
        "base_commit": base,
        "problem_statement": "`double(3)` is 5.",
        "test_patch": repository.patch(base, "test_double"),
        "patch": repository.patch(base, "double"),
        "FAIL_TO_PASS": '["test_double.DoubleTest.test_three"]',
    }


def adapter(repository: Repository) -> Adapter:
    return Adapter(
        repositories=str(repository.mirror),
        test_command="python3 -B -m unittest -q",
        image="swebench/{id}",
    )


async def test_row_becomes_a_task_that_its_patch_solves(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    row = a_row(repository)
    (tmp_path / "rows.jsonl").write_bytes(orjson.dumps(row) + b"\n")

    (read,) = read_rows(tmp_path / "rows.jsonl")
    task = read_task(adapter(repository).write(read, tmp_path / "tasks"))
    checked = await check_task(task, "bubblewrap")

    assert (task.name, task.instruction) == ("ada__double-1", "`double(3)` is 5.")
    assert (checked.empty, checked.solved) == (0.0, 1.0), checked.said
    assert "FROM swebench/ada__double-1" in (task.folder / "environment/Dockerfile").read_text()


async def test_folder_of_a_task_does_not_hold_the_solution(tmp_path: Path) -> None:
    """The model could find a later commit in the history."""
    repository = Repository(tmp_path)
    task = read_task(adapter(repository).write(a_row(repository), tmp_path / "tasks"))
    root = tmp_path / "root"
    root.mkdir()

    await set_up(task, root)

    repository.path = root
    assert repository.git("rev-list", "--all", "--count").strip() == "1"
    assert repository.git("remote").strip() == ""
    fixed = repository.git("cat-file", "--batch-all-objects", "--batch-check", "--unordered")
    assert fixed.count("commit") == 1
    assert (root / "double.py").read_text() == WRONG


async def test_tests_that_the_model_changed_do_not_count(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    folder = adapter(repository).write(a_row(repository), tmp_path / "tasks")
    (folder / "solution/solve.sh").write_text(
        'cd "$EVAL_ROOT"\ncat >test_double.py <<END\nimport unittest\n'
        "class DoubleTest(unittest.TestCase):\n    def test_three(self): pass\nEND\n"
    )

    checked = await check_task(read_task(folder), "bubblewrap")

    assert checked.solved == 0.0


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"test_patch": ""}, "no test_patch"),
        ({"base_commit": "$(id)"}, "40 hex digits"),
        ({"repo": "../../etc"}, "OWNER/NAME"),
        ({"FAIL_TO_PASS": "[broken"}, "not JSON"),
        ({"FAIL_TO_PASS": '"one"'}, "list of names"),
    ],
)
def test_wrong_row_is_refused(tmp_path: Path, change: dict[str, str], why: str) -> None:
    repository = Repository(tmp_path)

    with pytest.raises(WrongRow, match=why):
        adapter(repository).write({**a_row(repository), **change}, tmp_path / "tasks")


def test_name_of_a_row_leads_nowhere_else(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    row = {**a_row(repository), "instance_id": "../../x; rm -rf /"}

    folder = adapter(repository).write(row, tmp_path / "tasks")

    assert folder.parent == tmp_path / "tasks"


def test_rows_are_lines_or_a_list(tmp_path: Path) -> None:
    file = tmp_path / "rows"
    for text, number in (('{"a": 1}\n\n{"a": 2}\n', 2), ('[{"a": 1}]', 1)):
        file.write_text(text)
        assert len(read_rows(file)) == number
    for text in ("no json", "[1]"):
        file.write_text(text)
        with pytest.raises(WrongRow):
            read_rows(file)
    assert named_tests(["a", "b"]) == ("a", "b")
