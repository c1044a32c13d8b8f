"""Tasks that stand beside a block, and how they are ended from outside."""

import asyncio
import signal
import threading
from types import TracebackType


class Crew(asyncio.TaskGroup):
    """A task group whose block is not its business: an error of it passes as it is, instead of
    inside a group of one. Only a cancellation is, for it may be the group's own."""

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


def end_on_terminate() -> None:
    """The task that calls this is cancelled by SIGTERM, as asyncio has it for Ctrl-C: what takes
    minutes or hours must leave no servers behind, whoever ends it."""
    task = asyncio.current_task()
    if task is not None and threading.current_thread() is threading.main_thread():
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
