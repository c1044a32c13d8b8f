"""How a command becomes a process: the seam between the processes and the wall around them.

A launcher turns a command into the words that are executed. It never spawns commands by itself:
`processes.py` does, always in the same way (`spawned.py`), and kills what came of it.
Helpers of its own that live in a session of their own it starts before the first command, or they
will be taken for what a command left behind (`trees.py`).
"""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from holdfast_agent.wire import SandboxReport

_SHELLS: Final = ("/bin/bash", "/bin/sh")


def find_shell() -> str:
    """The shell of commands: models write for bash. The sandbox shows the machine's own `/bin`."""
    return next((shell for shell in _SHELLS if os.access(shell, os.X_OK)), _SHELLS[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What is asked for, as the process itself is to see it."""

    argv: tuple[str, ...]
    cwd: str = ""
    """Relative to the workspace's folder."""
    env: Mapping[str, str]
    """All of it: nothing of the agent's own environment is added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What is executed by the agent to that end."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    """Of the launcher process; readable from inside (F6), so as clean as the command's."""
    cwd: str
    """Absolute."""
    pass_fds: tuple[int, ...] = ()
    errors_fd: int | None = None
    """For the launcher's own errors, if it joins the command's with its output by itself."""
    wall: int = 2
    """How many generations at the top of the tree belong to the launcher and are never signalled:
    with bubblewrap two, itself and the first process of the namespace. From two on, killing the
    second generation kills everything; with one, the tree is killed process by process."""


class Launcher(Protocol):
    """Raises `Refused` where a command cannot be launched: its folder is not there, or outside."""

    @property
    def mode(self) -> Literal["bubblewrap", "external"]: ...

    def launch(self, command: Command, key: str) -> AbstractContextManager[Launch]:
        """The context ends right after the spawn: its file descriptors are closed then.

        Quick, without blocking: it is called on the loop. `key` is unique among all processes of
        this agent, of whatever chat, and safe as a file name.
        """
        ...

    def ended(self, key: str) -> str | None:
        """The process and its whole tree are gone: release what it held (a cgroup). Why it ended,
        if there is more to it than its exit code: `out of memory`. Called once for every launch,
        also for one whose spawn failed."""
        ...

    async def check(self) -> SandboxReport:
        """Attack the wall from within and say what got out."""
        ...
