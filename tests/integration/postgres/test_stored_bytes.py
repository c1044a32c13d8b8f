"""A chat counts the bytes of its messages, and an owner's chats together have a bound."""

from dataclasses import replace

import pytest

from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.store import PostgresStore
from holdfast.chats.create import fork
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import (
    Await,
    CommitStep,
    EditMessage,
    FinishTurn,
    Fork,
    Interrupt,
    Restore,
    SendMessage,
    SubmitResults,
    TakeQueued,
)
from holdfast.domain.errors import TooManyBytes
from holdfast.domain.ids import CallId, ChatId, QueuedId, Seq
from holdfast.domain.parts import Need
from tests.support.builders import asks, reply, result, user
from tests.support.world import ACTOR, World, postgres_world

COUNTED = "select bytes from chats where id = $1"
WRITTEN = "select sum(bytes)::bigint from messages where chat_id = $1"
WAITING = """
    select coalesce(sum(bytes), 0)::bigint from queued_messages
    where chat_id = $1 and fate is distinct from 'promoted'
"""
BYTES_MAX = 3_000
A_THIRD = user("x" * 900)


def a_world(pool: Pool, bytes_max: int = 0) -> World:
    return replace(postgres_world(pool), store=PostgresStore(pool, bytes_max=bytes_max))


async def is_exact(pool: Pool, chat_id: ChatId) -> None:
    """What was queued counts, whatever became of it; what was promoted counts once."""
    counted = await pool.fetchval(COUNTED, chat_id)
    written, waiting = await pool.fetchval(WRITTEN, chat_id), await pool.fetchval(WAITING, chat_id)
    assert counted == written + waiting > 0


async def held(world: World, chat_id: ChatId) -> Chat:
    """By a worker: the one that has it, or a new one."""
    chat = await world.load(chat_id)
    if chat.worker_id is not None:
        return chat
    (acquired,) = await world.acquire(await world.a_worker())
    return acquired


async def test_a_chat_counts_the_bytes_of_its_messages(pool: Pool) -> None:
    world = a_world(pool)
    chat = await world.running(user("ä\x00" * 500), user("b"))
    chat_id = chat.chat_id
    await is_exact(pool, chat_id)

    for text in ("queued " * 200, "taken out"):
        await world.do(chat_id, SendMessage(user(text)))
    await world.do(chat_id, TakeQueued(QueuedId(2)))
    await is_exact(pool, chat_id)

    await world.drive(await world.load(chat_id), CommitStep((reply("ö"),)), FinishTurn())
    await is_exact(pool, chat_id)
    past = (await world.load(chat_id)).version

    await world.do(chat_id, EditMessage(Seq(2), user("edited")))
    await world.drive(await held(world, chat_id), CommitStep((reply("two"),)), FinishTurn())
    await is_exact(pool, chat_id)

    before = await pool.fetchval(COUNTED, chat_id)
    await world.do(chat_id, Restore(past))
    await is_exact(pool, chat_id)
    assert await pool.fetchval(COUNTED, chat_id) > before, "the copies count"


@pytest.mark.parametrize("cut_off", [False, True])
async def test_a_fork_counts_what_it_took(pool: Pool, cut_off: bool) -> None:
    """`cut_off`: the last reply has calls without results, and is left out."""
    world = a_world(pool)
    chat = await world.running(A_THIRD)
    said = reply("hi") if not cut_off else asks("c1")
    await world.drive(chat, CommitStep((said,)))

    copy = (await fork(world.ledger, world.ids, ACTOR, chat.chat_id, Fork())).chat

    assert copy.last_seq == (1 if cut_off else 2)
    await is_exact(pool, copy.chat_id)


async def test_an_owner_without_room_sends_nothing_more(pool: Pool) -> None:
    world = a_world(pool, BYTES_MAX)
    chat = await world.create()
    first = await world.do(chat.chat_id, SendMessage(A_THIRD), key="one")
    await world.do(chat.chat_id, SendMessage(A_THIRD), key="two")
    await world.create(A_THIRD)

    past = await world.load(chat.chat_id)
    with pytest.raises(TooManyBytes, match=f"at most {BYTES_MAX} bytes"):
        await world.do(chat.chat_id, SendMessage(A_THIRD), key="three")
    with pytest.raises(TooManyBytes):
        await world.do(chat.chat_id, EditMessage(Seq(1), A_THIRD))
    with pytest.raises(TooManyBytes):
        await world.create(A_THIRD)
    with pytest.raises(TooManyBytes):
        await fork(world.ledger, world.ids, ACTOR, chat.chat_id, Fork())
    assert isinstance(world.store, PostgresStore)
    assert world.store.storage_refused == 4
    assert await world.load(chat.chat_id) == past, "a refusal changes nothing"

    again = await world.do(chat.chat_id, SendMessage(A_THIRD), key="one")
    assert (again.repeated, again.answer) == (True, first.answer)
    await world.create()  # stores nothing
    await world.do(chat.chat_id, SendMessage(user("short")))  # fits
    await world.create(A_THIRD, A_THIRD, A_THIRD, owner=await world.another_owner())


async def test_another_process_counts_what_this_one_stored(pool: Pool) -> None:
    world = a_world(pool, BYTES_MAX)
    chat = await world.create(A_THIRD, A_THIRD, A_THIRD)
    other = replace(world, store=PostgresStore(pool, bytes_max=BYTES_MAX))
    with pytest.raises(TooManyBytes):
        await other.do(chat.chat_id, SendMessage(A_THIRD))


async def test_a_reply_is_stored_without_room_and_the_next_message_is_not(pool: Pool) -> None:
    world = a_world(pool, BYTES_MAX)
    chat = await world.create()
    first = await world.do(chat.chat_id, SendMessage(A_THIRD), key="one")
    chat = await held(world, chat.chat_id)
    done = await world.drive(chat, CommitStep((reply("y" * BYTES_MAX),)), FinishTurn())
    assert done.chat.status is Status.IDLE
    await is_exact(pool, chat.chat_id)
    # Remembered at rest: the ledger commits without a load, and the store looks for the receipt.
    again = await world.do(chat.chat_id, SendMessage(A_THIRD), key="one")
    assert (again.repeated, again.answer) == (True, first.answer)
    with pytest.raises(TooManyBytes):
        await world.do(chat.chat_id, SendMessage(user("x")))


async def test_results_and_a_stop_are_taken_without_room(pool: Pool) -> None:
    """Also a Stop that promotes a message: its bytes were counted when it was queued."""
    world = a_world(pool, BYTES_MAX)
    chat = await world.running(user("x" * (BYTES_MAX - 100)))
    await world.do(chat.chat_id, SendMessage(user("next")))
    waits = CommitStep((asks("c1", "c2", needs=Need.RESULT),))
    calls = (CallId("c1"), CallId("c2"))
    await world.drive(await world.load(chat.chat_id), waits, Await(Need.RESULT, calls))
    assert await pool.fetchval(COUNTED, chat.chat_id) > BYTES_MAX

    await world.do(chat.chat_id, SubmitResults((result("c1"),)))
    stopped = await world.do(chat.chat_id, Interrupt())

    assert stopped.chat.open_calls == ()
    await is_exact(pool, chat.chat_id)
