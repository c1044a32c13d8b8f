"""`holdfast db migrate` beside a dump: a transaction that has read a table and stays open.

The migration waits for its lock, and every statement that comes after it on the same table waits
behind the migration. No statement may wait longer than the migration waits at a time.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

import asyncpg

from holdfast.adapters.postgres.migrate import MigrateOptions, migrate
from holdfast_lab.chaos.attack import Found, Order
from holdfast_lab.chaos.harness.cluster import theatre
from holdfast_lab.chaos.harness.later_schema import LATER, later_migrations

DUMPS_S: Final = 5.0
"""How long the dump goes on once the migration waits for it."""
MARGIN_S: Final = 1.0
"""For the statement itself, on a busy machine."""
STATEMENTS: Final = (
    "select id from chats",
    "update chats set title = 'x' where title = 'y'",
    "select count(*) from messages",
)
PAUSE_S: Final = 0.05
ENDS_S: Final = 120.0
WAITS: Final = "select exists (select from pg_locks where not granted and locktype = 'relation')"
APPLIED: Final = "select exists (select from _pogo_migration where migration_id = $1)"


async def migrate_beside(order: Order, options: MigrateOptions | None = None) -> Found:
    """`options`: other than those of `holdfast db migrate`."""
    with later_migrations() as folder:
        given = replace(options or MigrateOptions(), tells_each=False, folder=folder)
        return await _all(order, given)


async def _all(order: Order, options: MigrateOptions) -> Found:
    found, longest_s = Found(0), 0.0
    async with theatre() as stage:
        for _ in range(order.count):
            url = await stage.new_database()
            async with _connected(url) as look:
                waited_s = await _once(url, look, options)
                longest_s = max(longest_s, waited_s)
                if not await look.fetchval(APPLIED, LATER):
                    found.violations.append("the migration was not applied")
            if waited_s > MigrateOptions().lock_s + MARGIN_S * order.patience:
                found.violations.append(f"a statement waited {waited_s:.1f} s for the migration")
            found.count += 1
            order.say(f"{found.count} migrations beside a dump")
    found.figures["longest_wait_s"] = round(longest_s, 2)
    return found


async def _once(
    url: str, look: "asyncpg.Connection[asyncpg.Record]", options: MigrateOptions
) -> float:
    """The longest that a statement of others was answered in."""
    done, longest_s = asyncio.Event(), 0.0

    async def work(statement: str) -> None:
        nonlocal longest_s
        async with _connected(url) as app:
            while not done.is_set():
                began_s = time.monotonic()
                await app.execute(statement)
                longest_s = max(longest_s, time.monotonic() - began_s)
                await asyncio.sleep(PAUSE_S)

    async with asyncio.TaskGroup() as tasks:
        async with _connected(url) as dump, dump.transaction(readonly=True):
            await dump.fetch("select id from chats")
            migrating = tasks.create_task(migrate(url, options))
            await _until_waiting(look)
            for statement in STATEMENTS:
                tasks.create_task(work(statement))
            await asyncio.sleep(DUMPS_S)
            assert not migrating.done(), "the dump held the migration up no longer"
        async with asyncio.timeout(ENDS_S):
            await migrating
        done.set()
    return longest_s


async def _until_waiting(look: "asyncpg.Connection[asyncpg.Record]") -> None:
    async with asyncio.timeout(ENDS_S):
        while not await look.fetchval(WAITS):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@asynccontextmanager
async def _connected(url: str) -> AsyncGenerator["asyncpg.Connection[asyncpg.Record]"]:
    connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()
