"""The statements of the bus fit the schema, follow indexes, and cost one per tick."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from uuid import uuid4

import asyncpg
import pytest

from holdfast.adapters.bus.options import BusOptions
from holdfast.adapters.bus.postgres import open_postgres_bus
from holdfast.adapters.bus.queries import block_names, load_query
from tests.support.builders import CHAT
from tests.support.buses import EPISODE, part, take, until
from tests.support.database import on_server, temporary_database
from tests.support.waits import HANG_S
from tests.support.wire import tapped


@pytest.mark.parametrize("name", sorted(block_names()))
async def test_every_statement_fits_the_schema(pool: asyncpg.Pool, name: str) -> None:
    async with pool.acquire() as connection:
        await connection.prepare(load_query(name).text)


async def test_a_latecomers_read_follows_the_key_and_never_sorts(pool: asyncpg.Pool) -> None:
    query = load_query("read_live")
    episode = {"history_version": 7, "attempt": 1, "history_stamp": 5}
    known = {"chat_id": CHAT, **episode, "after_seq": 0, "upto_seq": 9}
    async with pool.acquire() as connection:
        await connection.execute("set enable_seqscan = off")
        rows = await connection.fetch("explain " + query.text, *query.values(known))
    plan = "\n".join(row[0] for row in rows)
    assert plan.count("Index Cond") == 3
    assert "Seq Scan" not in plan


async def test_the_live_log_is_not_written_ahead(pool: asyncpg.Pool) -> None:
    kinds = await pool.fetch(
        "select relpersistence from pg_class where relname ~ '^live_parts_[0-9]$'"
    )
    assert [row[0] for row in kinds] == [b"u"] * 3


async def test_a_tick_costs_one_statement_however_many_parts_and_chats(template: str) -> None:
    options = BusOptions(tick_s=0.05)
    async with (
        temporary_database(template) as url,
        tapped(url) as tap,
        open_postgres_bus(tap.url, options) as bus,
        bus.subscribe(CHAT) as news,
    ):
        await bus.append([part(1)])
        await take(news, 1)
        await until(lambda: bus.counters.sent_parts == 1)  # and the slots were looked after
        before = tap.statements
        await bus.append([part(seq) for seq in range(2, 202)])
        await take(news, 200)
        assert tap.statements - before == 1
        assert len(await bus.read_live(CHAT, EPISODE)) == 201


@asynccontextmanager
async def a_role() -> AsyncGenerator[str]:
    name = f"holdfast_test_{uuid4().hex[:12]}"
    await on_server(f'create role "{name}" login')
    try:
        yield name
    finally:
        await on_server(f'drop role "{name}"')


async def test_a_role_that_may_not_empty_the_live_log_is_named_and_goes_on(
    template: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_role() as role, temporary_database(template) as url:
        owner = await asyncpg.connect(url)
        await owner.execute(f'grant select, insert on all tables in schema public to "{role}"')
        options = BusOptions(tick_s=0.01, live_ttl_s=0.2)
        async with open_postgres_bus(url.replace("://", f"://{role}@", 1), options) as bus:
            said = 0

            async def say() -> None:
                nonlocal said
                said += 1
                await bus.append([part(said)])
                await until(lambda: bus.counters.sent_parts == said)

            async with asyncio.timeout(HANG_S):
                while await owner.fetchval("select count(distinct slot) from live_parts") < 3:
                    await say()
            # Real time: from now on each slot is due again within 0.6 s.
            ends_s = asyncio.get_running_loop().time() + 0.8
            while asyncio.get_running_loop().time() < ends_s:
                await say()
            assert bus.counters.reconnects == 0
            assert await owner.fetchval("select count(*) from live_parts") == said
        await owner.close()
    told = [each for each in caplog.messages if "grant truncate on live_parts_0" in each]
    assert len(told) == 1
    assert f"to {role}" in told[0]
