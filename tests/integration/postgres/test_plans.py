"""No statement reads a whole table (`just bench-plans` says the same of a large database)."""

from collections.abc import AsyncGenerator

import asyncpg
import pytest_asyncio

from benchmarks.plans import SMALL, Plan, generate, plans
from tests.support.database import temporary_database


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def found(template: str) -> AsyncGenerator[list[Plan]]:
    async with temporary_database(template) as url:
        connection = await asyncpg.connect(url)
        await generate(connection, SMALL)
        yield await plans(connection, SMALL, times=3)
        await connection.close()


async def test_every_statement_follows_an_index(found: list[Plan]) -> None:
    assert len(found) > 20
    assert {plan.name: plan.whole_tables for plan in found if plan.whole_tables} == {}


async def test_the_check_sees_a_table_that_is_read_whole(pool: asyncpg.Pool) -> None:
    rows = await pool.fetch("explain select count(*) from messages where visibility = 'both'")
    assert Plan("all", "\n".join(row[0] for row in rows), 0.0).whole_tables == ["messages"]
