"""The launcher that puts each command behind the wall.

    agent → sh (limits, control groups) → [setpriv: an ordinary user] → nsenter (the workspace's
    network, /tmp and home) → bwrap (the wall) → the command

Each replaces the one before, so that the agent's child is bubblewrap itself; with it, everything
inside dies. The arguments travel through a descriptor and the environment is empty: both of process
1 can be read from inside (F6). `opening.py` makes the ground on which this stands.
"""

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Literal, TypeAlias

from holdfast_agent.faults import Refused
from holdfast_agent.launching import Command, Launch
from holdfast_agent.sandbox import profile
from holdfast_agent.sandbox.cgroups import Cgroups
from holdfast_agent.sandbox.check import attacked
from holdfast_agent.sandbox.disk import DiskWatch
from holdfast_agent.sandbox.egress import EgressProxy
from holdfast_agent.sandbox.gitguard import GitGuard
from holdfast_agent.sandbox.network import Network
from holdfast_agent.sandbox.options import MIB, SandboxOptions
from holdfast_agent.sandbox.person import Person
from holdfast_agent.wire import FaultCode, SandboxReport

Hand: TypeAlias = Callable[[bytes], int]
"""Makes a descriptor from which bubblewrap reads these bytes."""
_ENTER: Final = (
    # Limits first; then every control group named before `--`; then the command in our place.
    'eval "$1" 2>/dev/null; shift; while [ "$1" != -- ]; do echo 0 >"$1/cgroup.procs" || exit 125; '
    'shift; done; shift; unset PWD OLDPWD; exec "$@"'
)


class Unusable(Exception):
    """There can be no wall here: why, and what to do. Sentences for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a wall stands on."""

    bwrap: str
    nsenter: str
    person: Person
    network: Network
    proxy: EgressProxy
    cgroups: Cgroups
    disk: DiskWatch
    filter: bytes
    """The seccomp program."""
    system: Sequence[str]


