"""Every task that `holdfast lab eval` brings along: its solution passes, and an empty run fails."""

from pathlib import Path

import pytest

from holdfast_lab.eval.oracle import check_task, counts_of
from holdfast_lab.eval.tasks import OWN_TASKS, find_tasks, read_task

NAMES = [task.name for task in find_tasks(OWN_TASKS)]


@pytest.mark.parametrize("name", NAMES)
async def test_solution_passes_and_empty_run_fails(name: str) -> None:
    checked = await check_task(read_task(OWN_TASKS / name), "bubblewrap")

    assert (checked.empty, checked.solved) == (0.0, 1.0), checked.said


def broken(folder: Path, file: str, text: str) -> Path:
    """A copy of a task with one script replaced."""
    task = folder / "bug-slug"
    for source in (OWN_TASKS / "bug-slug").rglob("*"):
        if source.is_file():
            copy = task / source.relative_to(OWN_TASKS / "bug-slug")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(source.read_bytes())
    (task / file).write_text(text)
    return task


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("solution/solve.sh", "exit 0\n"),
        ("solution/solve.sh", "echo no way; exit 1\n"),
        ("environment/setup.sh", "exit 1\n"),
        ("tests/test.sh", 'echo 1 >"$EVAL_LOGS/reward.txt"\n'),
        ("tests/test.sh", 'echo 2 >"$EVAL_LOGS/reward.txt"\n'),
        ("tests/test.sh", "exit 0\n"),
    ],
    ids=["idle", "failing", "no-setup", "generous", "no-reward-above-1", "no-reward"],
)
async def test_broken_task_is_noticed(tmp_path: Path, file: str, text: str) -> None:
    checked = await check_task(read_task(broken(tmp_path, file, text)), "bubblewrap")

    assert not checked.holds
    counts = counts_of([checked])
    assert counts["solutions_failed"] + counts["empty_runs_passed"] > 0


async def test_verifier_sees_neither_the_network_nor_other_files(tmp_path: Path) -> None:
    """The judged files were written by a model: a test that runs them must do no harm."""
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    script = (
        f'cat {secret} && echo 1 >"$EVAL_LOGS/reward.txt"\n'
        "python3 -c \"import socket; socket.create_connection(('127.0.0.1', 5432), 1)\""
        ' && echo 1 >"$EVAL_LOGS/reward.txt"\n'
    )

    walled = await check_task(read_task(broken(tmp_path, "tests/test.sh", script)), "bubblewrap")
    bare = await check_task(read_task(broken(tmp_path, "tests/test.sh", script)), "external")

    assert walled.empty == walled.solved == 0.0
    assert bare.empty == 1.0, "without a wall the same script reaches the file"


async def test_verifier_without_an_end_is_ended(tmp_path: Path) -> None:
    task = broken(tmp_path, "tests/test.sh", "sleep 1000 & sleep 1000\n")
    toml = (task / "task.toml").read_text().replace("timeout_sec = 60.0", "timeout_sec = 0.5")
    (task / "task.toml").write_text(toml)

    checked = await check_task(read_task(task), "bubblewrap")

    assert "did not end" in checked.said
