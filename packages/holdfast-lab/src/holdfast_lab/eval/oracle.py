"""Checks tasks without a model: the solution gets reward 1, and an empty run gets 0."""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast_lab.eval.tasks import EvalTask
from holdfast_lab.eval.verifier import RunFolders, Sandbox, ScriptFailed, judge, set_up, solve

AT_ONCE: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCheck:
    task: str
    empty: float
    solved: float
    said: str = ""
    """What the script or the verifier said, if something is wrong."""

    @property
    def holds(self) -> bool:
        return self.empty == 0.0 and self.solved == 1.0


async def check_tasks(tasks: Sequence[EvalTask], sandbox: Sandbox) -> list[TaskCheck]:
    turn = asyncio.Semaphore(AT_ONCE)

    async def check(task: EvalTask) -> TaskCheck:
        async with turn:
            return await check_task(task, sandbox)

    async with asyncio.TaskGroup() as group:
        checks = [group.create_task(check(task)) for task in tasks]
    return [each.result() for each in checks]


def counts_of(checks: Sequence[TaskCheck]) -> dict[str, int]:
    """For a benchmark: the tasks, and what is wrong with them."""
    return {
        "eval_tasks": len(checks),
        "solutions_failed": sum(each.solved != 1.0 for each in checks),
        "empty_runs_passed": sum(each.empty != 0.0 for each in checks),
    }


async def check_task(task: EvalTask, sandbox: Sandbox) -> TaskCheck:
    with tempfile.TemporaryDirectory(prefix="holdfast-eval-") as name:
        folders = RunFolders(Path(name) / "files", Path(name) / "logs")
        folders.root.mkdir()
        folders.logs.mkdir()
        try:
            await set_up(task, folders.root)
            empty = await judge(task, folders, "", sandbox)
            await solve(task, folders)
            solved = await judge(task, folders, "", sandbox)
        except ScriptFailed as failed:
            return TaskCheck(task=task.name, empty=0.0, solved=0.0, said=str(failed))
    said = empty.said if empty.reward else solved.said
    return TaskCheck(task=task.name, empty=empty.reward, solved=solved.reward, said=said)
