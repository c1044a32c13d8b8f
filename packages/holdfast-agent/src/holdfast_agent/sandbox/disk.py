"""That a command does not fill the disk on which others live.

No quota can be set without rights that we do not want. So: no file above a size (a limit of the
process), nothing is started below a floor of free space, and while commands run the floor is looked
at; below it, the command that has written most is stopped. A command that writes little is spared:
the disk may be full because of another program.
"""

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from holdfast_agent.sandbox.options import MIB

_LOG: Final = logging.getLogger(__name__)
_LOOK_S: Final = 0.25
_WRITTEN_MIN: Final = 16 * MIB


@dataclass(slots=True)
class DiskWatch:
    root: Path
    free_bytes_min: int
    running: Callable[[], Mapping[str, Sequence[int]]]
    """Keys of the commands that run, and the processes of each."""
    _stopped: set[str] = field(default_factory=set[str])

    @property
    def is_full(self) -> bool:
        said = os.statvfs(self.root)
        return said.f_bavail * said.f_frsize < self.free_bytes_min

    def ended(self, key: str) -> str | None:
        if key not in self._stopped:
            return None
        self._stopped.discard(key)
        return f"stopped: the disk had less than {self.free_bytes_min // MIB} MiB left"

    @contextmanager
    def watching(self) -> Generator[None]:
        """A timer, not a task: each look is a system call or two."""
        loop = asyncio.get_running_loop()

        def look() -> None:
            nonlocal timer
            timer = loop.call_later(_LOOK_S, look)
            running = self.running()
            if running and self.is_full:
                self._stop_the_greatest(running)

        timer = loop.call_later(_LOOK_S, look)
        try:
            yield
        finally:
            timer.cancel()

    def _stop_the_greatest(self, running: Mapping[str, Sequence[int]]) -> None:
        written = {key: sum(map(bytes_written, pids)) for key, pids in running.items()}
        key = max(written, key=lambda each: written[each])
        if written[key] < _WRITTEN_MIN:
            return
        _LOG.warning(
            "sandbox: disk of %s is nearly full; the command that writes most is stopped", self.root
        )
        self._stopped.add(key)
        for pid in running[key]:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def bytes_written(pid: int) -> int:
    """What a process has handed to write(), to files or not."""
    with suppress(OSError, ValueError):
        for line in Path("/proc", str(pid), "io").read_text().splitlines():
            if line.startswith("wchar:"):
                return int(line.split()[1])
    return 0
