"""The database's time, told by this process: an offset to the monotonic clock, measured afresh."""

import time
from datetime import datetime, timedelta
from typing import Final

from holdfast.db.pool import Pool
from holdfast.db.queries import load_query
from holdfast.db.store import fetch_row

DATABASE_TIME: Final = load_query("database_time")


class DatabaseClock:
    """Deadlines are decided by this clock: a replica whose own is an hour off agrees with the rest.

    `sync` costs one statement; call it at start and now and then, for clocks drift and are set.
    """

    def __init__(self, database_now: datetime, monotonic_s: float) -> None:
        self._set(database_now, monotonic_s)

    @classmethod
    async def open(cls, pool: Pool) -> "DatabaseClock":
        return cls(*await _measure(pool))

    async def sync(self, pool: Pool) -> None:
        self._set(*await _measure(pool))

    def now(self) -> datetime:
        return self._at + timedelta(seconds=time.monotonic() - self._monotonic_s)

    def _set(self, database_now: datetime, monotonic_s: float) -> None:
        self._at = database_now
        self._monotonic_s = monotonic_s


async def _measure(pool: Pool) -> tuple[datetime, float]:
    """The answer is as old as half its journey, so the time is taken in the middle of it."""
    started = time.monotonic()
    row = await fetch_row(pool, DATABASE_TIME)
    assert row is not None, "the database always knows the time"
    return row["clock_timestamp"], (started + time.monotonic()) / 2
