"""Attacks a wall from within and says what got out, and how to mend it.

The attacks (`attacks.py`) are run as a command like any other, in a workspace made for the purpose,
against things put there to be found: a secret file, another workspace, a server on the loopback, a
unix socket, a process. Whatever is found is an escape, and then the agent runs no command.
"""

import ast
import asyncio
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from pydantic import BaseModel, ValidationError

from holdfast_agent.faults import Refused
from holdfast_agent.launching import Command, Launcher
from holdfast_agent.sandbox import profile
from holdfast_agent.sandbox.options import SandboxOptions
from holdfast_agent.sandbox.person import Person
from holdfast_agent.wire import SandboxReport

WallFor: TypeAlias = Callable[[SandboxOptions], Launcher]
NO_NAMESPACES: Final = (
    "No user namespace can be made, which the wall is built of. Where the kernel forbids it, set "
    "`sysctl kernel.unprivileged_userns_clone=1` (old Debian), "
    "`sysctl kernel.apparmor_restrict_unprivileged_userns=0` (Ubuntu), or raise "
    "`user.max_user_namespaces`. In a container, either let it make them (Docker: "
    "--security-opt seccomp=unconfined --security-opt apparmor=unconfined "
    '--security-opt systempaths=unconfined), or let the container be the wall: "external".'
)
REMEDIES: Final[Mapping[str, str]] = {
    "files": "Look at --readable: it may show more than it should.",
    "read only": "This bubblewrap leaves places writable: install a newer one.",
    "git": "Do not run git outside in this workspace, and report this.",
    "seccomp": "The system-call filter is not in force: the kernel needs CONFIG_SECCOMP_FILTER.",
    "namespaces": "A namespace is missing: update kernel and bubblewrap.",
    "processes": "The process namespace is missing: update kernel and bubblewrap.",
    "environment": "Something between the agent and bubblewrap hands its own words on: is `bwrap` "
    "or `nsenter` a wrapper script here?",
    "descriptors": "Something between the agent and bubblewrap leaves files open: is `bwrap` or "
    "`nsenter` a wrapper script here?",
    "network": "The network namespace is missing or has been given an interface.",
    "egress": "The proxy lets too much through: look at --allow-host and --private-host.",
    "proc": "/proc is not covered: update bubblewrap, and do not run the agent as root.",
}
_FIRST: Final = Path(__file__).with_name("attacks.py")
_SECOND: Final = Path(__file__).with_name("attacks_kernel.py")
_SYSTEM_PYTHON: Final = Path("/usr/bin/python3")
_NOT_INSIDE: Final = ("holdfast", "__future__")
_ANSWER_S: Final = 30.0
_KEY: Final = "holdfast-check"


class _Result(BaseModel):
    attack: str
    layer: str
    got: str | None


class Attacked(BaseModel):
    """What the script says."""

    results: tuple[_Result, ...]
    broken: tuple[str, ...]
    took_s: float

    @property
    def escapes(self) -> Sequence[str]:
        return [result.attack for result in self.results if result.got is not None]


class CannotAttack(Exception):
    """The script could not be run to its end: why."""


@dataclass(frozen=True, slots=True)
class _Bait:
    workspace: Path
    facts: Mapping[str, str]


async def attacked(
    wall_for: WallFor, options: SandboxOptions, person: Person, *, warnings: Sequence[str]
) -> SandboxReport:
    try:
        answer = await attack(wall_for, options, person)
    except CannotAttack as error:
        return SandboxReport(
            mode="bubblewrap", works=False, escapes=(str(error),), warnings=tuple(warnings)
        )
    out = [
        f"A command {result.attack}: {result.got}. {REMEDIES[result.layer]}"
        for result in answer.results
        if result.got is not None
    ]
    out += [f"Ordinary work is not possible: {sentence}." for sentence in answer.broken]
    if not os.access(options.root, os.W_OK):
        out.append(f"The agent may not write to {options.root}: give it to the agent's user.")
    return SandboxReport(
        mode="bubblewrap",
        works=not out,
        attacks=len(answer.results),
        escapes=tuple(out),
        warnings=tuple(warnings),
    )


async def attack(wall_for: WallFor, options: SandboxOptions, person: Person) -> Attacked:
    """Raises `CannotAttack`."""
    python, readable = _python(person)
    with bait(person) as laid:
        wall = wall_for(
            replace(options, root=laid.workspace, readable=(*options.readable, *readable))
        )
        argv = (python, "-I", "-S", "-c", script(), json.dumps(dict(laid.facts)))
        return await _run(wall, Command(argv=argv, env={}))


