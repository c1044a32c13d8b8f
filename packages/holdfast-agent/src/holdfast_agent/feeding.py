"""What is written to a process: kept until it reads it, and never more than it may owe us."""

import asyncio
import os
from typing import Final

from holdfast_agent.faults import Refused
from holdfast_agent.wire import FaultCode

PENDING_MAX: Final = 1024 * 1024


class Feeding:
    """The writing end of a process's standard input. The pipe holds 64 KiB; the rest waits here."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd: int | None = fd
        self._pending = bytearray()
        self._closing = False

    def write(self, data: bytes) -> None:
        if self._fd is None or self._closing:
            raise Refused(
                FaultCode.NOT_RUNNING, "Its stdin is closed. Start it again to write to it."
            )
        if len(self._pending) + len(data) > PENDING_MAX:
            raise Refused(
                FaultCode.TOO_LARGE,
                f"The process has not read the {len(self._pending)} bytes before this. "
                "Send less, or wait until it reads.",
            )
        self._pending += data
        self._flush()

    def close_after(self) -> None:
        """Closed as soon as all of it is read."""
        self._closing = True
        self._flush()

    def close(self) -> None:
        if self._fd is not None:
            asyncio.get_running_loop().remove_writer(self._fd)
            os.close(self._fd)
            self._fd = None

    def _flush(self) -> None:
        if self._fd is None:
            return
        try:
            while self._pending:
                del self._pending[: os.write(self._fd, self._pending)]
        except BlockingIOError:
            asyncio.get_running_loop().add_writer(self._fd, self._flush)
            return
        except OSError:
            # It has closed its end; the next write is refused.
            self.close()
            return
        asyncio.get_running_loop().remove_writer(self._fd)
        if self._closing:
            self.close()
