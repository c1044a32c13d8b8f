"""Waiting for something to become true, without asking again and again.

    await bell.until(lambda: process.ended, within_s=600)

The code that makes it true rings. Between the last look and the wait there is no `await`: on one
loop nothing can ring in between, so that no ring is lost (L103).
"""

import asyncio
from collections.abc import Callable


class Bell:
    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def ring(self) -> None:
        """All current waiters look again."""
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        self._waiting.clear()

    async def until(self, met: Callable[[], bool], *, within_s: float) -> bool:
        """Whether it was met in time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within_s
        while not met():
            waiter = loop.create_future()
            self._waiting.add(waiter)
            try:
                async with asyncio.timeout_at(deadline):
                    await waiter
            except TimeoutError:
                return met()
            finally:
                self._waiting.discard(waiter)
        return True
