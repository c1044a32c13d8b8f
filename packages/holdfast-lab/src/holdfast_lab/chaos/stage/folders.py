"""A folder for servers of our own, and who runs in it."""

import os
import signal
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

LOOKS_MAX: Final = 100
LOOK_EVERY_S: Final = 0.05


@contextmanager
def short_folder() -> Generator[Path]:
    """Where PostgreSQL's user may pass, and a socket's path fits; nothing runs there afterwards."""
    with tempfile.TemporaryDirectory(prefix="hf-") as folder:
        Path(folder).chmod(0o711)
        try:
            yield Path(folder)
        finally:
            end_in(Path(folder))


def end_in(folder: Path) -> None:
    """Blocks until nothing is seen to run there. PostgreSQL has an end at once of its own; others
    are killed: who descends from a background job of a script ignores that signal."""
    for _ in range(LOOKS_MAX):
        pids = running_in(folder)
        if not pids:
            return
        for pid in pids:
            with suppress(OSError):  # gone meanwhile, maybe with its parent
                postgres = Path(f"/proc/{pid}/comm").read_text().startswith("postgres")
                os.kill(pid, signal.SIGQUIT if postgres else signal.SIGKILL)
        time.sleep(LOOK_EVERY_S)


def running_in(folder: Path) -> list[int]:
    """The processes that were started with this folder on their command line."""
    found: list[int] = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):  # gone meanwhile, or no process
            if process.name.isdigit() and str(folder).encode() in _command_line(process):
                found.append(int(process.name))
    return found


def _command_line(process: Path) -> bytes:
    return (process / "cmdline").read_bytes().replace(b"\0", b" ")
