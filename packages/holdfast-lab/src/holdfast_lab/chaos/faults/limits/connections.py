"""The connections of the database are used up by others while people talk.

Either strangers hold a lock that every statement of ours waits for, so that a replica's whole pool
waits; or they take every connection that the server has, ours too. A client that asks meanwhile is
answered within a bound; a worker whose pool waits keeps its lease, by a connection of its own; and
afterwards everything is given back.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import asyncpg

from holdfast_lab.chaos.attack import Found, Order
from holdfast_lab.chaos.faults.limits.crowd import Crowd
from holdfast_lab.chaos.faults.streams.cell import QUICK
from holdfast_lab.chaos.faults.workers.trials import settings_for
from holdfast_lab.chaos.harness.cluster import theatre
from holdfast_lab.chaos.harness.private_postgres import private_postgres
from holdfast_lab.chaos.harness.replica import open_door

POOL: Final = 2
CHATS: Final = 8 * POOL
STATEMENT_S: Final = 1.0
WAITS_S_MAX: Final = 2 * (STATEMENT_S + STATEMENT_S) + 1.5
"""For a connection and for the statement, to know who asks and to answer; and a busy machine."""
LOCKED_S: Final = 6.5
"""Longer than a lease (4 s) and than a request may wait."""
CUT_OFF: Final = """
    select pg_terminate_backend(pid) from pg_stat_activity
    where backend_type = 'client backend' and application_name <> ''
"""
TAKEN_S: Final = 1.0
SITTING_S: Final = 0.5
CONNECTIONS: Final = 60
OURS_MAX: Final = 3 * (POOL + 2 + 1)
"""Of a replica and two workers: the pool, the bus, the heartbeat."""
SETTLED_S: Final = 15.0
BACK_S_MAX: Final = 15.0


@dataclass
class Strangers:
    """Who else uses the database."""

    url: str
    seats: list[Any] = field(default_factory=list[Any])

    async def hold_locks(self) -> None:
        connection = await asyncpg.connect(self.url)
        async with connection.transaction():
            await connection.execute("lock table chats, messages in access exclusive mode")
            await asyncio.sleep(LOCKED_S)
        await connection.close()

    async def take_all(self) -> None:
        """Every connection that there is; then ours are cut off, and their seats taken, too."""
        first = await asyncpg.connect(self.url)
        self.seats.append(first)
        await self._sit_down()
        # They connect one by one, and the first to see a free connection gets it: also one of ours.
        ends_s = time.monotonic() + SITTING_S
        while time.monotonic() < ends_s:
            await first.execute(CUT_OFF)
            await asyncio.sleep(0.02)
            await self._sit_down()

    async def _sit_down(self) -> None:
        with suppress(asyncpg.TooManyConnectionsError):
            while True:
                self.seats.append(await asyncpg.connect(self.url))

    async def leave(self) -> None:
        for seat in self.seats:
            await seat.close()
        self.seats.clear()


async def exhaust(order: Order, mutant: str | None = None) -> Found:
    database = private_postgres({"max_connections": str(CONNECTIONS)})
    async with theatre(database=database) as stage:
        url = await stage.new_database()
        tight = {**QUICK, "database_connections_max": POOL}
        settings = settings_for(stage, url, "postgres", **tight)
        workers = [await stage.engage("worker", settings, mutant=mutant) for _ in range(2)]
        # Only people are told so soon: a worker's statements wait for as long as in production.
        soon = {**settings, "role": "api", "database_command_timeout_s": STATEMENT_S}
        async with open_door(soon) as door:
            crowd, found = Crowd(door, WAITS_S_MAX), Found(0)
            async with crowd.talking(CHATS):
                for number in range(order.count):
                    await crowd.taken_again()
                    await _once(Strangers(url), ("locks", "seats")[number % 2], crowd, found)
                    order.say(f"used up {found.count} times, {crowd.refused} refused")
            await crowd.check(found)
            found.violations += await _not_given_back(url)
        found.violations += [f"{w.name} died of it" for w in workers if w.ended_at is not None]
    return found


async def _once(strangers: Strangers, what: str, crowd: Crowd, found: Found) -> None:
    before = crowd.refused
    if what == "locks":
        async with _nobody_takes_over(strangers.url, crowd, found):
            await strangers.hold_locks()
    else:
        await strangers.take_all()
        await _until_refused(crowd, before)
        await strangers.leave()
    found.count += crowd.refused > before
    back_s = await crowd.taken_again()
    if back_s > BACK_S_MAX:
        found.violations.append(f"{back_s:.1f} s until something was taken again ({what})")


async def _until_refused(crowd: Crowd, before: int) -> None:
    """For a moment at least, and until a request has been refused."""
    await asyncio.sleep(TAKEN_S)
    with suppress(TimeoutError):
        async with asyncio.timeout(SETTLED_S):
            while crowd.refused == before:  # noqa: ASYNC110
                await asyncio.sleep(0.1)


@asynccontextmanager
async def _nobody_takes_over(url: str, crowd: Crowd, found: Found) -> AsyncGenerator[None]:
    """A chat that is driven stays where it is: its worker beats by a connection of its own."""
    before = await _workers(url)
    yield
    gone = before - await _workers(url)
    if gone:
        found.violations.append(f"{len(gone)} workers lost their lease for want of a connection")


async def _workers(url: str) -> set[UUID]:
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch("select id from workers where lease_until > now()")
    finally:
        await connection.close()
    return {row["id"] for row in rows}


async def _not_given_back(url: str) -> list[str]:
    """Sessions of ours that still do something once nothing is to be done, or that are too many."""
    connection = await asyncpg.connect(url)
    ends_s, ours, busy = time.monotonic() + SETTLED_S, 0, 1
    try:
        while busy and time.monotonic() < ends_s:
            await asyncio.sleep(0.1)
            row = await connection.fetchrow(
                "select count(*) as ours, count(*) filter (where state <> 'idle') as busy"
                " from pg_stat_activity where backend_type = 'client backend'"
                " and pid <> pg_backend_pid()"
            )
            assert row is not None
            ours, busy = row["ours"], row["busy"]
    finally:
        await connection.close()
    held = [f"{busy} connections are still held"] if busy else []
    return held + ([f"{ours} connections, {OURS_MAX} at most"] if ours > OURS_MAX else [])
