"""A migration beside a long reader, such as a dump: it does not stop the service."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from holdfast.adapters.postgres.migrate import MigrateOptions, MigrationBlocked, migrate, roll_back
from tests.requirements import requirement
from tests.support.database import MIGRATIONS, temporary_database
from tests.support.waits import HANG_S

BEFORE_A_CHANGE_OF_CHATS = 4
QUICK = MigrateOptions(lock_s=0.5, pause_s=0.2, look_every_s=0.05)
WAITS = "select exists (select from pg_locks where not granted and locktype = $1)"
HEAD = "select id from chats where title = 'dump'"


@asynccontextmanager
async def connected(url: str, **settings: str) -> AsyncGenerator["asyncpg.Connection"]:
    connection = await asyncpg.connect(url, server_settings=settings)
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def old_schema(template: str) -> AsyncGenerator[str]:
    """A database of a version before, whose next migrations change `chats`."""
    async with temporary_database(template) as url:
        await roll_back(url, count=MIGRATIONS - BEFORE_A_CHANGE_OF_CHATS)
        yield url


@asynccontextmanager
async def dump(url: str) -> AsyncGenerator[None]:
    """A transaction that has read `chats`, and stays open."""
    async with connected(url, application_name="nightly dump") as reader, reader.transaction():
        await reader.fetch(HEAD)
        yield


async def until_waiting(url: str, kind: str) -> None:
    async with connected(url) as looking, asyncio.timeout(HANG_S):
        while not await looking.fetchval(WAITS, kind):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def until_logged(caplog: pytest.LogCaptureFixture, *words: str) -> str:
    async with asyncio.timeout(HANG_S):
        while True:
            for line in caplog.messages:
                if all(word in line for word in words):
                    return line
            await asyncio.sleep(0.01)


async def applied(url: str) -> int:
    async with connected(url) as looking:
        return await looking.fetchval("select count(*) from _pogo_migration")


@requirement("L152")
async def test_statements_are_answered_while_a_migration_waits_for_a_reader(
    template: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with old_schema(template) as url, asyncio.TaskGroup() as tasks:
        # Far longer than one wait for a lock, far shorter than the reader stays.
        async with connected(url, lock_timeout="20s") as app:
            async with dump(url):
                migrating = tasks.create_task(migrate(url, QUICK))
                for _ in range(3):
                    await until_waiting(url, "relation")
                    await app.fetch("select id from chats")
                    await app.execute("update chats set title = 'x' where title = 'y'")
                line = await until_logged(caplog, "held by: pid")
                assert "nightly dump" in line
                assert HEAD in line
                assert not migrating.done()
            await asyncio.wait_for(migrating, HANG_S)
        assert await applied(url) == MIGRATIONS


@requirement("L152")
async def test_a_migration_that_gets_no_lock_gives_up_and_names_the_session(template: str) -> None:
    async with old_schema(template) as url:
        before = await applied(url)
        async with dump(url):
            hasty = MigrateOptions(lock_s=0.5, pause_s=0.01, give_up_s=0.5, look_every_s=0.05)
            with pytest.raises(MigrationBlocked, match="nightly dump"):
                await asyncio.wait_for(migrate(url, hasty), HANG_S)
        assert await applied(url) == before
        await migrate(url, QUICK)
        assert await applied(url) == MIGRATIONS


@requirement("L152")
@pytest.mark.parametrize("down", [False, True])
async def test_a_migration_waits_for_another_one_and_gives_up(template: str, down: bool) -> None:
    hasty = MigrateOptions(lock_s=0.5, pause_s=0.01, give_up_s=0.5, look_every_s=0.05)
    async with old_schema(template) as url, dump(url), asyncio.TaskGroup() as tasks:
        first = tasks.create_task(migrate(url, QUICK))
        await until_waiting(url, "relation")
        second = roll_back(url, count=1, options=hasty) if down else migrate(url, hasty)
        with pytest.raises(MigrationBlocked):
            await asyncio.wait_for(second, HANG_S)
        assert not first.done()
        first.cancel()


async def test_each_migration_is_logged_unless_the_caller_wants_silence(
    template: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with old_schema(template) as url:
        caplog.clear()
        await migrate(url, MigrateOptions(tells_each=False))
        await roll_back(url, count=1, options=MigrateOptions(tells_each=False))
        assert caplog.messages == []
    async with old_schema(template) as url:
        caplog.clear()
        await migrate(url)
        assert any("0008" in line for line in caplog.messages)
