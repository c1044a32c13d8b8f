"""A row that this version cannot read harms its own chat, and no other."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from holdfast.adapters.postgres import leases as leases_module
from holdfast.adapters.postgres.leases import ASIDE_FOR, PostgresLeases
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.rows import chat_from_row
from holdfast.chats.answer import expire
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import Await, CommitStep, SendMessage
from holdfast.domain.errors import ChatTooNew, FormatUnknown
from holdfast.domain.format import READS
from holdfast.domain.ids import CallId, ChatId
from holdfast.domain.parts import Need
from tests.requirements import requirement
from tests.support.builders import ORG, OWNER, asks, user
from tests.support.database import add_user, cloned_pool
from tests.support.world import RING, World, postgres_world

FAILED = "status = 'failed', runnable_since = null, worker_id = null"
ERROR = '{"kind":"%s","sentence":"","provider":null,"status_code":null,"retryable":false}'
CALL = '[{"call_id":"c1","tool":"t","seq":1,"epoch":1,"needs":"%s"}]'
UNKNOWN_WORDS = {
    "error": f"{FAILED}, error = '{ERROR % 'budget'}'",
    "an error without its fields": f"{FAILED}, error = '{{}}'",
    "needs": f"open_calls = '{CALL % 'child'}'",
    "a call without its fields": "open_calls = '[{}]'",
    "a call that is no object": "open_calls = '[1]'",
    "awaiting": "status = 'awaiting', runnable_since = null, worker_id = null,"
    ' awaiting = \'{"kind":"child","calls":[]}\'',
    "backoff": f'backoff = \'{{"error":{ERROR % "budget"},"delay_ms":1,"until":"soon"}}\'',
    "tools": "tools = '[{}]'",
}


@dataclass
class Place:
    world: World
    pool: Pool

    async def change(self, chat_id: ChatId, facts: str) -> None:
        await self.pool.execute(f"update chats set {facts} where id = $1", chat_id)

    async def poison_queue(self, chat: Chat) -> None:
        await self.world.do(chat.chat_id, SendMessage(user("queued")))
        await self.pool.execute(
            "update queued_messages set format = 2 where chat_id = $1", chat.chat_id
        )


@pytest.fixture
async def place(template: str) -> AsyncGenerator[Place]:
    async with cloned_pool(template, connections_max=8) as pool:
        await add_user(pool, ORG, OWNER)
        yield Place(postgres_world(pool), pool)


@requirement("L137")
@pytest.mark.parametrize("word", UNKNOWN_WORDS)
async def test_every_unknown_word_of_a_chat_is_one_error(place: Place, word: str) -> None:
    chat = await place.world.create(user())
    await place.change(chat.chat_id, UNKNOWN_WORDS[word])
    with pytest.raises(FormatUnknown):
        await place.world.load(chat.chat_id)


async def test_an_unknown_status_is_one_error_and_has_no_head(place: Place) -> None:
    """The constraint is one that a newer version may have widened."""
    world = place.world
    chat, other = await world.create(user()), await world.create(user())
    await place.pool.execute(
        "alter table chats drop constraint status_known, drop constraint runnable_has_since"
    )
    await place.change(chat.chat_id, "status = 'dreaming'")
    with pytest.raises(FormatUnknown):
        await world.load(chat.chat_id)
    heads = await world.history.heads([chat.chat_id, other.chat_id])
    assert [head.chat_id for head in heads] == [other.chat_id]


async def test_unknown_formats_of_messages_are_one_error(place: Place) -> None:
    chat = await place.world.create(user())
    await place.poison_queue(chat)
    with pytest.raises(FormatUnknown):
        await place.world.load(chat.chat_id)
    await place.pool.execute("update messages set format = 2 where chat_id = $1", chat.chat_id)
    with pytest.raises(FormatUnknown):
        await place.world.read(chat.chat_id)


@requirement("L137")
async def test_an_acquire_returns_readable_chats_and_names_the_others(place: Place) -> None:
    world = place.world
    healthy = [await world.create(user()) for _ in range(3)]
    poison = await world.create(user())
    await place.poison_queue(poison)
    worker = await world.a_worker()

    acquired = await world.leases.acquire(worker, limit=10, ring_start=RING)

    assert {chat.chat_id for chat in acquired.chats} == {chat.chat_id for chat in healthy}
    (unreadable,) = acquired.unreadable
    assert (unreadable.chat_id, "format 2" in unreadable.why) == (poison.chat_id, True)
    await world.leases.set_aside(worker, acquired.unreadable)
    row = await place.pool.fetchrow("select * from chats where id = $1", poison.chat_id)
    assert row is not None
    assert row["attempt"] - row["attempts_forgiven"] == 0
    assert (row["worker_id"], row["set_aside_by"]) == (None, READS)
    assert row["set_aside_at"] is not None
    assert row["set_aside_why"] == unreadable.why
    assert await world.acquire(await world.a_worker()) == []


@requirement("L137")
async def test_an_acquire_survives_any_error_of_the_decoder(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An invariant that a row breaks is an assertion, which no decoder translates."""
    world = place.world
    healthy, poison = await world.create(user()), await world.create(user())

    def decode(row: Any) -> Chat:
        assert row["id"] != poison.chat_id, "an invariant of the chat"
        return chat_from_row(row)

    monkeypatch.setattr(leases_module, "chat_from_row", decode)
    acquired = await world.leases.acquire(await world.a_worker(), limit=10, ring_start=RING)

    assert [chat.chat_id for chat in acquired.chats] == [healthy.chat_id]
    (unreadable,) = acquired.unreadable
    assert unreadable.chat_id == poison.chat_id
    assert "an invariant of the chat" in unreadable.why


