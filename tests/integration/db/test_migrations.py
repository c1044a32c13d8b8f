"""The schema: fresh equals upgraded, down and up again equals fresh, replicas take turns."""

import asyncio

import asyncpg
import pytest
from tests.support.database import temporary_database

from holdfast.db.migrate import migrate, roll_back
from holdfast.db.queries import load_query, query_names
from holdfast.db.store import COMMIT, COMMIT_ALL

CATALOGUE = """
select 'column', table_name, column_name,
       concat_ws(' ', data_type, is_nullable, column_default)
from information_schema.columns where table_schema = 'public' and table_name not like '%pogo%'
union all
select 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid)
from pg_constraint where connamespace = 'public'::regnamespace
    and conrelid::regclass::text not like '%pogo%'
union all
select 'index', tablename, indexname, indexdef
from pg_indexes where schemaname = 'public' and tablename not like '%pogo%'
order by 1, 2, 3
"""


async def catalogue(url: str) -> list[tuple[str, ...]]:
    connection = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await connection.fetch(CATALOGUE)]
    finally:
        await connection.close()


async def test_down_and_up_again_equals_fresh() -> None:
    async with temporary_database() as url:
        await migrate(url)
        fresh = await catalogue(url)
        assert len(fresh) > 80
        await roll_back(url, count=1)
        assert await catalogue(url) == []
        await migrate(url)
        assert await catalogue(url) == fresh


async def test_migrating_again_changes_nothing() -> None:
    async with temporary_database() as url:
        await migrate(url)
        fresh = await catalogue(url)
        await migrate(url)
        assert await catalogue(url) == fresh


async def test_replicas_that_start_together_take_turns() -> None:
    async with temporary_database() as url:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(6):
                tasks.create_task(migrate(url))
        assert len(await catalogue(url)) > 80


@pytest.mark.parametrize(
    "name", sorted(query_names() - {"commit_begin", "commit_rest", "commit_end"})
)
async def test_every_statement_fits_the_schema(pool: asyncpg.Pool, name: str) -> None:
    async with pool.acquire() as connection:
        await connection.prepare(load_query(name))


@pytest.mark.parametrize("statement", [COMMIT, COMMIT_ALL])
async def test_the_commit_fits_the_schema(pool: asyncpg.Pool, statement: str) -> None:
    async with pool.acquire() as connection:
        await connection.prepare(statement)
