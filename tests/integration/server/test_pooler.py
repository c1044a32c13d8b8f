"""Servers behind a real PgBouncer, which pools sessions or transactions."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg
import pytest

from holdfast.adapters.postgres.pool import (
    PoolOptions,
    UnsafeDatabase,
    open_pool,
    set_role_settings,
)
from holdfast.adapters.postgres.verify import verify
from holdfast.chats.changes import ChangeRequest
from holdfast.domain.chat import Status
from holdfast.domain.commands import Interrupt
from holdfast.domain.events import EventType
from holdfast.domain.messages import Role
from holdfast.domain.parts import Text
from tests.support.builders import user
from tests.support.buses import until
from tests.support.database import temporary_database
from tests.support.pgbouncer import SERVERS_MAX, PgBouncer, pgbouncer
from tests.support.replica import Replicas, ask, at_rest
from tests.support.waits import HANG_S
from tests.support.world import ACTOR

MODES = ["session", "transaction"]
WORDS = " ".join(f"word{number}" for number in range(30))


@dataclass(frozen=True)
class Pooled:
    cell: Replicas
    pooler: PgBouncer
    given: dict[str, Any]


@pytest.fixture(params=MODES)
async def pooled(cell: Replicas, request: pytest.FixtureRequest) -> AsyncGenerator[Pooled]:
    mode: str = request.param
    if mode == "transaction":
        await set_role_settings(cell.database_url)
    async with pgbouncer(cell.database_url, mode) as pooler:
        given = {
            "database_url": pooler.url,
            "database_pooler": mode,
            "database_direct_url": cell.database_url,
        }
        yield Pooled(cell, pooler, given)


@asynccontextmanager
async def connected(url: str) -> AsyncGenerator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(url, statement_cache_size=0)
    try:
        yield connection
    finally:
        await connection.close()


async def said(server: Any, chat_id: Any) -> str:
    page = await server.adapters.history.page(chat_id, limit=100)
    replies = [message.body for message in page.messages if message.body.role is Role.ASSISTANT]
    return "".join(p.text for body in replies for p in body.parts if isinstance(p, Text))


async def test_a_turn_behind_a_pooler_streams_live_and_ends_whole(pooled: Pooled) -> None:
    cell, given = pooled.cell, pooled.given
    async with (
        cell.open(role="api", **given) as api,
        cell.open(role="worker", **given) as worker,
    ):
        assert api.hub is not None
        chat = await ask(api, user(f'[[sim: say "{WORDS}" | rate=20]]'))
        kinds: list[EventType] = []
        async with asyncio.timeout(HANG_S), api.hub.follow(chat.chat_id, None) as events:
            async for event in events:
                kinds.append(event.kind)
                if event.kind is EventType.MESSAGE_CREATED and b"assistant" in event.data:
                    break
        assert EventType.PREVIEW_DELTA in kinds  # before the message: it came over the bus
        assert (await at_rest(api, chat.chat_id)).status is Status.IDLE
        assert await said(api, chat.chat_id) == WORDS
        assert worker.metrics.value("holdfast_worker_acquired_total") == 1
        assert worker.metrics.value("holdfast_worker_lease_losses_total") == 0


async def test_stop_behind_a_pooler_ends_a_reply(pooled: Pooled) -> None:
    async with pooled.cell.open(**pooled.given) as server:
        chat = await ask(server, user("[[sim: words=2000 | rate=10]]"))
        await until(lambda: server.metrics.value("holdfast_turn_live_parts_total") > 0)
        await server.ledger.transact(chat.chat_id, ChangeRequest((Interrupt(),), by=ACTOR))
        assert (await at_rest(server, chat.chat_id)).status is Status.IDLE
        assert 0 < len((await said(server, chat.chat_id)).split()) < 2000


async def test_a_crowd_behind_a_pooler_shares_its_sessions(pooled: Pooled) -> None:
    """More connections than the pooler of transactions has sessions: a statement that relied on
    the session of the one before it would fail."""
    async with (
        pooled.cell.open(**pooled.given) as one,
        pooled.cell.open(**pooled.given) as other,
    ):
        chats = await asyncio.gather(
            *(ask(each, user('[[sim: say "well met"]]')) for each in [one, other] * 20)
        )
        for chat in chats:
            assert (await at_rest(one, chat.chat_id)).status is Status.IDLE
            assert await said(one, chat.chat_id) == "well met"
        if pooled.given["database_pooler"] == "transaction":
            async with connected(pooled.cell.database_url) as connection:
                sessions = await connection.fetchval(
                    "select count(*) from pg_stat_activity where datname = current_database()"
                    " and application_name = 'holdfast'"
                )
            assert sessions <= SERVERS_MAX + 2  # and the two heartbeats
    async with open_pool(pooled.cell.database_url) as pool:
        assert await verify(pool) == []


async def test_the_heartbeat_does_not_pass_the_pooler(pooled: Pooled) -> None:
    async with (
        pooled.cell.open(**pooled.given, heartbeat_every_s=0.2),
        connected(pooled.cell.database_url) as connection,
    ):

        async def lease() -> datetime:
            return await connection.fetchval("select max(lease_until) from workers")

        pooled.pooler.pause()
        try:
            before = await lease()
            async with asyncio.timeout(HANG_S):
                while await lease() == before:  # noqa: ASYNC110 - the worker's own time
                    await asyncio.sleep(0.05)
        finally:
            pooled.pooler.resume()


async def test_sessions_behind_a_pooler_have_our_settings(pooled: Pooled) -> None:
    mode = pooled.given["database_pooler"]
    options = PoolOptions(lock_timeout_ms=5_000, pooler=mode)
    async with open_pool(pooled.pooler.url, options) as pool:
        assert await pool.fetchval("show lock_timeout") == "5s"
        assert await pool.fetchval("show default_transaction_isolation") == "read committed"
        assert await pool.fetchval("show plan_cache_mode") == "force_generic_plan"


async def test_a_session_that_was_ours_keeps_none_of_our_settings(template: str) -> None:
    async with temporary_database(template) as url, pgbouncer(url, "session") as pooler:
        async with open_pool(pooler.url, PoolOptions(pooler="session")):
            pass
        async with connected(pooler.url) as connection:
            assert await connection.fetchval("show lock_timeout") == "0"


async def test_a_pooler_of_transactions_without_timeouts_is_refused(template: str) -> None:
    async with temporary_database(template) as url, pgbouncer(url, "transaction") as pooler:
        with pytest.raises(UnsafeDatabase, match="set lock_timeout = '5000';") as refused:
            async with open_pool(pooler.url, PoolOptions(pooler="transaction")):
                raise AssertionError("opened")
        assert "statement_timeout=0" in str(refused.value)
        assert "default_transaction_isolation" not in str(refused.value)


async def test_a_pooler_of_transactions_with_another_isolation_is_refused(template: str) -> None:
    async with temporary_database(template) as url:
        await set_role_settings(url)
        name = url.rsplit("/", 1)[1]
        async with connected(url) as connection:
            await connection.execute(
                f'alter role current_user in database "{name}"'
                " set default_transaction_isolation = 'repeatable read'"
            )
        async with pgbouncer(url, "transaction") as pooler:
            with pytest.raises(UnsafeDatabase, match="isolation=repeatable read"):
                async with open_pool(pooler.url, PoolOptions(pooler="transaction")):
                    raise AssertionError("opened")
