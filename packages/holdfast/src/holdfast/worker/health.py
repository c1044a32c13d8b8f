"""Whether this process can commit: the heartbeat and the commits must share their fate.

The heartbeat has a connection of its own. Without this it could renew a lease under which nothing
can be written, and keep the chats from every healthy worker.
"""

import asyncio
from typing import Final

GAP_S_MAX: Final = 30.0
"""Failures further apart are not in a row. A driver that cannot commit comes again sooner: after
the timeouts of a commit and of a read, and a pause."""


class CommitHealth:
    """Counts from the first commit that failed after the last one that was answered.

    Only failures make the time grow: a worker that has nothing to commit is not ill.
    """

    def __init__(self) -> None:
        self._since_s: float | None = None
        self._last_s = 0.0
        self._failed = asyncio.Event()

    @property
    def failed_for_s(self) -> float:
        """From the first to the last of the failures in a row."""
        return 0.0 if self._since_s is None else self._last_s - self._since_s

    def commit_answered(self) -> None:
        self._since_s = None

    def commit_failed(self) -> None:
        now_s = asyncio.get_running_loop().time()
        if self._since_s is None or now_s - self._last_s > GAP_S_MAX:
            self._since_s = now_s
        self._last_s = now_s
        self._failed.set()

    def read_failed(self) -> None:
        """After a commit without an answer the driver reads, and commits again only if it can."""
        if self._since_s is not None:
            self.commit_failed()

    async def until_failed_for(self, length_s: float) -> None:
        """Until no commit was answered for so long. What failed before the call does not count."""
        self._since_s = None
        while self.failed_for_s < length_s:
            self._failed.clear()
            await self._failed.wait()
