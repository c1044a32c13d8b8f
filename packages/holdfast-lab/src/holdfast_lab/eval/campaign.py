"""All runs of all tasks in all arms, several at once."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from holdfast_lab.eval.record import EvalRun
from holdfast_lab.eval.runner import Budget, BudgetSpent, EvalArm, run_task
from holdfast_lab.eval.tasks import EvalTask
from holdfast_lab.eval.verifier import Sandbox

Tell: TypeAlias = Callable[[EvalRun, int, int], None]
"""A run that has ended; how many have, of how many."""


@dataclass(kw_only=True)
class Campaign:
    tasks: Sequence[EvalTask]
    arms: Sequence[EvalArm]
    runs: int = 3
    """Of each task in each arm."""
    parallel: int = 4
    budget: Budget = field(default_factory=Budget)
    sandbox: Sandbox = "bubblewrap"
    ended: list[EvalRun] = field(default_factory=list[EvalRun])
    not_run: int = 0
    """Runs that the budget did not allow."""

    @property
    def wanted(self) -> int:
        return len(self.tasks) * len(self.arms) * self.runs

    async def run(self, tell: Tell) -> None:
        """The arms take turns: a provider that is slow for an hour is slow for all of them."""
        turn = asyncio.Semaphore(self.parallel)

        async def one(number: int, task: EvalTask, arm: EvalArm) -> None:
            async with turn:
                try:
                    run = await run_task(
                        task, arm, number, budget=self.budget, sandbox=self.sandbox
                    )
                except BudgetSpent:
                    self.not_run += 1
                    return
                self.ended.append(run)
                tell(run, len(self.ended), self.wanted)

        async with asyncio.TaskGroup() as group:
            for number, task, arm in product(range(1, self.runs + 1), self.tasks, self.arms):
                group.create_task(one(number, task, arm))
