"""A process that outlives us: started in a session of its own, found again by its number.

A process id alone is not trusted: after a while another process may have it. It is kept together
with the moment at which the kernel says that the process began. On Linux.
"""

import os
import select
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import orjson

LOG_BYTES_MAX: Final = 1 * 2**20
_STARTED: Final = 19  # the field of /proc/pid/stat, counted from behind the name
_STATE: Final = 0
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class Detached:
    pid: int
    started: str
    """Ticks since the machine started, and which start that was."""

    @classmethod
    def now(cls, pid: int) -> "Detached | None":
        """The process that has this number now."""
        started = _started(pid)
        return None if started is None else cls(pid, started)

    @property
    def is_alive(self) -> bool:
        with suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)  # a child of ours that has ended keeps its number
        return _started(self.pid) == self.started


def spawn(argv: Sequence[str], env: Mapping[str, str], log: Path) -> Detached:
    """Nothing of ours is passed on: no variable, no open file, no terminal."""
    shorten(log)
    mode = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    pid = os.posix_spawn(
        argv[0],
        list(argv),
        dict(env),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), mode, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigmask=(),
        setsigdef=(signal.SIGINT, signal.SIGPIPE, signal.SIGHUP),
    )
    return Detached(pid, _started(pid) or "")


def keep(process: Detached, path: Path) -> None:
    new = path.with_suffix(".new")
    new.write_bytes(orjson.dumps(asdict(process)))
    new.replace(path)


def kept(path: Path) -> Detached | None:
    """The one that was kept here, if it is alive."""
    try:
        said: dict[str, Any] = orjson.loads(path.read_bytes())
        process = Detached(int(said["pid"]), str(said["started"]))
    except (FileNotFoundError, orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return None
    return process if process.is_alive else None


def end(process: Detached, *, within_s: float) -> bool:
    """Asked, then forced; blocks. False if it is still there: the kernel does not let go of it."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return True
    try:
        # By the handle: after this look its number cannot pass to another process.
        for number, patience_s in ((signal.SIGTERM, within_s), (signal.SIGKILL, within_s)):
            if not process.is_alive:
                return True
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, number)
            if _has_ended(handle, patience_s):
                with suppress(ChildProcessError):
                    os.waitpid(process.pid, os.WNOHANG)
                return True
        return not process.is_alive
    finally:
        os.close(handle)


def _has_ended(handle: int, within_s: float) -> bool:
    waiting = select.poll()  # select itself knows no more than 1,024 files
    waiting.register(handle, select.POLLIN)
    return bool(waiting.poll(within_s * 1000))


def shorten(log: Path) -> None:
    """Truncate a log that has grown too long; processes that append to it go on."""
    with suppress(FileNotFoundError):
        if log.stat().st_size > LOG_BYTES_MAX:
            os.truncate(log, 0)


def last_words(log: Path, bytes_max: int) -> bytes:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - bytes_max))
            return file.read(bytes_max)
    except FileNotFoundError:
        return b""


def _started(pid: int) -> str | None:
    """None if there is no such process, or only its number is left."""
    try:
        said = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = said[said.rindex(b")") + 2 :].split()
    if fields[_STATE] in (b"Z", b"X"):
        return None
    return f"{_BOOT.read_text().strip()}:{fields[_STARTED].decode()}"
