"""Workspaces on this machine: a folder each, and an agent beside it that outlives the server.

    <folder>/<id>/files/        what the chat works in
                  state/        the agent's own
                  agent.sock    where it listens
                  agent.json    which process it is
                  agent.log
                  lock          held by the server that starts, stops or removes it

The lock is the kernel's and is let go of however its holder ends. Inside it one looks first at what
is there, so that a server that comes second finds the first one's agent instead of starting one.
"""

import asyncio
import fcntl
import os
import socket
import struct
import sys
from collections.abc import AsyncGenerator, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from holdfast.adapters.workspaces import folders
from holdfast.adapters.workspaces.detached import Detached, end, kept, last_words, shorten, spawn
from holdfast.adapters.workspaces.detached import keep as keep_process
from holdfast.adapters.workspaces.probing import about, until_answers
from holdfast.adapters.workspaces.provisioning import ProvisionFailed, for_people
from holdfast.domain.workspaces import Workspace
from holdfast.ports.workspaces import Template

SOCKET_PATH_MAX: Final = 107
_SOCKET: Final = "agent.sock"
_ID_CHARS: Final = 36
LOCK_LOOKS_S: Final = 0.05
STOP_S: Final = 10.0
ENDED_AT_ONCE: Final = 16
GRACE_S: Final = 10.0
"""How long a process that is there and does not answer may still be about to."""
PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
AGENT: Final = (sys.executable, "-P", "-m", "holdfast_agent")
"""-P: what lies in the folder that the server was started in is not the agent's code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOptions:
    folder: Path
    sandbox: Literal["bubblewrap", "external"] = "bubblewrap"
    agent: tuple[str, ...] = AGENT
    arguments: tuple[str, ...] = ()
    """Further ones for the agent."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    start_s: float = 30.0
    stop_s: float = STOP_S

    def __post_init__(self) -> None:
        assert fits_a_socket(self.folder), self.folder


def fits_a_socket(folder: Path) -> bool:
    """The path of a unix socket has a bound that no setting moves."""
    return len(os.fsencode(folder)) + 1 + _ID_CHARS + 1 + len(_SOCKET) <= SOCKET_PATH_MAX


class _Place:
    """Where the things of one workspace are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = self.folder / "files"
        self.state = self.folder / "state"
        self.socket = self.folder / _SOCKET
        self.process = self.folder / "agent.json"
        self.log = self.folder / "agent.log"
        self.lock = self.folder / "lock"
        self.address = f"unix:{self.socket}"

    def make(self) -> None:
        self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (self.folder, self.files, self.state):
            folder.mkdir(mode=0o700, exist_ok=True)


class Local:
    """Implements `provisioning.Provisioner`."""

    def __init__(self, template: Template, options: LocalOptions) -> None:
        self._template = template
        self._options = options

    @property
    def template(self) -> Template:
        return self._template

    @property
    def start_s(self) -> float:
        return self._options.start_s

    def token(self, workspace: Workspace) -> str | None:  # noqa: ARG002 - the folder is ours alone
        return None

    async def start(self, workspace: Workspace) -> str:
        place = self._place(workspace)
        with _told("made"):
            await asyncio.to_thread(place.make)
            async with _locked(place, self._options.start_s):
                if await self._answers_already(place):
                    return place.address
                process = await asyncio.to_thread(self._spawn, place)
                await self._until_answers(place, process)
        return place.address

    async def find(self, workspace: Workspace) -> str | None:
        address = self._place(workspace).address
        return None if await about(address, None) is None else address

    async def stop(self, workspace: Workspace) -> None:
        place = self._place(workspace)
        if not place.folder.is_dir():
            return
        with _told("used"):
            async with _locked(place, self._options.start_s):
                await self._end(place)

    async def delete(self, workspace: Workspace) -> None:
        """No link is followed, and nothing but the workspace's own folder is touched."""
        await self.stop(workspace)
        with _told("removed"):
            await asyncio.to_thread(
                folders.remove, self._options.folder, str(workspace.workspace_id)
            )

    async def tidy(self) -> None:
        await asyncio.to_thread(self._shorten_logs)

    def _shorten_logs(self) -> None:
        for log in self._options.folder.glob("*/agent.log"):
            shorten(log)

    def _place(self, workspace: Workspace) -> _Place:
        return _Place(self._options.folder / str(workspace.workspace_id))

    async def _answers_already(self, place: _Place) -> bool:
        """What an earlier starter left, answering or about to. What only hangs is ended."""
        if await about(place.address, None) is not None:
            return True
        if await asyncio.to_thread(_process_of, place) is None:
            return False
        try:
            async with asyncio.timeout(min(GRACE_S, self._options.start_s / 2)):
                await until_answers(place.address, None)
        except TimeoutError:
            await self._end(place)
            return False
        return True

    def _spawn(self, place: _Place) -> Detached:
        place.socket.unlink(missing_ok=True)
        argv = (
            *self._options.agent,
            *("--root", str(place.files)),
            *("--listen", place.address),
            *("--state", str(place.state)),
            *("--sandbox", self._options.sandbox),
            *self._options.arguments,
        )
        env = {"PATH": PATH, "LANG": "C.UTF-8", **self._options.env}
        process = spawn(argv, env, place.log)
        keep_process(process, place.process)
        return process

    async def _until_answers(self, place: _Place, process: Detached) -> None:
        pause_s = 0.02
        while await about(place.address, None) is None:
            if not process.is_alive:
                said = for_people(last_words(place.log, 2_000)).strip()
                raise ProvisionFailed(
                    "The workspace's agent ended while it started. The last that it said:\n"
                    + (said or "(nothing)")
                )
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, 0.5)

    async def _end(self, place: _Place) -> None:
        await asyncio.to_thread(_ended, place, self._options.stop_s)


