"""A request with a key is done once, also where it changes nothing (M1)."""

import asyncio

import pytest

from holdfast.chats import queue, steer
from holdfast.chats.changes import ChangeRequest
from holdfast.chats.declare import declare
from holdfast.chats.send import send
from holdfast.domain.chat import Status
from holdfast.domain.commands import FinishInterrupt
from holdfast.domain.errors import KeyReused
from holdfast.domain.fence import Fence
from holdfast.domain.ids import NO_STAMP, ChatId, ClientKey, QueuedId, Version, VersionStamp
from holdfast.domain.outcome import Answer
from holdfast.ports.store import IdempotencyKey, LoadQuery, Receipt
from tests.requirements import requirement
from tests.support.builders import a_tool, user
from tests.support.world import ACTOR, World, keyed_by

KEYED = keyed_by("k", "body")


async def receipt(world: World, chat_id: ChatId) -> Receipt | None:
    loaded = await world.store.load(chat_id, LoadQuery(key=KEYED.key))
    assert loaded is not None
    return loaded.receipt


@requirement("L143")
async def test_keep_receipt_stores_the_answer_and_changes_nothing(world: World) -> None:
    chat = await world.create(user())
    answer = Answer(version=chat.version, queued_id=QueuedId(3))

    assert await world.store.keep_receipt(chat.chat_id, KEYED, answer, chat.stamp)

    assert await receipt(world, chat.chat_id) == Receipt(KEYED.digest, answer)
    assert await world.load(chat.chat_id) == chat
    assert await world.violations([chat.chat_id]) == []


@pytest.mark.parametrize("off", [-1, 1])
async def test_keep_receipt_at_another_version_stores_nothing(world: World, off: int) -> None:
    chat = await world.create(user())
    answer = Answer(version=Version(chat.version + off))

    assert not await world.store.keep_receipt(chat.chat_id, KEYED, answer, chat.stamp)

    assert await receipt(world, chat.chat_id) is None


@requirement("L146")
async def test_keep_receipt_of_a_version_with_another_stamp_stores_nothing(world: World) -> None:
    chat = await world.create(user())
    answer = Answer(version=chat.version)

    lost = VersionStamp(chat.stamp ^ 1)
    assert not await world.store.keep_receipt(chat.chat_id, KEYED, answer, lost)

    assert await receipt(world, chat.chat_id) is None


async def test_keep_receipt_of_an_unknown_chat_stores_nothing(world: World) -> None:
    answer = Answer(version=Version(1))
    assert not await world.store.keep_receipt(world.ids.new_chat_id(), KEYED, answer, NO_STAMP)


async def test_keep_receipt_leaves_the_receipt_of_a_used_key(world: World) -> None:
    chat = await world.create(user())
    first = Answer(version=chat.version)
    assert await world.store.keep_receipt(chat.chat_id, KEYED, first, chat.stamp)

    other = IdempotencyKey(ClientKey("k"), b"another body")
    assert not await world.store.keep_receipt(chat.chat_id, other, first, chat.stamp)

    assert await receipt(world, chat.chat_id) == Receipt(KEYED.digest, first)


@requirement("L143", "M1")
async def test_repeated_stop_that_changed_nothing_does_not_stop_the_next_turn(
    world: World,
) -> None:
    chat = await world.running(user("one"))
    await send(world.ledger, ACTOR, chat.chat_id, user("two"))
    await steer.interrupt(world.ledger, ACTOR, chat.chat_id, keyed=keyed_by("stop-1", "stop"))
    second = keyed_by("stop-2", "stop")
    stopping = await steer.interrupt(world.ledger, ACTOR, chat.chat_id, keyed=second)
    await queue.resume(world.ledger, ACTOR, chat.chat_id)
    fence = Fence.of(await world.load(chat.chat_id))
    request = ChangeRequest((FinishInterrupt(),), by=fence)
    running = (await world.ledger.transact(chat.chat_id, request)).chat
    assert (running.status, running.queue) == (Status.RUNNING, ()), "the queued message runs"

    again = await steer.interrupt(world.ledger, ACTOR, chat.chat_id, keyed=second)

    assert (again.repeated, again.answer) == (True, stopping.answer)
    assert await world.load(chat.chat_id) == running


@requirement("L143")
async def test_repeated_clearing_of_a_queue_takes_no_later_message(world: World) -> None:
    chat = await world.running(user("one"))
    await send(world.ledger, ACTOR, chat.chat_id, user("two"))
    same = keyed_by("clear", "clear")
    await queue.clear(world.ledger, ACTOR, chat.chat_id, keyed=same)
    assert (await world.load(chat.chat_id)).queue == ()
    await send(world.ledger, ACTOR, chat.chat_id, user("three"))

    again = await queue.clear(world.ledger, ACTOR, chat.chat_id, keyed=same)

    assert again.repeated
    assert len((await world.load(chat.chat_id)).queue) == 1


@requirement("L143")
async def test_repeated_declaration_that_changed_nothing_does_not_undo_a_later_one(
    world: World,
) -> None:
    chat = await world.create(user())
    await declare(world.ledger, ACTOR, chat.chat_id, [a_tool("a")])
    same = keyed_by("declare", "a")
    await declare(world.ledger, ACTOR, chat.chat_id, [a_tool("a")], keyed=same)
    later = await declare(world.ledger, ACTOR, chat.chat_id, [a_tool("b")])

    again = await declare(world.ledger, ACTOR, chat.chat_id, [a_tool("a")], keyed=same)

    assert again.repeated
    assert (await world.load(chat.chat_id)).tools == later.chat.tools == (a_tool("b"),)


async def test_key_of_a_request_that_changed_nothing_cannot_be_reused(world: World) -> None:
    chat = await world.running(user())
    for text in ("a", "b"):
        await send(world.ledger, ACTOR, chat.chat_id, user(text))
    keyed = keyed_by("k", "move 2")
    await queue.move(world.ledger, ACTOR, chat.chat_id, QueuedId(2), before=None, keyed=keyed)
    with pytest.raises(KeyReused):
        await queue.move(
            *(world.ledger, ACTOR, chat.chat_id, QueuedId(1)),
            before=None,
            keyed=keyed_by("k", "move 1"),
        )


async def test_unchanged_request_sent_many_times_at_once_has_one_answer(world: World) -> None:
    chat = await world.running(user())
    await steer.interrupt(world.ledger, ACTOR, chat.chat_id)
    keyed = keyed_by("stop", "stop")

    commits = await asyncio.gather(
        *(steer.interrupt(world.ledger, ACTOR, chat.chat_id, keyed=keyed) for _ in range(8))
    )

    assert {commit.answer for commit in commits} == {commits[0].answer}
    assert [commit.repeated for commit in commits].count(False) == 1
