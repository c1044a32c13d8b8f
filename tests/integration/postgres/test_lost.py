"""Lost workers in rows of PostgreSQL: what an older version leaves behind, and unknown words."""

from collections.abc import AsyncGenerator

import pytest

from holdfast.adapters.postgres.pool import Pool
from holdfast.domain.chat import Chat
from holdfast.domain.commands import CommitStep
from holdfast.domain.messages import Takeover
from tests.support.builders import ORG, OWNER, reply, user
from tests.support.database import add_user, cloned_pool
from tests.support.world import World, postgres_world


@pytest.fixture
async def pool(template: str) -> AsyncGenerator[Pool]:
    async with cloned_pool(template, connections_max=8) as pool:
        await add_user(pool, ORG, OWNER)
        yield pool


async def lost(world: World, chat: Chat) -> Chat:
    assert chat.worker_id is not None
    await world.lapse(chat.worker_id)
    (acquired,) = await world.acquire(await world.a_worker())
    return acquired


async def test_what_an_older_version_did_not_forget_is_not_told(pool: Pool) -> None:
    """Its commits do not know the column: the history is another one, and the fact remains."""
    world = postgres_world(pool)
    found = await lost(world, await world.running(user()))
    column = "select lost from chats where id = $1"
    before = await pool.fetchval(column, found.chat_id)
    committed = (await world.drive(found, CommitStep((reply(),)))).chat
    assert await pool.fetchval(column, found.chat_id) is None
    await pool.execute("update chats set lost = $2 where id = $1", found.chat_id, before)

    assert (await world.load(found.chat_id)).lost is None
    again = await lost(world, committed)
    assert again.lost is not None
    assert again.lost.workers == 1


async def test_a_message_with_a_fate_of_a_newer_version_is_read_without_its_line(
    pool: Pool,
) -> None:
    world = postgres_world(pool)
    chat = await world.running(user())
    await world.drive(chat, CommitStep((reply(takeover=Takeover(attempt=2)),)))
    await pool.execute(
        "update messages set takeover ="
        ' \'{"attempt":2,"lost_workers":1,"after_s":8,"kept":false,'
        '"calls":[{"call_id":"c","tool":"t","fate":"torn"}]}\' where chat_id = $1 and seq = 2',
        chat.chat_id,
    )
    *_, reply_ = await world.read(chat.chat_id)
    assert (reply_.seq, reply_.body.takeover) == (2, None)


async def test_a_chat_without_lost_workers_writes_neither_column(pool: Pool) -> None:
    world = postgres_world(pool)
    chat = await world.running(user())
    await world.drive(chat, CommitStep((reply(),)))
    written = await pool.fetchval(
        "select count(*) from chats as c inner join messages as m on m.chat_id = c.id"
        " where c.lost is not null or m.takeover is not null"
    )
    assert written == 0