def end_agents(folder: Path) -> None:
    """All of them; blocks. For who has the folder to themselves: rows
    say nothing of it, and who needs an agent finds it gone and starts it anew, as after a loss of
    power. Raises `ProvisionFailed`."""
    places = [_Place(each) for each in folder.iterdir()] if folder.is_dir() else []
    with ThreadPoolExecutor(ENDED_AT_ONCE) as at_once:
        for ended in [at_once.submit(_ended, place, STOP_S) for place in places]:
            ended.result()


def _ended(place: _Place, stop_s: float) -> None:
    process = _process_of(place)
    if process is not None and not end(process, within_s=stop_s):
        raise ProvisionFailed(
            f"The workspace's agent (process {process.pid}) does not end. Ask an administrator to"
            " look at it."
        )
    place.socket.unlink(missing_ok=True)
    place.process.unlink(missing_ok=True)


def _process_of(place: _Place) -> Detached | None:
    """Who listens at the socket, or who was started: killed between the two, a server may have left
    an agent that it wrote down nowhere."""
    return _behind(place.socket) or kept(place.process)


def _behind(path: Path) -> Detached | None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
        knock.settimeout(1.0)
        try:
            knock.connect(str(path))
            said = knock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        except OSError:
            return None
    pid: int = struct.unpack("3i", said)[0]
    return Detached.now(pid) if pid > 0 else None


@asynccontextmanager
async def _locked(place: _Place, within_s: float) -> AsyncGenerator[None]:
    """Looks now and then: another server may hold it for as long as a start takes."""
    lock = os.open(place.lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    until = asyncio.get_running_loop().time() + within_s
    try:
        while not _locks(lock):
            if asyncio.get_running_loop().time() > until:
                raise ProvisionFailed(
                    "Another server is at the workspace and does not let go of it. Try again."
                )
            await asyncio.sleep(LOCK_LOOKS_S)
        yield
    finally:
        os.close(lock)


def _locks(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _told(done: str) -> Generator[None]:
    """What the operating system refuses, as a sentence for people."""
    try:
        yield
    except TimeoutError:
        raise  # the caller's timeout, not the system's
    except OSError as error:
        what = error.strerror or type(error).__name__
        raise ProvisionFailed(
            f"The workspace's folder or agent could not be {done}: {what}. Ask an administrator to"
            " look at HOLDFAST_WORKSPACES_FOLDER."
        ) from error
