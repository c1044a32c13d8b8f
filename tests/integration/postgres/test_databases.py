"""Databases of tests are used again, and no test can tell."""

import asyncpg
import pytest

from tests.support.database import temporary_database

WHICH = "select oid from pg_database where datname = current_database()"
ORG = "insert into organisations (id, name) values (gen_random_uuid(), 'left behind')"


async def on(url: str, *statements: str) -> list[object]:
    connection = await asyncpg.connect(url)
    try:
        return [await connection.fetchval(each) for each in statements]
    finally:
        await connection.close()


async def test_rows_are_gone_and_so_is_the_name(template: str) -> None:
    async with temporary_database(template) as first:
        _, which = await on(first, ORG, WHICH)
    async with temporary_database(template) as second:
        rows, again = await on(second, "select count(*) from organisations", WHICH)
    assert rows == 0
    assert again == which, "it is the same one"
    assert second != first, "who still knows the old name must not get in"


async def test_who_is_still_connected_is_cut_off(template: str) -> None:
    async with temporary_database(template) as url:
        left = await asyncpg.connect(url)
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
        await left.execute(ORG)
    left.terminate()


@pytest.mark.parametrize(
    "change",
    [
        "alter table chats add column more text",
        "alter table audit_log disable trigger all",
        "create index more on users (name)",
        "drop table workspaces",
        "delete from _pogo_migration",
        "create function more() returns int language sql as 'select 1'",
        f"{ORG}; analyze organisations",
        "do $$ begin execute format('alter database %I set jit = off', current_database()); end $$",
    ],
)
async def test_one_that_was_changed_is_not_used_again(template: str, change: str) -> None:
    async with temporary_database(template) as url:
        (which,) = await on(url, WHICH)
        connection = await asyncpg.connect(url)
        await connection.execute(change)
        await connection.close()
    async with temporary_database(template) as other:
        assert await on(other, WHICH) != [which]
