"""The schema: fresh equals upgraded, down and up again equals fresh, replicas take turns."""

import asyncio
import re

import asyncpg
import pytest

from holdfast.adapters.postgres.commits import CommitForm, every_commit
from holdfast.adapters.postgres.migrate import migrate, roll_back
from holdfast.adapters.postgres.queries import Query, block_names, load_query
from holdfast.adapters.postgres.store import LOAD, LOAD_MANY, LOAD_TARGET
from tests.support.database import MIGRATIONS, temporary_database

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
        await roll_back(url, count=MIGRATIONS)
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


# A block that is only part of a statement says so by its name.
PART = re.compile(
    r"(commit|allow|list)_\w+|audit_(append|select)|count_generation|\w+_(begin|end|columns)"
)
STATEMENTS = sorted(name for name in block_names() if not PART.fullmatch(name))


@pytest.mark.parametrize("name", STATEMENTS)
async def test_every_statement_fits_the_schema(pool: asyncpg.Pool, name: str) -> None:
    async with pool.acquire() as connection:
        await connection.prepare(load_query(name).text)


@pytest.mark.parametrize("query", [LOAD, LOAD_MANY, LOAD_TARGET], ids=["one", "many", "target"])
async def test_a_load_fits_the_schema(pool: asyncpg.Pool, query: Query) -> None:
    async with pool.acquire() as connection:
        await connection.prepare(query.text)


@pytest.mark.parametrize("form", CommitForm)
async def test_every_form_of_the_commit_fits_the_schema(
    pool: asyncpg.Pool, form: CommitForm
) -> None:
    async with pool.acquire() as connection:
        await connection.prepare(every_commit()[form].text)
