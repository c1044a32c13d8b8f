"""Lost workers, on every store: acquiring writes them down, and the next message forgets them."""

from dataclasses import replace
from datetime import timedelta

import pytest

from holdfast.chats.create import fork
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import (
    BeginAttempt,
    CommitStep,
    EditMessage,
    Fail,
    FinishInterrupt,
    FinishTurn,
    Fork,
    FromWorker,
    Interrupt,
    RecordRetry,
    Restore,
    Retry,
    SendMessage,
)
from holdfast.domain.ids import CallId, Seq
from holdfast.domain.messages import CallFate, InheritedCall, Takeover
from tests.support.builders import asks, backoff, error, reply, results, user
from tests.support.world import ACTOR, World

TAKEOVER = Takeover(
    attempt=3,
    lost_workers=2,
    after_s=8,
    kept=True,
    calls=tuple(InheritedCall(CallId(f"c-{f}\0"), f"tool of {f}", f) for f in CallFate),
)


async def lost(world: World, chat: Chat) -> Chat:
    """The chat, acquired from its owner, whose lease has lapsed."""
    assert chat.worker_id is not None
    await world.lapse(chat.worker_id)
    (acquired,) = await world.acquire(await world.a_worker())
    return acquired


async def handed_over(world: World, chat: Chat) -> Chat:
    assert chat.worker_id is not None
    await world.leases.leave(chat.worker_id)
    (acquired,) = await world.acquire(await world.a_worker())
    return acquired


async def test_acquiring_from_a_lapsed_worker_writes_it_down(world: World) -> None:
    first = await world.running(user())
    assert first.lost is None

    second = await lost(world, first)

    assert second.lost is not None
    assert second.lost.workers == 1
    assert timedelta(seconds=1) <= second.lost.until - second.lost.since < timedelta(minutes=1)
    assert await world.load(second.chat_id) == second

    third = await lost(world, second)
    assert third.lost is not None
    assert (third.lost.workers, third.lost.since) == (2, second.lost.since)
    assert third.lost.until >= second.lost.until
    assert await world.violations([first.chat_id]) == []


async def test_a_hand_over_loses_no_worker_and_forgets_none(world: World) -> None:
    first = await world.running(user())
    second = await handed_over(world, first)
    assert second.lost is None

    third = await lost(world, second)
    fourth = await handed_over(world, third)
    assert fourth.lost == third.lost
    assert fourth.lost is not None


@pytest.mark.parametrize("status", [Status.RUNNING, Status.INTERRUPTING])
async def test_a_lost_worker_is_known_where_acquiring_begins_nothing(
    world: World, status: Status
) -> None:
    chat = await world.running(user())
    if status is Status.RUNNING:
        chat = (await world.drive(chat, RecordRetry(backoff()))).chat
    else:
        chat = (await world.do(chat.chat_id, Interrupt())).chat

    found = await lost(world, chat)

    assert (found.status, found.version) == (status, chat.version)
    assert found.lost is not None


async def test_what_commits_no_message_keeps_it(world: World) -> None:
    found = await lost(world, await world.running(user()))
    begun = await world.drive(found, BeginAttempt())
    assert begun.chat.lost == found.lost
    await world.do(found.chat_id, SendMessage(user("next")))
    assert (await world.load(found.chat_id)).lost == found.lost


@pytest.mark.parametrize(
    "commands",
    [
        (CommitStep((reply(),)),),
        (CommitStep((asks("c1"),)),),
        (Fail(error()),),
        (CommitStep((reply(),)), FinishTurn()),
    ],
    ids=["reply", "calls", "failure", "end"],
)
async def test_a_message_and_rest_forget_it(world: World, commands: tuple[FromWorker, ...]) -> None:
    found = await lost(world, await world.running(user()))
    done = await world.drive(found, *commands)
    assert done.chat.lost is None
    assert await world.load(found.chat_id) == done.chat


async def test_an_edit_a_stop_and_a_retry_forget_it(world: World) -> None:
    found = await lost(world, await world.running(user()))
    edited = await world.do(found.chat_id, EditMessage(Seq(1), user("other")))
    assert edited.chat.lost is None
    assert (await world.load(found.chat_id)).lost is None

    found = await lost(world, await world.load(found.chat_id))
    await world.do(found.chat_id, Interrupt())
    stopped = await world.drive(await world.load(found.chat_id), FinishInterrupt())
    assert (stopped.chat.status, stopped.chat.lost) == (Status.IDLE, None)

    await world.do(found.chat_id, SendMessage(user("more")))
    (again,) = await world.acquire(await world.a_worker())
    await world.drive(await lost(world, again), Fail(error()))
    retried = await world.do(found.chat_id, Retry())
    assert retried.chat.lost is None
    (again,) = await world.acquire(await world.a_worker())
    assert again.lost is None


async def test_a_takeover_is_read_as_it_was_written(world: World) -> None:
    chat = await world.running(user())
    asked = await world.drive(chat, CommitStep((replace(asks("c1"), takeover=TAKEOVER),)))
    bare = replace(TAKEOVER, after_s=None, kept=False, calls=())
    answered = await world.drive(
        asked.chat, CommitStep((replace(results("c1"), takeover=bare), reply("done")))
    )
    expected = [None, TAKEOVER, bare, None]

    assert [m.body.takeover for m in await world.read(chat.chat_id)] == expected
    assert [m.body.takeover for m in answered.messages] == expected[2:]
    changes = await world.history.changes_since(chat.chat_id, chat.version, limit=10)
    assert changes is not None
    assert [m.body.takeover for m in changes.written] == expected[1:]
    newest = await world.history.page(chat.chat_id, limit=10, as_of=answered.chat.version)
    assert [m.body.takeover for m in newest.messages] == expected


async def test_copies_of_a_message_say_it_too(world: World) -> None:
    chat = await world.running(user())
    step = CommitStep((reply("hi", takeover=TAKEOVER),))
    done = (await world.drive(chat, step, FinishTurn())).chat
    copy = await fork(world.ledger, world.ids, ACTOR, chat.chat_id, Fork())
    assert [m.body.takeover for m in await world.read(copy.chat.chat_id)] == [None, TAKEOVER]

    await world.do(chat.chat_id, EditMessage(Seq(1), user("other")))
    (again,) = await world.acquire(await world.a_worker())
    await world.drive(again, CommitStep((reply("new"),)), FinishTurn())
    await world.do(chat.chat_id, Restore(done.version))
    assert [m.body.takeover for m in await world.read(chat.chat_id)] == [None, TAKEOVER]
