"""No statement reads a whole table, or more than one partition for one chat.

`just bench-plans` says the same of a large database.
"""

import re
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import LiteralString

import asyncpg
import pytest
import pytest_asyncio

from benchmarks.plan_nodes import PARTITIONED, Plan, explain
from benchmarks.plans import (
    CHAT,
    LARGE_TABLES,
    QUEUED_CHAT,
    SMALL,
    WAITING,
    generate,
    plans,
    statements,
)
from holdfast.adapters.postgres.history import PAGES
from holdfast.adapters.postgres.prefixes import FORGET
from holdfast.adapters.postgres.queries import Query, block_names, load_query
from holdfast.adapters.postgres.store import LOAD_MANY
from tests.support.database import temporary_database

READS_ALL = {"forget_prefixes", "verify", "verify_prefixes"}
"""Blocks that are for every chat."""
MENTIONS = re.compile(rf"\b(?:from|join|into|update) (?:{'|'.join(PARTITIONED)})\b")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def large(template: str) -> AsyncGenerator["asyncpg.Connection"]:
    async with temporary_database(template) as url:
        connection = await asyncpg.connect(url)
        await generate(connection, SMALL)
        yield connection
        await connection.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def found(large: "asyncpg.Connection") -> list[Plan]:
    return await plans(large, SMALL, times=3)


@pytest.mark.asyncio(loop_scope="module")
async def test_every_statement_follows_an_index(found: list[Plan]) -> None:
    assert len(found) > 20
    whole = {plan.name: plan.whole_tables(LARGE_TABLES) for plan in found}
    assert {name: tables for name, tables in whole.items() if tables} == {}


@pytest.mark.asyncio(loop_scope="module")
async def test_every_statement_reads_one_partition_for_one_chat(found: list[Plan]) -> None:
    assert {plan.name: plan.unpruned for plan in found if plan.unpruned} == {}


def test_every_block_that_names_a_partitioned_table_is_checked() -> None:
    checked = "\n".join(query.source for query, _ in statements(SMALL).values())
    blocks = {name: load_query(name).source for name in block_names() - READS_ALL}
    named = {name: block for name, block in blocks.items() if MENTIONS.search(block)}
    assert len(named) > 10
    assert [name for name, block in named.items() if block not in checked] == []


@pytest.mark.asyncio(loop_scope="module")
async def test_forgetting_prefixes_follows_an_index(large: "asyncpg.Connection") -> None:
    await large.execute("insert into prompt_prefixes values ('a', 'b'), ('c', 'd')")
    values = FORGET.values({"after": "", "limit": 100, "unnamed_for": timedelta(days=1)})
    plan = Plan("forget prefixes", await explain(large, FORGET, values))
    assert plan.whole_tables(LARGE_TABLES) == []


async def test_the_statement_of_the_function_is_the_one_that_is_checked(
    pool: asyncpg.Pool,
) -> None:
    body = await pool.fetchval("select prosrc from pg_proc where proname = 'waiting_messages'")
    assert WAITING.source.replace(":chat_id", "of_chat") in body


async def test_the_check_sees_a_table_that_is_read_whole(pool: asyncpg.Pool) -> None:
    query = Query.compile("select count(*) from messages where visibility = 'both'")
    async with pool.acquire() as connection:
        plan = Plan("all", await explain(connection, query, []))
    assert set(plan.whole_tables(LARGE_TABLES)) == {"messages"}


def without(query: Query, condition: LiteralString) -> Query:
    assert condition in query.source
    return Query.compile(query.source.replace(condition, "true"))


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("mutant", "table"),
    [
        (without(LOAD_MANY, "k.chat_id = asked.chat_id"), "receipts"),
        (without(PAGES, "m.chat_id = asked.chat_id"), "messages"),
        (without(WAITING, "chat_id = :chat_id"), "queued_messages"),
    ],
)
async def test_mutant_a_statement_that_does_not_name_the_chat_is_seen(
    large: "asyncpg.Connection", mutant: Query, table: str
) -> None:
    values = {
        "chat_ids": [CHAT, QUEUED_CHAT], "client_keys": ["no", "no"],
        "as_ofs": [5, 5], "limit": 50, "bytes_max": 1000,
    }  # fmt: skip
    plan = Plan("mutant", await explain(large, mutant, mutant.values(values)))
    assert plan.unpruned == [table]
