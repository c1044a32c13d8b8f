"""Tasks that stand beside a block: what becomes of their errors, and how they are ended.

A background task that fails must not end its process: every reader and every turn of it would be
cut for the fault of one. Its error is logged and counted (`FAILURES`), and the others go on.
"""

import asyncio
import contextvars
import logging
import signal
import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Final, TypeVar, cast

TASKS: Final = (
    *("bus receiver", "bus sender", "chat texts", "clock", "feed", "forget expired", "list"),
    "list poll",
    *("overdue", "runner", "settings", "stream poll", "worker", "workspace", "workspaces"),
    "other",
)
"""The tasks of a server, by the name or by the first word of the name."""
FAILURES: Final[Counter[str]] = Counter()
"""Errors of tasks in this process, by the names in `TASKS`."""
PAUSE_S_MIN: Final = 0.5
PAUSE_S_MAX: Final = 30.0
_LOG: Final = logging.getLogger(__name__)

T = TypeVar("T")


class Crew(asyncio.TaskGroup):
    """A task group of background tasks: a task that fails ends neither its siblings nor the block.

    An error of the block passes as it is, instead of inside a group of one. Only a cancellation is
    the group's business, for it may be the group's own.
    """

    async def __aexit__(  # pyright: ignore[reportImplicitOverride] - 3.11
        self,
        et: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        if isinstance(exc, asyncio.CancelledError):
            await super().__aexit__(et, exc, tb)
        else:
            await super().__aexit__(None, None, None)

    def create_task(  # pyright: ignore[reportImplicitOverride, reportIncompatibleMethodOverride]
        self,
        coro: Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
        ends_block: bool = False,
    ) -> asyncio.Task[T]:
        """`ends_block`: an error of the task ends its siblings and the block, as in any task group.
        Without it the result of a task that failed is None."""
        if ends_block:
            return super().create_task(coro, name=name, context=context)
        guarded = cast("Coroutine[Any, Any, T]", _guarded(coro, name or "other"))
        task = super().create_task(guarded, name=name, context=context)
        # A task that is cancelled before its first step never awaits what it was given.
        task.add_done_callback(lambda _: coro.close())
        return task

    def keep_up(
        self, work: Callable[[], Coroutine[Any, Any, None]], *, name: str
    ) -> asyncio.Task[None]:
        """Start a loop that goes on for as long as the block does, whatever it raises."""
        return self.create_task(persistently(work, name), name=name)


async def persistently(work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
    """Run a loop, and after an error run it again, with growing pauses. Returns when it returns."""
    loop = asyncio.get_running_loop()
    pause_s = PAUSE_S_MIN
    while True:
        began_s = loop.time()
        try:
            return await work()
        except Exception as error:  # noqa: BLE001 - logged, counted and tried again
            report_failure(name, error)
        if loop.time() - began_s > PAUSE_S_MAX:
            pause_s = PAUSE_S_MIN
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, PAUSE_S_MAX)


def report_failure(name: str, error: Exception) -> None:
    """Log and count an error of a background task."""
    FAILURES[label_of(name)] += 1
    _LOG.error("server: task %s failed: %r", name, error, exc_info=error)


def label_of(name: str) -> str:
    first = name.partition(" ")[0]
    return next((each for each in (name, first) if each in TASKS), "other")


async def _guarded(work: Coroutine[Any, Any, T], name: str) -> T | None:
    try:
        return await work
    except Exception as error:  # noqa: BLE001 - logged and counted
        report_failure(name, error)
        return None


def end_on_terminate() -> None:
    """The task that calls this is cancelled by SIGTERM, as asyncio has it for Ctrl-C: what takes
    minutes or hours must leave no servers behind, however it ends."""
    task = asyncio.current_task()
    if task is not None and threading.current_thread() is threading.main_thread():
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
