"""Prefixes that no message names are deleted, and none that a commit is about to name."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest

from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.prefixes import PostgresPrefixes
from holdfast.adapters.postgres.queries import Query
from holdfast.adapters.postgres.riders.prefix import PREFIX
from holdfast.adapters.postgres.verify import verify
from holdfast.chats.changes import ChangeRequest
from holdfast.domain.chat import Chat
from holdfast.domain.commands import CommitStep, FinishTurn
from holdfast.domain.fence import Fence
from holdfast.domain.prefix import PromptPrefix
from tests.support.builders import reply, user
from tests.support.waits import HANG_S
from tests.support.world import World, postgres_world

AT_ONCE = timedelta(0)
ONE_DAY = timedelta(days=1)
SHARED = PromptPrefix.of("shared")
WAITING = """
    select count(*) from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'
"""


@pytest.fixture
def world(pool: Pool) -> World:
    return postgres_world(pool)


async def said_with(world: World, prefix: PromptPrefix) -> Chat:
    chat = await world.running(user("one"))
    commands = (CommitStep((replace(reply("uno"), prefix=prefix.digest),)), FinishTurn())
    request = ChangeRequest(commands, by=Fence.of(chat), riders=(prefix,), snapshot=chat)
    return (await world.ledger.transact(chat.chat_id, request)).chat


async def delete_chat(pool: Pool, chat: Chat) -> None:
    await pool.execute("delete from chats where id = $1", chat.chat_id)


async def stored(pool: Pool) -> dict[str, bool]:
    """The rows by their content, and whether each is noted as not named."""
    rows = await pool.fetch("select content, unnamed_since from prompt_prefixes order by content")
    return {row["content"]: row["unnamed_since"] is not None for row in rows}


async def forget(pool: Pool, unnamed_for: timedelta = ONE_DAY) -> int:
    return (await PostgresPrefixes(pool).forget_unnamed(after="", unnamed_for=unnamed_for)).gone


async def test_row_is_deleted_a_day_after_no_message_named_it(pool: Pool, world: World) -> None:
    chat = await said_with(world, PromptPrefix.of("gone"))
    await said_with(world, PromptPrefix.of("kept"))
    assert await forget(pool, AT_ONCE) == 0
    await delete_chat(pool, chat)

    assert await forget(pool) == 0
    assert await stored(pool) == {"gone": True, "kept": False}
    assert await forget(pool) == 0, "not before the day is over"
    await pool.execute(
        "update prompt_prefixes set unnamed_since = unnamed_since - interval '25 hours'"
    )
    assert await forget(pool) == 1
    assert await stored(pool) == {"kept": False}
    assert await verify(pool) == []


async def test_row_that_is_named_again_is_kept(pool: Pool, world: World) -> None:
    await delete_chat(pool, await said_with(world, SHARED))
    await forget(pool)
    assert await stored(pool) == {"shared": True}

    await said_with(world, SHARED)
    assert await stored(pool) == {"shared": False}, "the commit that names it clears the note"

    await pool.execute("update prompt_prefixes set unnamed_since = now() - interval '9 days'")
    assert await forget(pool) == 0
    assert await stored(pool) == {"shared": False}, "a copy names it without storing it"


async def test_rows_are_looked_at_in_batches(pool: Pool, world: World) -> None:
    for number in range(5):
        await delete_chat(pool, await said_with(world, PromptPrefix.of(str(number))))
    await forget(pool)

    prefixes, after, gone = PostgresPrefixes(pool), "", list[int]()
    for _ in range(4):
        swept = await prefixes.forget_unnamed(after=after, limit=2, unnamed_for=AT_ONCE)
        gone.append(swept.gone)
        after = swept.last or ""
    assert gone == [2, 2, 1, 0]
    assert after == ""


async def waits_or_ends(pool: Pool, task: asyncio.Task[Any]) -> None:
    """Until the statement of the task waits for a lock, or is over."""
    while not task.done() and not await pool.fetchval(WAITING):  # noqa: ASYNC110
        await asyncio.sleep(0.01)


@asynccontextmanager
async def naming(pool: Pool, chat: Chat, block: str) -> AsyncGenerator[None]:
    """A transaction in which a rider has stored the prefix, and the message names it; it is
    committed when the scope ends."""
    statement = Query.compile(cast(Any, f"with moved as (select 1) {block} select 1"))
    async with pool.acquire() as connection, connection.transaction():
        values = statement.values(PREFIX.parameters([SHARED]))
        await connection.execute(statement.text, *values)
        named = "update messages set prefix = $1 where chat_id = $2"
        await connection.execute(named, SHARED.digest, chat.chat_id)
        yield


async def race(pool: Pool, world: World, block: str = PREFIX.block) -> None:
    """A row that is due is named by a commit that ends while the deletion waits for it."""
    await delete_chat(pool, await said_with(world, SHARED))
    chat = await world.create(user("two"))
    await forget(pool)
    async with asyncio.TaskGroup() as group, asyncio.timeout(HANG_S):
        async with naming(pool, chat, block):
            deleting = group.create_task(forget(pool, AT_ONCE))
            await waits_or_ends(pool, deleting)
        gone = await deleting
    assert await verify(pool) == []
    assert gone == 0


async def test_row_that_a_commit_is_about_to_name_is_not_deleted(pool: Pool, world: World) -> None:
    await race(pool, world)


async def test_mutant_of_the_rider_is_caught(pool: Pool, world: World) -> None:
    """A rider that leaves a row alone neither stops nor delays its deletion."""
    block = PREFIX.block.replace("do update set unnamed_since = null", "do nothing")
    assert block != PREFIX.block
    with pytest.raises(AssertionError):
        await race(pool, world, block)


async def test_row_that_is_deleted_first_is_stored_anew(pool: Pool, world: World) -> None:
    await delete_chat(pool, await said_with(world, SHARED))
    await forget(pool)
    async with asyncio.TaskGroup() as group, asyncio.timeout(HANG_S):
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("delete from prompt_prefixes")
            storing = group.create_task(said_with(world, SHARED))
            await waits_or_ends(pool, storing)
        await storing
    assert await stored(pool) == {"shared": False}
    assert await verify(pool) == []
