"""The database's time, told by this process: an offset to a clock of its own, measured afresh."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from holdfast.db.pool import Pool
from holdfast.db.queries import load_query
from holdfast.db.store import fetch_row

DATABASE_TIME: Final = load_query("database_time")


Elapsed: TypeAlias = Callable[[], float]
"""Seconds since some moment; never set back."""


def elapsed() -> float:
    """Counts while the machine sleeps, where the platform can: on Linux, CLOCK_MONOTONIC stands
    still then. By it, a deadline set after the sleep would lie in the past until the next sync."""
    return time.monotonic() if _BOOT_TIME is None else time.clock_gettime(_BOOT_TIME)


_BOOT_TIME: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)


class DatabaseClock:
    """Deadlines are decided by this clock: a replica whose own is an hour off agrees with the rest.

    `sync` costs one statement; call it at start and now and then, for clocks drift and are set.
    """

    def __init__(self, database_now: datetime, at_s: float, elapsed: Elapsed = elapsed) -> None:
        """`at_s`: what `elapsed` said when the database's time was `database_now`."""
        self._elapsed = elapsed
        self._set(database_now, at_s)

    @classmethod
    async def open(cls, pool: Pool, elapsed: Elapsed = elapsed) -> "DatabaseClock":
        return cls(*await _measure(pool, elapsed), elapsed)

    async def sync(self, pool: Pool) -> None:
        self._set(*await _measure(pool, self._elapsed))

    def now(self) -> datetime:
        return self._at + timedelta(seconds=self._elapsed() - self._at_s)

    def _set(self, database_now: datetime, at_s: float) -> None:
        self._at = database_now
        self._at_s = at_s


async def _measure(pool: Pool, elapsed: Elapsed) -> tuple[datetime, float]:
    """The answer is as old as half its journey, so the time is taken in the middle of it."""
    started = elapsed()
    row = await fetch_row(pool, DATABASE_TIME)
    assert row is not None, "the database always knows the time"
    return row["clock_timestamp"], (started + elapsed()) / 2
