"""Processes of their own for chats that keep losing their workers: see worker/quarantine.py.

Such a process reads the same settings from the same environment. Its standard input is a pipe that
nothing is written to: when the pipe ends, the process that started it has drained or died, and it
hands over and ends, too.
"""

import asyncio
import os
import sys
import threading
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from holdfast.domain.ids import ChatId

ONLY_CHAT: Final = "--only-chat"
EXIT_TOO_LATE: Final = 1
OOM_SCORE: Final = Path("/proc/self/oom_score_adj")


class StartedProcess:
    """Of ours, and it knows when we end."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def ended(self) -> int:
        return await self._process.wait()

    def drain(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()


async def start_alone(chat_ids: Sequence[ChatId]) -> StartedProcess:
    named = [word for chat_id in chat_ids for word in (ONLY_CHAT, str(chat_id))]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "holdfast", "worker", *named, stdin=PIPE
    )
    return StartedProcess(process)


def die_first() -> None:
    """If memory runs out, this process is ended, and not the one that started it. Linux only."""
    with suppress(OSError):
        OOM_SCORE.write_text("1000")


def stop_with_parent(stopping: asyncio.Event, within_s: float) -> None:
    """Set when standard input ends; so long after that the process ends, whatever it does. In a
    thread: a chat that blocks the loop must not outlive the process that watches it."""
    loop = asyncio.get_running_loop()

    def watch() -> None:
        with suppress(OSError):
            while os.read(0, 1024):
                pass
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(stopping.set)
        time.sleep(within_s)
        os._exit(EXIT_TOO_LATE)

    threading.Thread(target=watch, name="parent watch", daemon=True).start()
