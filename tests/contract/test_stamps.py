"""A stamp beside the version: a version that comes again is not taken for the same chat."""

from dataclasses import replace

import pytest

from holdfast.chats.changes import ChangeRequest
from holdfast.chats.create import fork
from holdfast.domain.chat import Facts
from holdfast.domain.commands import (
    BeginAttempt,
    CommitStep,
    EditMessage,
    FinishTurn,
    Fork,
    Restore,
    SendMessage,
)
from holdfast.domain.decide import decide
from holdfast.domain.driving import taken_by
from holdfast.domain.errors import FenceStale
from holdfast.domain.fence import Fence
from holdfast.domain.ids import NO_STAMP, Seq, Version, VersionStamp
from tests.requirements import requirement
from tests.support.builders import NOW, asks, reply, user
from tests.support.world import ACTOR, World


@requirement("L146")
async def test_commit_at_the_same_version_with_another_stamp_is_refused(world: World) -> None:
    chat = await world.running(user("hello"))
    lost = replace(chat, stamp=VersionStamp(chat.stamp ^ 1))
    outcome = decide(Facts(chat=lost), CommitStep((reply("said before"),)), NOW)

    assert await world.store.commit(outcome, fence=Fence.of(lost)) is None
    assert await world.store.commit(outcome) is None
    assert await world.load(chat.chat_id) == chat
    assert [m.body for m in await world.read(chat.chat_id)] == [user("hello")]


@requirement("L146")
async def test_commit_that_takes_a_chat_with_another_stamp_is_refused(world: World) -> None:
    chat = await world.create()
    lost = replace(chat, stamp=VersionStamp(chat.stamp ^ 1))
    outcome = decide(Facts(chat=lost), SendMessage(user("hello")), NOW)

    taken = taken_by(outcome, await world.a_worker())
    assert await world.store.commit(taken) is None
    assert await world.load(chat.chat_id) == chat


@requirement("L146")
async def test_every_commit_has_a_stamp_of_its_own(world: World) -> None:
    chat = await world.create(user("hello"))
    assert chat.stamp == chat.history_stamp != 0
    (acquired,) = await world.acquire(await world.a_worker())
    assert (acquired.stamp, acquired.history_stamp) == (chat.stamp, chat.history_stamp)
    begun = (await world.drive(acquired, BeginAttempt())).chat
    assert begun.stamp != acquired.stamp
    assert begun.history_stamp == chat.history_stamp, "the history is the same"
    said = (await world.drive(begun, CommitStep((reply(),)), FinishTurn())).chat
    assert said.stamp == said.history_stamp
    assert len({chat.stamp, begun.stamp, said.stamp}) == 3
    assert await world.load(chat.chat_id) == said


@requirement("L146")
async def test_step_for_a_history_that_was_lost_is_refused(world: World) -> None:
    chat = await world.running(user("hello"))
    lost = replace(chat, history_stamp=VersionStamp(chat.history_stamp ^ 1))
    request = ChangeRequest((CommitStep((reply(),)),), by=Fence.of(lost))
    with pytest.raises(FenceStale, match="replaced"):
        await world.ledger.transact(chat.chat_id, request)
    assert await world.load(chat.chat_id) == chat


@requirement("L146")
async def test_history_of_every_version_has_the_stamp_of_its_commit(world: World) -> None:
    chat = await world.running(user("one"))
    said = (await world.drive(chat, CommitStep((reply("1"),)), FinishTurn())).chat
    edited = (await world.do(chat.chat_id, EditMessage(Seq(1), user("two")))).chat
    (again,) = await world.acquire(await world.a_worker())
    done = (await world.drive(again, CommitStep((reply("2"),)), FinishTurn())).chat
    only_hidden = (await world.do(chat.chat_id, Restore(edited.version))).chat
    copied = (await world.do(chat.chat_id, Restore(said.version))).chat

    made = [chat, said, edited, again, done, only_hidden, copied]
    assert len({each.history_stamp for each in made}) == 6, "acquiring keeps it"
    for each in made:
        changes = await world.history.changes_since(chat.chat_id, each.version, limit=50)
        assert changes is not None
        assert changes.history_stamp == each.history_stamp, f"as of {each.version}"
    before = await world.history.changes_since(chat.chat_id, Version(0), limit=50)
    assert before is not None
    assert before.history_stamp == NO_STAMP
    assert {m.stamp for m in await world.read(chat.chat_id)} == {copied.history_stamp}
    old = await world.history.page(chat.chat_id, limit=9, as_of=said.version)
    assert [m.stamp for m in old.messages] == [chat.history_stamp, said.history_stamp]


@requirement("L146")
async def test_messages_of_a_fork_have_the_stamp_of_their_own_chat(world: World) -> None:
    source = await world.running(user("one"))
    await world.drive(source, CommitStep((reply("1"),)), FinishTurn())

    made = (await fork(world.ledger, world.ids, ACTOR, source.chat_id, Fork())).chat

    assert made.history_stamp not in {NO_STAMP, source.history_stamp}
    assert {m.stamp for m in await world.read(made.chat_id)} == {made.history_stamp}


@requirement("L146")
async def test_message_from_the_queue_has_the_stamp_of_its_commit(world: World) -> None:
    chat = await world.running(user("one"))
    await world.do(chat.chat_id, SendMessage(user("two")))
    now = await world.load(chat.chat_id)

    ended = await world.drive(now, CommitStep((reply("1"),)), FinishTurn())

    assert [m.stamp for m in ended.messages] == [ended.chat.history_stamp] * 2
    assert (await world.read(chat.chat_id))[1:] == ended.messages


@requirement("L146")
async def test_chat_with_another_stamp_at_the_known_version_has_moved(world: World) -> None:
    chat = await world.create(user())
    lost = VersionStamp(chat.stamp ^ 1)

    assert list(await world.history.moved({chat.chat_id: (chat.version, lost)})) == [
        (chat.chat_id, chat.version)
    ]
    assert list(await world.history.moved({chat.chat_id: (chat.version, NO_STAMP)})) == []


@requirement("L146")
async def test_rows_that_come_again_have_other_stamps(world: World) -> None:
    chat = await world.create()
    set_back = await world.keep(chat.chat_id)
    lost = await world.do(chat.chat_id, SendMessage(user("lost")))
    await set_back()
    assert await world.load(chat.chat_id) == chat
    request = ChangeRequest((SendMessage(user("again")),), by=ACTOR)
    again = await world.ledger.transact(chat.chat_id, request)

    assert again.chat.version == lost.chat.version
    assert again.chat.history_stamp != lost.chat.history_stamp
    (stored,) = await world.read(chat.chat_id)
    assert (stored.body, stored.stamp) == (user("again"), again.chat.history_stamp)


@requirement("L145")
async def test_open_calls_keep_the_place_that_their_reply_was_committed_with(world: World) -> None:
    chat = await world.running(user())
    asked = await world.drive(chat, CommitStep((asks("c1", "c2"),), "workspace.journal"))
    assert [call.place for call in asked.chat.open_calls] == ["workspace.journal"] * 2
    assert await world.load(chat.chat_id) == asked.chat
