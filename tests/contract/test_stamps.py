"""A stamp beside the version: a version that comes again is not taken for the same chat."""

from dataclasses import replace

import pytest

from holdfast.domain.chat import Facts
from holdfast.domain.commands import BeginAttempt, CommitStep, FinishTurn, SendMessage
from holdfast.domain.decide import decide
from holdfast.domain.driving import taken_by
from holdfast.domain.errors import FenceStale
from holdfast.domain.fence import Fence
from holdfast.domain.ids import VersionStamp
from tests.requirements import requirement
from tests.support.builders import NOW, asks, reply, user
from tests.support.world import World


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
    with pytest.raises(FenceStale, match="replaced"):
        await world.ledger.transact(
            chat.chat_id, CommitStep((reply(),)), by=Fence.of(lost), snapshot=None
        )
    assert await world.load(chat.chat_id) == chat


@requirement("L145")
async def test_open_calls_keep_the_place_that_their_reply_was_committed_with(world: World) -> None:
    chat = await world.running(user())
    asked = await world.drive(chat, CommitStep((asks("c1", "c2"),), "workspace.journal"))
    assert [call.place for call in asked.chat.open_calls] == ["workspace.journal"] * 2
    assert await world.load(chat.chat_id) == asked.chat