def script() -> str:
    """Both files as one: Holdfast cannot be imported inside."""
    whole = ast.parse(_FIRST.read_text(encoding="utf-8"))
    for node in ast.parse(_SECOND.read_text(encoding="utf-8")).body:
        if not (isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_NOT_INSIDE)):
            whole.body.append(node)
    return ast.unparse(whole)


async def _run(wall: Launcher, command: Command) -> Attacked:
    try:
        with wall.launch(command, _KEY) as launch:
            process = await asyncio.create_subprocess_exec(
                *launch.argv,
                env=launch.env,
                cwd=launch.cwd,
                pass_fds=launch.pass_fds,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        try:
            async with asyncio.timeout(_ANSWER_S):
                out, err = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise CannotAttack(f"The self-attack did not end within {_ANSWER_S:.0f} s.") from None
    except Refused as refused:
        raise CannotAttack(refused.message) from None
    finally:
        wall.ended(_KEY)
    try:
        return Attacked.model_validate_json(out)
    except ValidationError:
        raise CannotAttack(_why(err.decode(errors="replace").strip())) from None


def _why(said: str) -> str:
    last = said.splitlines()[-1] if said else "nothing"
    if "namespace" in last or "uid map" in last or "Operation not permitted" in last:
        return f"{NO_NAMESPACES} It says: {last}."
    if "proc" in last and "mount" in last:
        return (
            "No /proc of its own can be mounted, as in a container that hides parts of /proc "
            '(Docker: --security-opt systempaths=unconfined), or choose "external". '
            f"It says: {last}."
        )
    return (
        "The self-attack could not be run, so the sandbox is untested. It needs Python "
        f"3.9 or later that commands can see: install python3. It says: {last}."
    )


def _python(person: Person) -> tuple[str, Sequence[Path]]:
    """Which Python attacks, and what has to be shown to it for that."""
    prefix = Path(sys.base_prefix)
    own = str(Path(sys.executable).resolve())
    if prefix.is_relative_to("/usr"):
        return own, ()
    if _SYSTEM_PYTHON.exists() or person.uid != os.geteuid():
        return str(_SYSTEM_PYTHON), ()
    return own, (prefix,)


@contextmanager
def bait(person: Person) -> Generator[_Bait]:
    """Things to be found, that any ordinary user of this machine would find."""
    word = f"holdfast-{secrets.token_hex(8)}"
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="holdfast-check-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        workspace = _laid_out(folder, person, word)
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        for address in (str(folder / "socket"), f"\0{word}"):
            there = stack.enter_context(socket.socket(socket.AF_UNIX))
            there.bind(address)
            there.listen()
        (folder / "socket").chmod(0o777)
        process = stack.enter_context(_process(person, word))
        facts = {
            "secret": str(folder / "secret"),
            "neighbour": str(folder / "neighbour" / "file"),
            "unix": str(folder / "socket"),
            "git": f"{profile.WORKSPACE}/.git",
            "port": str(tcp.getsockname()[1]),
            "pid": str(process),
            "word": word,
            "names": ",".join({**profile.ENVIRONMENT, **profile.FIXED, "PWD": ""}),
        }
        yield _Bait(workspace, facts)


def _laid_out(folder: Path, person: Person, word: str) -> Path:
    folder.chmod(0o755)
    workspace = folder / "workspace"
    (workspace / ".git" / "hooks").mkdir(parents=True)
    (workspace / ".git" / "config").write_text("[core]\n\tbare = false\n")
    (folder / "neighbour").mkdir()
    for file in (folder / "secret", folder / "neighbour" / "file"):
        file.write_text(word)
        file.chmod(0o644)
    for path in (workspace, *workspace.rglob("*")):
        with suppress(PermissionError):
            os.chown(path, person.uid, person.gid)
    return workspace


@contextmanager
def _process(person: Person, word: str) -> Generator[int]:
    """A process that can be known by its words; it ends when its standard input does."""
    argv = (*person.prefix(), "/bin/sh", "-c", "read _", word)
    process = subprocess.Popen(argv, stdin=subprocess.PIPE)  # noqa: S603
    try:
        yield process.pid
    finally:
        process.communicate()
