"""A mutant: an agent that ends the first process of a command, and lets the rest of its tree live.

    python -m holdfast_lab.chaos.hands.careless --root FOLDER …

Three walls stand before that, and all are taken down: what holds every command together (a
namespace or a keeper), the walk through the tree, and the search for what was left behind.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from holdfast_agent import processes
from holdfast_agent.command import main
from holdfast_agent.external import External
from holdfast_agent.launching import Command, Launch
from holdfast_agent.spawned import Spawned

_launch = External.launch


@contextmanager
def _bare(self: External, command: Command, key: str) -> Generator[Launch]:
    with _launch(self, command, key) as launch:
        yield replace(launch, argv=command.argv, errors_fd=None, wall=1)


def _strike_first(self: Any) -> None:
    self._struck = True
    self._child.kill()


async def _leave_strangers(*_: object) -> None:
    pass


if __name__ == "__main__":
    External.launch = _bare
    Spawned._strike = _strike_first  # pyright: ignore[reportPrivateUsage]
    processes.strangers_gone = _leave_strangers
    main()
