"""One process tree that was started: its output, its end, and how it is killed to the last one.

A tree is over when its first process has ended and nothing of it is left. What it started in the
background ends with it.
"""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from holdfast_agent.bells import Bell
from holdfast_agent.faults import Refused
from holdfast_agent.feeding import Feeding
from holdfast_agent.launching import Launch
from holdfast_agent.ring import Ring
from holdfast_agent.saved import SAVED_FROM, SavedFile
from holdfast_agent.trees import Seen, descendants, see, send, strangers
from holdfast_agent.wire import FaultCode

READ_BYTES: Final = 64 * 1024
BY_SIGNAL: Final = 128
"""And the signal's number: how launchers, like shells, tell that a signal ended it."""
DRAINED_MAX: Final = 64
"""Reads after the end: more than a pipe holds, and bounded if another process holds its end."""
PASSES_MAX: Final = 50
AGAIN_S: Final = 0.02
KILL_S: Final = 15.0


@dataclass(frozen=True, slots=True)
class End:
    exit_code: int | None = None
    signal: str | None = None


class Spawned:
    def __init__(self, launch: Launch, child: subprocess.Popen[bytes]) -> None:
        assert child.stdout is not None
        self.ring = Ring()
        self.wrote = Bell()
        """Rings with every piece of output, and at the end."""
        self.over = Bell()
        self.end: End | None = None
        self.file: SavedFile | None = None
        """Its whole output, once that is long."""
        self._saving: Callable[[], SavedFile | None] | None = None
        self._wall = launch.wall
        self._child = child
        self._pidfd = os.pidfd_open(child.pid)
        self._out = child.stdout.fileno()
        self._sent: set[int] = set()
        self._struck = False
        self._feeding = Feeding(os.dup(child.stdin.fileno())) if child.stdin else None
        if child.stdin:
            child.stdin.close()

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def ended(self) -> bool:
        return self.end is not None

    def watch(
        self, exited: Callable[[], None], saving: Callable[[], SavedFile | None] | None = None
    ) -> None:
        """Read its output from now on; `exited` is called when its first process has ended.
        `saving`: makes the file for long output, or None."""
        self._saving = saving
        loop = asyncio.get_running_loop()
        os.set_blocking(self._out, False)
        loop.add_reader(self._out, self._read)

        def reaped() -> None:
            if self._child.poll() is not None:
                loop.remove_reader(self._pidfd)
                exited()

        loop.add_reader(self._pidfd, reaped)

    def _read(self) -> bool:
        """Whether there may be more."""
        try:
            data = os.read(self._out, READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            asyncio.get_running_loop().remove_reader(self._out)
            return False
        self._save(data)
        self.ring.append(data)
        self.wrote.ring()
        return True

    def _save(self, data: bytes) -> None:
        """Before the ring drops anything."""
        if self._saving is not None and self.ring.total + len(data) > SAVED_FROM:
            self.file, self._saving = self._saving(), None
            if self.file is not None:
                self.file.write(self.ring.whole())
        if self.file is not None:
            self.file.write(data)

    def settle(self) -> None:
        """Its whole tree is gone: read the rest of the pipe, and wake all waiters."""
        assert self.end is None
        for _ in range(DRAINED_MAX):
            if not self._read():
                break
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._out)
        assert self._child.stdout is not None
        self._child.stdout.close()
        os.close(self._pidfd)
        if self._feeding is not None:
            self._feeding.close()
        self.ring.close()
        self.end = self._how_it_ended()
        self.wrote.ring()
        self.over.ring()

    def _how_it_ended(self) -> End:
        code = self._child.returncode
        if self._struck and code != 0:
            # Not every launcher tells how its child died when that was not the child's own doing.
            return End(signal=signal_name(signal.SIGKILL))
        if code < 0:
            return End(signal=signal_name(-code))
        if code - BY_SIGNAL in self._sent:
            return End(signal=signal_name(code - BY_SIGNAL))
        return End(exit_code=code)

    def feed(self, data: bytes) -> None:
        if self._feeding is None:
            raise Refused(
                FaultCode.BAD_REQUEST,
                "Its stdin is not open. Start it again by execute with stdin=true.",
            )
        self._feeding.write(data)

    def starve(self) -> None:
        """Nothing will follow."""
        if self._feeding is not None:
            self._feeding.close_after()

    def signal(self, number: signal.Signals) -> None:
        """To every process of the tree, also to those born while it is sent."""
        self._sent.add(number)
        told: set[tuple[int, int]] = set()
        for _ in range(PASSES_MAX):
            fresh = [
                seen
                for generation in descendants(self.pid)[self._wall - 1 :]
                for seen in generation
                if (seen.pid, seen.born) not in told
            ]
            if not fresh:
                return
            for seen in fresh:
                send(seen, number)
            told.update((seen.pid, seen.born) for seen in fresh)

    async def kill(self) -> None:
        """Returns when nothing of the tree is alive."""
        async with asyncio.timeout(KILL_S):
            while not self.ended:
                if self._child.returncode is None:
                    self._strike()
                await self.over.until(lambda: self.ended, within_s=AGAIN_S)

    def _strike(self) -> None:
        self._struck = True
        generations = descendants(self.pid)
        if self._wall > 1:
            # The first process of a namespace takes all the others with it, atomically.
            generations = generations[: self._wall - 1]
        else:
            self._freeze()
            generations = descendants(self.pid)
        for generation in generations:
            for seen in generation:
                send(seen, signal.SIGKILL)
        if not generations and (root := see(self.pid)) is not None:
            # The launcher last: while it lives, nothing of the tree can get out of sight.
            send(root, signal.SIGKILL)

    def _freeze(self) -> None:
        """What is stopped cannot fork: only so does the walk through a growing tree have an end."""
        frozen: set[tuple[int, int]] = set()
        for _ in range(PASSES_MAX):
            descending = [seen for generation in descendants(self.pid) for seen in generation]
            fresh = [seen for seen in descending if (seen.pid, seen.born) not in frozen]
            if not fresh:
                return
            for seen in fresh:
                send(seen, signal.SIGSTOP)
            frozen.update((seen.pid, seen.born) for seen in fresh)


def spawn(launch: Launch, *, with_input: bool) -> Spawned:
    """Raises `OSError`."""
    child = subprocess.Popen(  # noqa: S603 - what the launcher made of it
        launch.argv,
        env=dict(launch.env),
        cwd=launch.cwd,
        pass_fds=launch.pass_fds,
        stdin=subprocess.PIPE if with_input else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if launch.errors_fd is None else launch.errors_fd,
        bufsize=0,
        start_new_session=True,
    )
    try:
        return Spawned(launch, child)
    except OSError as error:
        # No descriptor is left to watch it with: better no command than one that is not watched.
        child.kill()
        child.wait()
        raise OSError(error.errno, f"it was killed at once, {error.strerror}") from error


async def strangers_gone(
    roots: Callable[[], Collection[int]], family: Collection[tuple[int, int]]
) -> None:
    """Kills and buries whatever a launcher left to us when it ended."""
    pause_s = 0.0005
    while left := list(strangers(roots(), family)):
        for stranger in left:
            _bury(stranger)
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, AGAIN_S)


def _bury(stranger: Seen) -> None:
    if stranger.alive:
        send(stranger, signal.SIGKILL)
    try:
        os.waitpid(stranger.pid, os.WNOHANG)
    except ChildProcessError:
        return


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name.removeprefix("SIG")
    except ValueError:
        return str(number)