class Bubblewrap:
    """See `launching.Launcher`. Without ground it runs nothing, and `check` says why."""

    def __init__(self, options: SandboxOptions, ground: Ground | Unusable) -> None:
        self.options = options
        self.ground = ground
        self._git = GitGuard(options.root, profile.WORKSPACE)

    @property
    def mode(self) -> Literal["bubblewrap"]:
        return "bubblewrap"

    @property
    def root(self) -> str:
        """The workspace's folder, as commands see it."""
        return profile.WORKSPACE

    @contextmanager
    def launch(self, command: Command, key: str) -> Generator[Launch]:
        ground = self.ground
        if isinstance(ground, Unusable):
            raise Refused(FaultCode.NO_SHELL, str(ground))
        folder = self._folder(command.cwd)
        self._check_ground(ground)
        with ExitStack() as open_until_spawned:
            handed: list[int] = []

            def hand(data: bytes) -> int:
                descriptor = _in_memory(data)
                open_until_spawned.callback(os.close, descriptor)
                handed.append(descriptor)
                return descriptor

            try:
                argv = tuple(self._words(ground, command, folder, key, hand))
            except BaseException:
                self.ended(key)
                raise
            yield Launch(argv=argv, env=self.environment(), cwd="/", pass_fds=tuple(handed))

    def _words(
        self, ground: Ground, command: Command, folder: str, key: str, hand: Hand
    ) -> Iterator[str]:
        yield from ("/bin/sh", "-c", _ENTER, "holdfast", self._ulimits(ground))
        yield from (*map(str, self._groups(ground, key)), "--")
        yield from (*ground.person.prefix(), *self.entering(ground))
        words = (*self.wall(ground, key, hand), *self.inner(command, folder))
        arguments = hand(b"".join(os.fsencode(word) + b"\0" for word in words))
        yield from (ground.bwrap, "--args", str(arguments), "--", *command.argv)

    def ended(self, key: str) -> str | None:
        self._git.ended(key)
        if isinstance(self.ground, Unusable):
            return None
        full, limited = self.ground.disk.ended(key), self.ground.cgroups.ended(key)
        return full or limited

    async def check(self) -> SandboxReport:
        if isinstance(self.ground, Unusable):
            return SandboxReport(mode="bubblewrap", works=False, escapes=(str(self.ground),))
        with self.ground.proxy.unwatched():
            return await attacked(
                lambda options: type(self)(options, self.ground),
                self.options,
                self.ground.person,
                warnings=tuple(self._warnings(self.ground)),
            )

    # The parts of the wall, one method each: tests take each away and see what then gets out.

    def wall(self, ground: Ground, key: str, hand: Hand) -> Iterator[str]:
        stubs = {path: hand(text.encode()) for path, text in profile.STUBS.items()}
        yield from profile.namespaces()
        yield from profile.view(self.options, ground.system, stubs)
        if self.options.git == "guarded":
            yield from self._git.begins(key)
        yield from profile.closed()
        yield from ("--seccomp", str(hand(ground.filter)))

    def inner(self, command: Command, folder: str) -> Iterator[str]:
        yield from profile.environment(command)
        yield from ("--chdir", folder)

    def entering(self, ground: Ground) -> Sequence[str]:
        pid = str(ground.network.holder_pid)
        return (ground.nsenter, "-t", pid, "-U", "-n", "-m", "--preserve-credentials", "--")

    def environment(self) -> Mapping[str, str]:
        return {}

    def _check_ground(self, ground: Ground) -> None:
        if ground.disk.is_full:
            mib = self.options.disk_free_bytes_min // MIB
            words = f"Less than {mib} MiB are free on the workspace's disk: delete something first."
            raise Refused(FaultCode.FAILED, words)
        if not ground.network.is_there:
            words = "The workspace has lost its network. Call stop_workspace, then start_workspace."
            raise Refused(FaultCode.NO_SHELL, words)

    def _groups(self, ground: Ground, key: str) -> Sequence[Path]:
        try:
            return ground.cgroups.enter(key)
        except OSError as error:
            words = f"No control group can be made: {error}. Stop some processes, or try again."
            raise Refused(FaultCode.FAILED, words) from error

    def _folder(self, relative: str) -> str:
        """As the command sees it. Links in it are followed inside, where they lead nowhere else."""
        path = PurePosixPath(relative)
        if path.is_absolute() or ".." in path.parts or "\0" in relative:
            words = f"{relative!r} is outside the workspace. Give a directory inside it as cwd."
            raise Refused(FaultCode.OUTSIDE, words)
        if not os.path.isdir(self.options.root / path):
            words = (
                f"There is no directory {relative!r} here. Create it first, or give another cwd."
            )
            raise Refused(FaultCode.NOT_FOUND, words)
        return str(PurePosixPath(profile.WORKSPACE) / path)

    def _ulimits(self, ground: Ground) -> str:
        """In units that every `sh` agrees on: 512 bytes for files, 1024 for memory."""
        limits = ["ulimit -c 0", f"ulimit -f {self.options.file_bytes_max // 512}"]
        if "pids" in ground.cgroups.missing:
            limits.append(f"ulimit -u {self.options.pids_max} || ulimit -p {self.options.pids_max}")
        if "memory" in ground.cgroups.missing:
            limits.append(f"ulimit -d {self.options.memory_bytes_max // 1024}")
        return "; ".join(limits)

    def _warnings(self, ground: Ground) -> Iterator[str]:
        if ground.person.is_root:
            yield (
                "Commands run as root seen from outside, without root's rights. Better: start the "
                f"agent as an ordinary user, or give {self.options.root} to one with chown."
            )
        for kind in ground.cgroups.missing:
            yield _WITHOUT[kind]


_DELEGATE: Final = (
    "Run the agent as root, or in a control group that it may divide (systemd: Delegate=yes)."
)
_WITHOUT: Final[Mapping[str, str]] = {
    "pids": f"Processes are limited per user, not per workspace. {_DELEGATE}",
    "memory": f"Memory is limited per process, not per workspace. {_DELEGATE}",
    "cpu": f"A busy workspace slows others down: no share of the processor is set. {_DELEGATE}",
}


def _in_memory(data: bytes) -> int:
    descriptor = os.memfd_create("holdfast", os.MFD_CLOEXEC)
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
