"""Commands without a wall of ours: a container or a virtual machine is the wall.

What is left to do is to end whole trees. Two ways, the first that works here:

- `namespace`: every command in a PID namespace of its own (util-linux's `unshare`), whose first
  process takes all others with it. A shell is that first process, for a command as number 1 would
  hear no signals. As root nothing else changes; for other users it is a user namespace, too, in
  which `sudo` does not work.
- `keeper`: `keeper.py` above every command, which adopts its orphans. Works everywhere, knows no
  limits of its own, and costs a Python start per command.

Commands run as `person`. As another user than the agent they can neither read its token nor signal
it nor write its journal. The keeper stays the agent's own then, so that no command can end it.
"""

import asyncio
import logging
import os
import shutil
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypeAlias

from holdfast_agent.environment import PLAIN
from holdfast_agent.faults import Refused
from holdfast_agent.launching import Command, Launch
from holdfast_agent.sandbox.person import Person, ourselves
from holdfast_agent.wire import FaultCode, SandboxReport

Tree: TypeAlias = Literal["namespace", "keeper"]

KEEPER: Final = str(Path(__file__).with_name("keeper.py"))
CHECK_S: Final = 10.0
FIRST: Final = """\
echo ready >&2 && read -r go <&2 || exit 1
exec 2>/dev/null
"$@" 2>&1
exit $?"""
"""The first process of a namespace. Descriptor 2 is its line to the agent: it begins only when told
to, for by then every process above dies with its parent, and nothing is left if the agent dies in
this very moment. Afterwards its own errors go nowhere: `sh` would report how its child died."""
IN_FOLDER: Final = 'cd -- "$1" || exit 126; shift; unset OLDPWD; exec "$@"'
"""Only the user of the commands may enter every folder of the workspace."""
SAME_USER: Final = (
    "Commands run as the agent's own user: they can read its token, signal it and write its"
    " journal. Give them another user with --run-as (docs/how-to/run-an-agent.md)."
)
_LOG: Final = logging.getLogger(__name__)


class External:
    """`check` first: it chooses the way, unless that is given."""

    def __init__(self, root: Path, tree: Tree | None = None, person: Person | None = None) -> None:
        self._root = root.resolve()
        self._tree = tree
        self._person = person or ourselves()
        self._lines: dict[str, socket.socket] = {}

    @property
    def mode(self) -> Literal["external"]:
        return "external"

    @contextmanager
    def launch(self, command: Command, key: str) -> Generator[Launch]:
        cwd = self._folder(command.cwd)
        other = self._person.prefix()
        if other:
            other, cwd = (*other, "/bin/sh", "-c", IN_FOLDER, "sh", cwd), "/"
        above = (*other, *namespace_argv(self._person), "/bin/sh", "-c", FIRST, "sh")
        if self._tree == "keeper":
            above = (sys.executable, "-I", "-S", KEEPER, *other)
        with self._line(key) as theirs:
            yield Launch(
                argv=(*above, *command.argv),
                env=command.env,
                cwd=cwd,
                errors_fd=theirs.fileno(),
                wall=1 if self._tree == "keeper" else 2,
            )

    def ended(self, key: str) -> str | None:
        line = self._lines.pop(key)
        asyncio.get_running_loop().remove_reader(line)
        line.close()
        return None

    async def check(self) -> SandboxReport:
        if self._tree is None:
            self._tree = "namespace" if await _namespaces_work(self._person) else "keeper"
        _LOG.info("agent: each command runs in its own %s", self._tree)
        warnings = () if self._person.prefix() else (SAME_USER,)
        for warning in warnings:
            _LOG.warning("agent: %s", warning)
        return SandboxReport(mode="external", works=True, warnings=warnings)

    def _folder(self, cwd: str) -> str:
        with self._person.files():
            return self._found_folder(cwd)

    def _found_folder(self, cwd: str) -> str:
        folder = (self._root / cwd).resolve()
        if not folder.is_relative_to(self._root):
            message = f"{cwd} leads out of the workspace. Give a directory inside it as cwd."
            raise Refused(FaultCode.OUTSIDE, message)
        if not folder.is_dir():
            message = f"There is no directory {cwd} here. Create it first, or give another cwd."
            raise Refused(FaultCode.NOT_FOUND, message)
        return str(folder)

    def _line(self, key: str) -> socket.socket:
        """Their end. Ours closes with the agent, however that ends."""
        ours, theirs = socket.socketpair()
        os.set_blocking(ours.fileno(), False)
        loop = asyncio.get_running_loop()

        def heard() -> None:
            said = b""
            with suppress(OSError):  # the other process has died
                said = ours.recv(4096)
                if said == b"ready\n":
                    ours.send(b"go\n")
                    return
            if said:
                _LOG.warning("agent: launcher output: %s", said.decode(errors="replace").strip())
            else:
                loop.remove_reader(ours)

        loop.add_reader(ours, heard)
        self._lines[key] = ours
        return theirs


def namespace_argv(person: Person) -> tuple[str, ...]:
    # `setpriv` lets `unshare` die with the agent, `--kill-child` the rest with `unshare`.
    own = () if person.is_root else ("--user", "--map-current-user")
    alone = (_program("unshare"), *own, "--pid", "--mount-proc", "--fork", "--kill-child")
    return (_program("setpriv"), "--pdeathsig", "KILL", *alone)


@cache
def _program(name: str) -> str:
    """By its full path: the command's own PATH may be anything."""
    return shutil.which(name, path=PLAIN["PATH"]) or name


async def _namespaces_work(person: Person) -> bool:
    try:
        child = await asyncio.create_subprocess_exec(
            *person.prefix(),
            *namespace_argv(person),
            "/bin/sh",
            "-c",
            "test $$ = 1 && test -r /proc/1/stat",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        async with asyncio.timeout(CHECK_S):
            return await child.wait() == 0
    except (OSError, TimeoutError):
        return False
