"""A migration beside a long reader, such as a dump: it does not stop the service."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import asyncpg
import pytest

from holdfast.adapters.postgres.migrate import MigrateOptions, MigrationBlocked, migrate, roll_back
from holdfast_lab.chaos.harness.later_schema import LATER, later_migrations
from tests.requirements import requirement
from tests.support.database import MIGRATIONS, temporary_database
from tests.support.waits import HANG_S

QUICK = MigrateOptions(lock_s=0.5, pause_s=0.2, look_every_s=0.05)
HASTY = MigrateOptions(lock_s=0.5, pause_s=0.01, give_up_s=0.5, look_every_s=0.05)
SILENT = MigrateOptions(tells_each=False)
WAITS = "select exists (select from pg_locks where not granted and locktype = $1)"
HEAD = "select id from chats where title = 'dump'"


@asynccontextmanager
async def connected(url: str, **settings: str) -> AsyncGenerator["asyncpg.Connection"]:
    connection = await asyncpg.connect(url, server_settings=settings)
    try:
        yield connection
    finally:
        await connection.close()


@dataclass(frozen=True)
class Upgrade:
    """A database of this version, and the migrations of a later one, which changes `chats`."""

    url: str
    folder: Path

    async def up(self, options: MigrateOptions) -> None:
        await migrate(self.url, replace(options, folder=self.folder))

    async def down(self, options: MigrateOptions) -> None:
        await roll_back(self.url, count=1, options=replace(options, folder=self.folder))

    async def applied(self) -> int:
        async with connected(self.url) as looking:
            return await looking.fetchval("select count(*) from _pogo_migration")


@asynccontextmanager
async def upgrade(template: str) -> AsyncGenerator[Upgrade]:
    async with temporary_database(template) as url:
        with later_migrations() as folder:
            yield Upgrade(url, folder)


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


@requirement("L152")
async def test_statements_are_answered_while_a_migration_waits_for_a_reader(
    template: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with upgrade(template) as database, asyncio.TaskGroup() as tasks:
        url = database.url
        # Far longer than one wait for a lock, far shorter than the reader stays.
        async with connected(url, lock_timeout="20s") as app:
            async with dump(url):
                migrating = tasks.create_task(database.up(QUICK))
                for _ in range(3):
                    await until_waiting(url, "relation")
                    await app.fetch("select id from chats")
                    await app.execute("update chats set title = 'x' where title = 'y'")
                line = await until_logged(caplog, "held by: pid")
                assert "nightly dump" in line
                assert HEAD in line
                assert not migrating.done()
            await asyncio.wait_for(migrating, HANG_S)
        assert await database.applied() == MIGRATIONS + 1


@requirement("L152")
async def test_a_migration_that_gets_no_lock_gives_up_and_names_the_session(template: str) -> None:
    async with upgrade(template) as database:
        async with dump(database.url):
            with pytest.raises(MigrationBlocked, match="nightly dump"):
                await asyncio.wait_for(database.up(HASTY), HANG_S)
        assert await database.applied() == MIGRATIONS
        await database.up(QUICK)
        assert await database.applied() == MIGRATIONS + 1


@requirement("L152")
@pytest.mark.parametrize("down", [False, True])
async def test_a_migration_waits_for_another_one_and_gives_up(template: str, down: bool) -> None:
    async with upgrade(template) as database, dump(database.url), asyncio.TaskGroup() as tasks:
        first = tasks.create_task(database.up(QUICK))
        await until_waiting(database.url, "relation")
        second = database.down(HASTY) if down else database.up(HASTY)
        with pytest.raises(MigrationBlocked):
            await asyncio.wait_for(second, HANG_S)
        assert not first.done()
        first.cancel()


async def test_each_migration_is_logged_unless_the_caller_wants_silence(
    template: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with upgrade(template) as database:
        caplog.clear()
        await database.up(SILENT)
        await database.down(SILENT)
        assert caplog.messages == []
        assert await database.applied() == MIGRATIONS
        await database.up(QUICK)
        assert any(LATER in line for line in caplog.messages)
