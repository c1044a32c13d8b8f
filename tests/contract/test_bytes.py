"""Facts, pages and changes are bounded in bytes, and what is cut off can be had (L140)."""

import asyncio
from dataclasses import replace

import pytest

from holdfast.domain.chat import QUEUE_BYTES_MAX, Status
from holdfast.domain.commands import (
    CommitStep,
    Fail,
    FinishTurn,
    Interrupt,
    PromoteQueued,
    SendMessage,
    TakeQueued,
)
from holdfast.domain.errors import QueueFull
from holdfast.domain.heads import HEAD_BYTES_MAX, stored_bytes
from holdfast.domain.ids import ChatId, QueuedId, Seq, Version
from holdfast.domain.messages import Message, MessageBody
from holdfast.domain.parts import Text
from tests.requirements import requirement
from tests.support.builders import boundary, error, reply, user
from tests.support.world import World

pytestmark = requirement("L140")

LONG = user("ä\x00" * 2_000, model="m", effort="high")
SIZE = 10_000
FEW = 25_000
"""Bytes for two messages of SIZE, and not three."""


def of_size(number: int) -> MessageBody:
    return user(f"{number} " + "x" * SIZE)


async def walked(world: World, chat_id: ChatId, bytes_max: int) -> list[list[Message]]:
    """The whole history, in pages of so many bytes, newest first."""
    pages: list[list[Message]] = []
    before: Seq | None = None
    while True:
        page = await world.history.page(chat_id, limit=50, before=before, bytes_max=bytes_max)
        pages.append(list(page.messages))
        if page.before is None:
            return pages
        before = page.before


@pytest.mark.parametrize(("bytes_max", "lengths"), [(FEW, [2, 2, 1]), (1, [1] * 5), (2**20, [5])])
async def test_a_page_is_bounded_in_bytes_and_its_cursor_leads_on(
    world: World, bytes_max: int, lengths: list[int]
) -> None:
    chat = await world.create(*(of_size(number) for number in range(5)))
    pages = await walked(world, chat.chat_id, bytes_max)
    assert [len(page) for page in pages] == lengths
    assert [m.seq for page in reversed(pages) for m in page] == [1, 2, 3, 4, 5]


async def test_pages_asked_together_are_bounded_each(world: World) -> None:
    large = await world.create(*(of_size(number) for number in range(5)))
    small = await world.create(user("a"), user("b"))

    async def page(chat_id: ChatId, version: Version) -> list[int]:
        found = await world.history.page(chat_id, limit=50, as_of=version, bytes_max=FEW)
        return [*(m.seq for m in found.messages), found.before or 0]

    found = await asyncio.gather(
        page(large.chat_id, large.version), page(small.chat_id, small.version)
    )
    assert list(found) == [[4, 5, 4], [1, 2, 0]]


async def test_changes_past_their_bytes_are_not_complete(world: World) -> None:
    chat = await world.create(*(of_size(number) for number in range(3)))
    all_ = await world.history.changes_since(chat.chat_id, Version(0), limit=50)
    few = await world.history.changes_since(chat.chat_id, Version(0), limit=50, bytes_max=FEW)
    assert all_ is not None
    assert few is not None
    assert ([m.seq for m in all_.written], all_.complete) == ([1, 2, 3], True)
    assert ([m.seq for m in few.written], few.complete) == ([1, 2], False)
    level = await world.history.changes_since(chat.chat_id, chat.version, limit=50, bytes_max=1)
    assert level is not None
    assert (level.written, level.complete) == ((), True)


async def test_the_size_of_a_prompt_counts_from_its_newest_boundary_on(world: World) -> None:
    chat = await world.running(of_size(1))
    before = await world.history.prompt_bytes(chat.chat_id, as_of=chat.version)
    assert SIZE < before < SIZE + 100
    done = await world.drive(chat, CommitStep((boundary("short"),)), CommitStep((reply("ok"),)))
    assert await world.history.prompt_bytes(chat.chat_id, as_of=done.chat.version) < 200
    assert await world.history.prompt_bytes(chat.chat_id, as_of=chat.version) == before


async def test_facts_hold_the_head_of_a_long_message_and_history_gets_the_whole(
    world: World,
) -> None:
    chat = await world.running(user())
    sent = await world.do(chat.chat_id, SendMessage(LONG))
    loaded = await world.load(chat.chat_id)
    assert loaded == sent.chat
    (waiting,) = loaded.queue
    assert waiting.cut
    assert waiting.bytes == stored_bytes(LONG.parts)
    assert stored_bytes(waiting.head.parts) <= HEAD_BYTES_MAX
    assert (waiting.head.model, waiting.head.effort) == ("m", "high")

    await world.do(chat.chat_id, Interrupt())
    chat = await world.load(chat.chat_id)
    failed = await world.drive(chat, Fail(error()))
    promoted = await world.do(chat.chat_id, PromoteQueued(QueuedId(1)))
    assert failed.chat.status is Status.FAILED
    assert [m.body for m in promoted.messages] == [LONG]
    assert (await world.read(chat.chat_id))[-1].body == LONG
    assert promoted.chat.queue == ()
    assert await world.violations([chat.chat_id]) == []


async def test_the_end_of_a_turn_promotes_the_whole_beside_the_reply(world: World) -> None:
    chat = await world.running(user())
    await world.do(chat.chat_id, SendMessage(LONG))
    chat = await world.load(chat.chat_id)
    done = await world.drive(chat, CommitStep((reply("ok"),)), FinishTurn())
    assert [m.body.parts for m in done.messages] == [reply("ok").parts, LONG.parts]
    assert [m.body.parts for m in await world.read(chat.chat_id)][1:] == [
        reply("ok").parts,
        LONG.parts,
    ]


async def test_a_long_message_that_is_taken_out_is_whole(world: World) -> None:
    chat = await world.running(user())
    await world.do(chat.chat_id, SendMessage(LONG))
    await world.do(chat.chat_id, TakeQueued(QueuedId(1)))
    assert await world.history.queued(chat.chat_id, QueuedId(1)) == LONG


async def test_a_queue_is_bounded_in_bytes(world: World) -> None:
    half = user("x" * (QUEUE_BYTES_MAX // 2 - 100))
    chat = await world.running(user())
    for _ in range(2):
        await world.do(chat.chat_id, SendMessage(half))
    with pytest.raises(QueueFull, match="bytes are waiting"):
        await world.do(chat.chat_id, SendMessage(replace(half, parts=(Text("x" * 300),))))
    await world.do(chat.chat_id, TakeQueued(QueuedId(1)))
    assert (await world.do(chat.chat_id, SendMessage(half))).answer.queued_id == 3
