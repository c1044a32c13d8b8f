"""Tasks of `holdfast lab eval`: a folder is read, or refused with a reason."""

from collections import Counter
from pathlib import Path

import pytest

from holdfast_lab.eval.tasks import FILES, OWN_TASKS, WrongTask, find_tasks, read_task

TOML = """version = "1.0"
[metadata]
difficulty = "easy"
category = "bug-fix"
[agent]
timeout_sec = 300.0
[verifier]
timeout_sec = 60
"""


def a_task(folder: Path, name: str = "one", toml: str = TOML) -> Path:
    task = folder / name
    for file in FILES:
        (task / file).parent.mkdir(parents=True, exist_ok=True)
        (task / file).write_text("Do it.\n")
    (task / "task.toml").write_text(toml)
    return task


def test_task_has_its_instruction_and_limits(tmp_path: Path) -> None:
    task = read_task(a_task(tmp_path))

    assert (task.name, task.instruction, task.difficulty, task.category) == (
        *("one", "Do it."),
        *("easy", "bug-fix"),
    )
    assert (task.agent_s, task.verifier_s) == (300.0, 60.0)


@pytest.mark.parametrize("file", FILES)
def test_task_without_a_file_is_refused(tmp_path: Path, file: str) -> None:
    folder = a_task(tmp_path)
    (folder / file).unlink()

    with pytest.raises(WrongTask, match=file):
        read_task(folder)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"easy"', '"simple"', "difficulty"),
        ("timeout_sec = 300.0", "", "agent"),
        ("timeout_sec = 60", "timeout_sec = true", "verifier"),
        ("timeout_sec = 60", "timeout_sec = 0", "verifier"),
        ("[agent]", "[agent", "cannot be read"),
    ],
)
def test_task_with_wrong_settings_is_refused(tmp_path: Path, old: str, new: str, why: str) -> None:
    with pytest.raises(WrongTask, match=why):
        read_task(a_task(tmp_path, toml=TOML.replace(old, new)))


def test_task_with_an_empty_instruction_is_refused(tmp_path: Path) -> None:
    folder = a_task(tmp_path)
    (folder / "instruction.md").write_text(" \n")

    with pytest.raises(WrongTask, match="empty"):
        read_task(folder)


def test_tasks_are_chosen_by_pattern_difficulty_or_category(tmp_path: Path) -> None:
    a_task(tmp_path, "bug-one")
    a_task(tmp_path, "git-two", TOML.replace("easy", "hard").replace("bug-fix", "git"))

    def names(*wanted: str) -> list[str]:
        return [task.name for task in find_tasks(tmp_path, wanted)]

    assert names() == ["bug-one", "git-two"]
    assert names("bug-*") == ["bug-one"]
    assert names("hard") == names("git") == ["git-two"]
    with pytest.raises(WrongTask, match="no-such"):
        names("bug-one", "no-such")


def test_folder_without_tasks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongTask, match="There is no task"):
        find_tasks(tmp_path)


def test_own_tasks_are_thirty_in_three_difficulties() -> None:
    tasks = find_tasks(OWN_TASKS)

    assert Counter(task.difficulty for task in tasks) == {"easy": 10, "medium": 10, "hard": 10}
    assert Counter(task.category for task in tasks) == {
        "bug-fix": 6,
        "feature": 5,
        "refactor": 3,
        "large-file": 3,
        "build": 3,
        "server": 2,
        "long-output": 2,
        "git": 2,
        "instructions": 2,
        "trust": 1,
        "question": 1,
    }
    assert all(120 <= task.agent_s <= 900 for task in tasks)


def test_own_tasks_run_in_harbor_as_they_do_here() -> None:
    """The Dockerfile runs setup.sh; scripts use Harbor's paths unless variables name others."""
    for task in find_tasks(OWN_TASKS):
        dockerfile = (task.folder / "environment" / "Dockerfile").read_text()
        assert "COPY setup.sh" in dockerfile
        assert "RUN sh /opt/setup.sh /app" in dockerfile
        assert 'cd "${1:-/app}"' in task.setup.read_text()
        test = (task.tests / "test.sh").read_text()
        assert "${EVAL_ROOT:-/app}" in test
        assert "${EVAL_LOGS:-/logs/verifier}" in test
        assert "${EVAL_ROOT:-/app}" in (task.solution / "solve.sh").read_text()
        assert "/app" not in task.instruction