@requirement("L138")
async def test_a_newer_version_takes_what_an_older_one_set_aside(place: Place) -> None:
    world = place.world
    await place.poison_queue(await world.create(user()))
    worker = await world.a_worker()
    acquired = await world.leases.acquire(worker, limit=1, ring_start=RING)
    await world.leases.set_aside(worker, acquired.unreadable)
    await place.pool.execute("update queued_messages set format = 1")

    assert await world.acquire(worker) == []
    newer = PostgresLeases(place.pool, reads=READS + 1)
    assert len((await newer.acquire(worker, limit=1, ring_start=RING)).chats) == 1


@requirement("L137")
async def test_a_chat_that_was_set_aside_is_tried_again_later(place: Place) -> None:
    """A release that mends the reader, or a rollback to one that can read, has no higher level."""
    world = place.world
    await place.poison_queue(await world.create(user()))
    worker = await world.a_worker()
    acquired = await world.leases.acquire(worker, limit=1, ring_start=RING)
    await world.leases.set_aside(worker, acquired.unreadable)
    await place.pool.execute("update queued_messages set format = 1")
    assert await world.acquire(worker) == []

    await place.pool.execute(
        "update chats set set_aside_at = set_aside_at - $1::interval", ASIDE_FOR
    )

    assert len(await world.acquire(worker)) == 1


@requirement("L138")
@pytest.mark.parametrize("status", [Status.RUNNING, Status.INTERRUPTING])
async def test_a_chat_of_a_newer_version_waits(place: Place, status: Status) -> None:
    world = place.world
    chat = await world.create(user())
    await place.change(chat.chat_id, f"reads = {READS + 1}, status = '{status.value}'")

    assert await world.acquire(await world.a_worker()) == []
    with pytest.raises(ChatTooNew):
        await world.do(chat.chat_id, SendMessage(user("more")))
    row = await place.pool.fetchrow("select * from chats where id = $1", chat.chat_id)
    assert row is not None
    assert (row["status"], row["attempt"], row["set_aside_by"]) == (status.value, 0, None)
    await place.change(chat.chat_id, f"reads = {READS}")
    assert len(await world.acquire(await world.a_worker())) == 1


@requirement("L138")
async def test_abandoned_chats_of_a_newer_version_wait(place: Place) -> None:
    world = place.world
    chat = await world.running(user())
    assert chat.worker_id is not None
    await world.lapse(chat.worker_id)
    await place.change(chat.chat_id, f"reads = {READS + 1}")
    assert await world.acquire(await world.a_worker()) == []


@requirement("L138")
async def test_waits_of_a_newer_version_are_not_ended(place: Place) -> None:
    world = place.world
    running = await world.running(user())
    step = CommitStep((asks("c1", needs=Need.ANSWER),))
    deadline = world.clock.now() + timedelta(minutes=5)
    waits = await world.drive(running, step, Await(Need.ANSWER, (CallId("c1"),), deadline))
    await world.pass_deadline(waits.chat)
    await place.change(running.chat_id, f"reads = {READS + 1}")
    assert await world.leases.expired_awaits(limit=10) == []
    with pytest.raises(ChatTooNew):
        await expire(world.ledger, running.chat_id)


@requirement("L137")
async def test_shared_reads_refuse_only_the_reader_of_the_unreadable_chat(place: Place) -> None:
    world = place.world
    chats = [await world.create(user()) for _ in range(5)]
    poison = chats[0]
    await place.pool.execute("update messages set format = 2 where chat_id = $1", poison.chat_id)

    pages = await asyncio.gather(
        *(world.history.page(c.chat_id, limit=10, as_of=c.version) for c in chats),
        return_exceptions=True,
    )

    assert isinstance(pages[0], FormatUnknown)
    assert not any(isinstance(page, BaseException) for page in pages[1:])
