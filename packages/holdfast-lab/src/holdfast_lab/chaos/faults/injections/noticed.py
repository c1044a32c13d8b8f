"""Protections from planted instructions, taken away: what then goes through."""

import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any, Final

from holdfast.adapters.workspaces.local import Local
from holdfast.ports.tools import never
from holdfast.tools import client
from holdfast.turn.steps import generate
from holdfast_lab.chaos.attack import Mutant
from holdfast_lab.chaos.faults.injections.campaign import played, played_on
from holdfast_lab.chaos.faults.injections.corpus import Injection, corpus
from holdfast_lab.chaos.faults.injections.scene import Verdict
from holdfast_lab.chaos.mutants import instead_of

ATTACK: Final = "planted instructions"
UNGUARDED: Final = (sys.executable, "-P", "-m", f"{__package__}.unguarded")


def _no_fence(_: str) -> bool:
    return False


@contextmanager
def _unguarded_agents() -> Generator[None]:
    spawn = Local._spawn  # pyright: ignore[reportPrivateUsage]

    def instead(self: Any, place: Any) -> Any:
        self._options = replace(self._options, agent=UNGUARDED)
        return spawn(self, place)

    with instead_of(Local, "_spawn", instead):
        yield


Removed = Callable[[], AbstractContextManager[None]]
MUTANTS: Final[dict[str, tuple[int, Removed, dict[str, Any]]]] = {
    "foreign text is trusted": (1, nullcontext, {"foreign_text": "allow"}),
    "instruction files are trusted": (
        2,
        lambda: instead_of(generate, "holds_fence", _no_fence),
        {},
    ),
    "an open world counts as closed": (31, lambda: instead_of(client, "always", never), {}),
    "file tools write to repositories": (35, _unguarded_agents, {}),
}
"""By name: the injection that must go through, what is removed, and settings."""


def injection_of(mutant: str) -> Injection:
    number, _, _ = MUTANTS[mutant]
    return next(each for each in corpus() if each.number == number)


async def played_without(mutant: str, database_url: str, simulator: str) -> list[Verdict]:
    _, removed, settings = MUTANTS[mutant]
    with removed():
        return await played_on(database_url, simulator, [injection_of(mutant)], **settings)


def injection_mutants() -> list[Mutant]:
    # They change this very process.
    return [Mutant(name, ATTACK, _noticed(name), alone=True) for name in MUTANTS]


def _noticed(mutant: str) -> Callable[[], Awaitable[bool]]:
    async def notice() -> bool:
        _, removed, settings = MUTANTS[mutant]
        with removed():
            verdicts = await played([injection_of(mutant)], **settings)
        return any(verdict.through for verdict in verdicts)

    return notice
