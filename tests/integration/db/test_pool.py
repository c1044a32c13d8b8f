"""The pool: what it refuses to work on, what it costs, and what it makes of a cut connection."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from holdfast.db.clock import DatabaseClock
from holdfast.db.migrate import migrate
from holdfast.db.pool import NoDatabase, PoolOptions, UnsafeDatabase, open_pool
from holdfast.db.queries import Query
from holdfast.db.store import PostgresStore, fetch_row
from holdfast.db.writable import check_writable
from holdfast.domain.commands import SendMessage
from holdfast.domain.errors import DatabaseReadOnly, Unavailable
from holdfast_lab.chaos.stage.private_postgres import private_postgres
from tests.requirements import requirement
from tests.support.builders import CHAT, ORG, OWNER, user
from tests.support.database import add_user, on_server, temporary_database
from tests.support.wire import tapped
from tests.support.world import postgres_world


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes", "synchronous_commit"])
async def test_a_server_that_may_forget_is_refused(setting: str) -> None:
    async with private_postgres({setting: "off"}) as server:
        with pytest.raises(UnsafeDatabase, match=f"{setting}=off"):
            async with open_pool(server.url):
                raise AssertionError("opened")


async def test_standbys_that_no_commit_waits_for_are_refused() -> None:
    names = {"synchronous_standby_names": "standby"}
    async with private_postgres({"synchronous_commit": "local"} | names) as server:
        with pytest.raises(UnsafeDatabase, match="synchronous_commit=local does not wait"):
            async with open_pool(server.url):
                raise AssertionError("opened")


async def test_a_commit_that_is_local_is_accepted_where_no_standby_is_named() -> None:
    async with (
        private_postgres({"synchronous_commit": "local"}) as server,
        open_pool(server.url) as pool,
    ):
        assert await pool.fetchval("select 1") == 1


async def test_a_database_that_may_forget_is_refused(template: str) -> None:
    async with temporary_database(template) as url:
        name = url.rsplit("/", 1)[1]
        await on_server(f'alter database "{name}" set synchronous_commit = off')
        with pytest.raises(UnsafeDatabase, match="synchronous_commit"):
            async with open_pool(url):
                raise AssertionError("opened")


async def test_a_database_that_is_away_is_told_in_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The driver, which looks for it all the time, would tell thirty lines each time."""
    async with temporary_database() as url:
        name = url.rsplit("/", 1)[1]
        async with open_pool(url, PoolOptions(connections_min=1, connections_max=1)):
            await on_server(f'alter database "{name}" with allow_connections false')
            await on_server(
                f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'"
            )
            async with asyncio.timeout(60):
                while not caplog.records:  # noqa: ASYNC110 - the driver's own time
                    await asyncio.sleep(0.05)
    told = caplog.records[0]
    assert (told.name, told.exc_info) == ("asyncpg.pool", None)
    assert "not currently accepting connections" in told.getMessage()


async def test_checking_out_a_connection_costs_no_statement(template: str) -> None:
    async with (
        temporary_database(template) as url,
        tapped(url) as tap,
        open_pool(tap.url, PoolOptions(connections_min=1, connections_max=1)) as pool,
    ):
        before = tap.statements
        for _ in range(10):
            await pool.fetchval("select 1")
        assert tap.statements - before == 10


async def test_a_statement_that_is_not_answered_is_unavailable(template: str) -> None:
    async with (
        temporary_database(template) as url,
        open_pool(url, PoolOptions(command_timeout_s=3.0)) as pool,
    ):
        with pytest.raises(Unavailable):
            async with asyncio.timeout(60):
                await fetch_row(pool, Query.compile("select pg_sleep(100)"))


@requirement("D1")
async def test_a_killed_backend_is_unavailable_and_the_next_call_works(template: str) -> None:
    async with temporary_database(template) as url, open_pool(url) as pool:
        await add_user(pool, ORG, OWNER)
        world = postgres_world(pool)
        chat = await world.create(user())
        name = url.rsplit("/", 1)[1]
        await on_server(
            f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'"
        )
        for _ in range(10):
            with suppress(Unavailable):
                await world.do(chat.chat_id, SendMessage(user("again")), key="k")
                break
        said, waiting = await world.everything(chat.chat_id)
        assert (said + waiting).count("again") == 1


async def test_a_closed_pool_is_unavailable(template: str) -> None:
    async with temporary_database(template) as url:
        async with open_pool(url) as pool:
            store = PostgresStore(pool)
        with pytest.raises(Unavailable):
            await store.load(CHAT)


