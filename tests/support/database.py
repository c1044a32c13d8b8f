"""A real database per test, cloned from one that was migrated once."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from uuid import uuid4

import asyncpg

from holdfast.adapters.postgres.migrate import migrate
from holdfast.adapters.postgres.pool import Pool, PoolOptions, open_pool
from holdfast_lab.chaos.harness.people import add_user as add_user

MIGRATIONS = sum(
    each.name.endswith(".sql")
    for each in files("holdfast.adapters.postgres").joinpath("migrations").iterdir()
)
"""How many there are."""
SERVER_URL = os.environ.get("HOLDFAST_TEST_SERVER_URL", "postgresql://127.0.0.1:5432")

SHAPE = """
    select md5(string_agg(fact, ' ' order by fact)) from (
        select concat_ws('/', oid, xmin, reltuples) from pg_class where oid >= 16384
        union all select concat_ws('/', attrelid, attnum, xmin) from pg_attribute
            where attrelid >= 16384
        union all select concat_ws('/', oid, xmin) from pg_constraint where oid >= 16384
        union all select concat_ws('/', oid, xmin) from pg_trigger where oid >= 16384
        union all select concat_ws('/', oid, xmin) from pg_proc where oid >= 16384
        union all select concat_ws('/', indexrelid, xmin) from pg_index where indexrelid >= 16384
        union all select concat_ws('/', 'statistics', starelid, staattnum) from pg_statistic
            where starelid >= 16384
        union all select concat_ws('/', 'setting', setconfig::text) from pg_db_role_setting
            inner join pg_database on pg_database.oid = setdatabase
            where datname = current_database()
        union all select concat_ws('/', 'migration', ctid, xmin) from _pogo_migration
        union all select concat_ws('/', 'version', ctid, xmin) from _pogo_version
        union all select 'large' where pg_database_size(current_database()) > 32000000
    ) as facts (fact)
"""
"""Everything in a database but its users' rows: what was changed since has another `xmin`."""

TABLES = """
    select format('%I.%I', n.nspname, c.relname) as name
    from pg_class as c inner join pg_namespace as n on n.oid = c.relnamespace
    where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition
        and c.relname not like '\\_pogo%'
"""
"""Without partitions: their rows are rows of the table that they are parts of."""


def database_url(name: str) -> str:
    return f"{SERVER_URL}/{name}"


async def on_server(statement: str) -> None:
    connection = await asyncpg.connect(database_url("postgres"))
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def _new_name() -> str:
    return f"holdfast_test_{uuid4().hex}"


@asynccontextmanager
async def temporary_database(template: str = "template1") -> AsyncGenerator[str]:
    """The URL of a database that is as the template is, and gone afterwards."""
    shelf = SHELVES.get(template)
    name = await shelf.take() if shelf else await _create(template)
    try:
        yield database_url(name)
    finally:
        if shelf:
            await shelf.put_back(name)
        else:
            await _drop(name)


async def _create(template: str) -> str:
    name = _new_name()
    await on_server(f'create database "{name}" template "{template}"')
    return name


async def _drop(name: str) -> None:
    await on_server(f'drop database if exists "{name}" with (force)')


@asynccontextmanager
async def migrated_template() -> AsyncGenerator[str]:
    """The name of a migrated database to clone."""
    async with temporary_database() as url:
        await migrate(url)
        name = url.rsplit("/", 1)[1]
        SHELVES[name] = shelf = Shelf(name, await _shape(url))
        try:
            yield name
        finally:
            del SHELVES[name]
            for clean in shelf.clean:
                await _drop(clean)


@dataclass
class Shelf:
    """Clones that were used and are clean again.

    To make a clone and to drop it costs the server 0.15 s of CPU, 8 MB of log and a checkpoint that
    all others wait for; to delete a test's few rows costs milliseconds. A clone that is not surely
    as the template is, or has grown, is dropped.
    """

    template: str
    shape: str
    clean: list[str] = field(default_factory=list[str])

    async def take(self) -> str:
        return self.clean.pop() if self.clean else await _create(self.template)

    async def put_back(self, name: str) -> None:
        # Under a new name: whoever still knows the old one must not find the next test's database.
        renamed = _new_name()
        try:
            await _hang_up(name)
            await on_server(f'alter database "{name}" rename to "{renamed}"')
        except asyncpg.PostgresError:
            await _drop(name)
        else:
            if await _cleaned(renamed, self.shape):
                self.clean.append(renamed)
            else:
                await _drop(renamed)


SHELVES: dict[str, Shelf] = {}
"""By the template's name."""


async def _hang_up(name: str) -> None:
    await on_server(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
        f" where datname = '{name}' and backend_type = 'client backend'"
    )


async def _cleaned(name: str, shape: str) -> bool:
    """Whether it is now as the template is: the same tables, and none of the test's rows."""
    connection = await asyncpg.connect(database_url(name))
    try:
        if await connection.fetchval(SHAPE) != shape:
            return False
        # No triggers: the audit log refuses to shrink, and order would matter to foreign keys.
        await connection.execute("set session_replication_role = replica")
        tables = [row["name"] for row in await connection.fetch(TABLES)]
        for each in tables:
            if await connection.fetchval(f"select exists (select from {each})"):
                await connection.execute(f"delete from {each}")
    except asyncpg.PostgresError:  # such as not being allowed to
        return False
    finally:
        await connection.close()
    return True


async def _shape(url: str) -> str:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(SHAPE)
    finally:
        await connection.close()


@asynccontextmanager
async def cloned_pool(template: str, *, connections_max: int = 8) -> AsyncGenerator[Pool]:
    async with (
        temporary_database(template) as url,
        open_pool(url, PoolOptions(connections_max=connections_max)) as pool,
    ):
        yield pool
