"""The connections of a pool, shared fairly among the people who ask.

A pool serves callers in the order in which they came: forty slow statements of one person would
keep all others waiting. So each person has a few places before the pool, and all people together
leave some connections to the turns. A free place goes to the person who waited longest for one,
however many statements of another person wait (H3).
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, TypeAlias

from holdfast.domain.errors import TooManyStatements
from holdfast.domain.ids import UserId
from holdfast.ports.persons import asking_person

KEPT_FOR_TURNS: Final = 2
"""Connections that people leave to commits and to workers, where the pool has that many."""
WAITING_MAX: Final = 100
"""Statements of one person that wait at once; each holds a request of the process."""

_Line: TypeAlias = deque["asyncio.Future[None]"]


@dataclass(slots=True)
class ShareCounters:
    waiting: int = 0
    waited: int = 0
    refused: int = 0


class Shares:
    """At most `each` statements of one person at once, and `together` of all people. 0: no bound of
    either kind."""

    def __init__(
        self, each: int = 0, together: int = 0, *, waiting_max: int = WAITING_MAX, wait_s: float
    ) -> None:
        assert each == 0 or together > 0
        self._each = each
        self._together = together
        self._waiting_max = waiting_max
        self._wait_s = wait_s
        self._used: dict[UserId, int] = {}
        self._used_together = 0
        self._lines: OrderedDict[UserId, _Line] = OrderedDict()
        """Of people who wait; who was served last stands last."""
        self.counters = ShareCounters()

    async def enter(self) -> UserId | None:
        """Take a place for whom the task asks; give what this returns to `leave`. Raises
        `TooManyStatements`, and `TimeoutError` when no place was free for long."""
        user_id = asking_person() if self._each else None
        if user_id is None:
            return None
        if self._is_free(user_id):
            self._take(user_id)
        else:
            await self._wait(user_id)
        return user_id

    def leave(self, user_id: UserId | None) -> None:
        if user_id is None:
            return
        self._used_together -= 1
        self._used[user_id] -= 1
        if not self._used[user_id]:
            del self._used[user_id]
        self._serve()

    def _is_free(self, user_id: UserId) -> bool:
        used = self._used.get(user_id, 0)
        return used < self._each and self._used_together < self._together

    def _take(self, user_id: UserId) -> None:
        self._used[user_id] = self._used.get(user_id, 0) + 1
        self._used_together += 1

    async def _wait(self, user_id: UserId) -> None:
        line = self._lines.setdefault(user_id, deque())
        if len(line) >= self._waiting_max:
            self.counters.refused += 1
            raise TooManyStatements(self._waiting_max)
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.append(waiter)
        self.counters.waited += 1
        try:
            with self._counted():
                async with asyncio.timeout(self._wait_s):
                    await waiter
        except BaseException:
            if waiter.done() and not waiter.cancelled():
                self.leave(user_id)  # given in the instant in which the caller went
            else:
                self._forget(user_id, line, waiter)
            raise

    @contextmanager
    def _counted(self) -> Generator[None]:
        self.counters.waiting += 1
        try:
            yield
        finally:
            self.counters.waiting -= 1

    def _forget(self, user_id: UserId, line: _Line, waiter: "asyncio.Future[None]") -> None:
        with suppress(ValueError):  # passed over by `_serve`, in the instant before
            line.remove(waiter)
        if not line and self._lines.get(user_id) is line:
            del self._lines[user_id]

    def _serve(self) -> None:
        """Give free places to those who wait, a person at a time."""
        while (user_id := self._next()) is not None:
            line = self._lines.pop(user_id)
            waiter = line.popleft()
            if line:
                self._lines[user_id] = line  # at the end: the others come first
            if not waiter.done():  # else its caller went, and has not run since
                self._take(user_id)
                waiter.set_result(None)

    def _next(self) -> UserId | None:
        return next((user_id for user_id in self._lines if self._is_free(user_id)), None)


class PersonsPlace:
    """A place for one statement: `async with PersonsPlace(shares): …`. Without shares it is free to
    all."""

    __slots__ = ("_shares", "_user_id")

    def __init__(self, shares: Shares | None) -> None:
        self._shares = shares
        self._user_id: UserId | None = None

    async def __aenter__(self) -> None:
        if self._shares is not None:
            self._user_id = await self._shares.enter()

    async def __aexit__(self, *_: object) -> None:
        if self._shares is not None:
            self._shares.leave(self._user_id)


def people_together(connections_max: int) -> int:
    """How many connections of a pool people may use at once."""
    return max(1, connections_max - KEPT_FOR_TURNS, connections_max // 2)