async def test_our_own_mistakes_are_not_called_unavailable(pool: asyncpg.Pool) -> None:
    with pytest.raises(asyncpg.InterfaceError):
        await fetch_row(pool, Query("", "select $1::integer", ("a", "b")), a=1, b=2)
    with pytest.raises(asyncpg.PostgresSyntaxError):
        await fetch_row(pool, Query.compile("selec 1"))


@requirement("L84")
async def test_the_clock_tells_the_databases_time(pool: asyncpg.Pool) -> None:
    clock = await DatabaseClock.open(pool)
    # It is as wrong as a round trip takes, which on a busy machine is seconds.
    told = await pool.fetchval("select clock_timestamp()")
    assert abs(clock.now() - told) < timedelta(seconds=10)
    wrong = DatabaseClock(datetime(2000, 1, 1, tzinfo=UTC), 0.0)
    await wrong.sync(pool)
    assert abs(wrong.now() - clock.now()) < timedelta(seconds=10)


async def test_nobody_waits_for_a_connection_longer_than_the_bound(template: str) -> None:
    options = PoolOptions(connections_min=1, connections_max=1, wait_s=0.2)
    look = Query.compile("select 1 as one")
    async with temporary_database(template) as url, open_pool(url, options) as pool:
        async with pool.acquire(), asyncio.timeout(60):
            with pytest.raises(Unavailable):
                await fetch_row(pool, look)
        row = await fetch_row(pool, look)
    assert row is not None


@requirement("L134")
async def test_a_connection_that_is_read_only_is_dropped_with_the_rest_of_the_pool(
    template: str,
) -> None:
    """As on a primary that was demoted: the sessions stay, and every write on them fails."""
    options = PoolOptions(connections_min=2, connections_max=2)
    demote = "set session characteristics as transaction read only"
    async with temporary_database(template) as url, open_pool(url, options) as pool:
        async with pool.acquire() as one, pool.acquire() as other:
            before = {one.get_server_pid(), other.get_server_pid()}
            await one.execute(demote)
            await other.execute(demote)
        write = Query.compile("insert into organisations (id, name) values (gen_random_uuid(), '')")
        with pytest.raises(DatabaseReadOnly):
            await fetch_row(pool, write)
        await fetch_row(pool, write)
        async with pool.acquire() as one, pool.acquire() as other:
            assert not before & {one.get_server_pid(), other.get_server_pid()}


async def test_a_failed_statement_keeps_its_connection(template: str) -> None:
    options = PoolOptions(connections_min=1, connections_max=1)
    pid = Query.compile("select pg_backend_pid() as pid")
    async with temporary_database(template) as url, open_pool(url, options) as pool:
        before = await fetch_row(pool, pid)
        with pytest.raises(asyncpg.PostgresSyntaxError):
            await fetch_row(pool, Query.compile("selec 1"))
        assert await fetch_row(pool, pid) == before


@requirement("L134")
async def test_a_database_that_takes_no_writes_is_refused_unless_it_is_only_read(
    template: str,
) -> None:
    async with temporary_database(template) as url:
        name = url.rsplit("/", 1)[1]
        await on_server(f'alter database "{name}" set default_transaction_read_only = on')
        with pytest.raises(NoDatabase, match="takes no writes"):
            async with open_pool(url):
                raise AssertionError("opened")
        with pytest.raises(NoDatabase, match="takes no writes"):
            await migrate(url)
        async with open_pool(url, PoolOptions(writes=False)) as pool:
            assert await pool.fetchval("select 1") == 1


async def test_statements_run_as_read_committed_whatever_the_default(template: str) -> None:
    async with temporary_database(template) as url:
        name = url.rsplit("/", 1)[1]
        isolation = "default_transaction_isolation = 'repeatable read'"
        await on_server(f'alter database "{name}" set {isolation}')
        async with open_pool(url) as pool:
            assert await pool.fetchval("show transaction_isolation") == "read committed"


@requirement("L136")
async def test_a_session_without_writes_is_noticed_without_a_write(template: str) -> None:
    options = PoolOptions(connections_min=1, connections_max=1)
    async with temporary_database(template) as url, open_pool(url, options) as pool:
        await check_writable(pool)
        await pool.execute("set session characteristics as transaction read only")
        with pytest.raises(DatabaseReadOnly):
            await check_writable(pool)
