"""A fork: a new chat that begins as another one does, on every store."""

from dataclasses import replace

import pytest

from holdfast.chats.changes import Actor
from holdfast.chats.create import fork
from holdfast.domain.chat import Status
from holdfast.domain.commands import (
    Await,
    CommitStep,
    DeclareTools,
    EditMessage,
    FinishTurn,
    Fork,
    SendMessage,
)
from holdfast.domain.errors import ChatNotFound, KeyReused, NotForkable, VersionNotFound
from holdfast.domain.ids import CallId, ChatId, Seq, Version
from holdfast.domain.messages import Visibility
from holdfast.domain.parts import Need, Text
from tests.support.builders import ORG, a_tool, asks, boundary, reply, results, system, user
from tests.support.world import ACTOR, World, keyed_by


async def texts(world: World, chat_id: ChatId) -> list[str]:
    return [
        part.text if isinstance(part := m.body.parts[0], Text) else part.kind
        for m in await world.read(chat_id)
    ]


async def talked(world: World) -> ChatId:
    """Two turns, the second with a tool: six messages, at rest."""
    chat = await world.running(user("one", model="m", effort="high"))
    done = await world.drive(
        chat, CommitStep((reply("uno", usage={"input": 3}, cost_micros=7),)), FinishTurn()
    )
    await world.do(chat.chat_id, SendMessage(user("two")))
    (chat,) = await world.acquire(await world.a_worker())
    asked = await world.drive(chat, CommitStep((asks("c1"),)))
    answered = await world.drive(asked.chat, CommitStep((results("c1"),)))
    done = await world.drive(answered.chat, CommitStep((reply("due"),)), FinishTurn())
    return done.chat.chat_id


async def forked(world: World, source: ChatId, at: int | None = None, **more: int) -> ChatId:
    command = Fork(None if at is None else Seq(at), **{k: Version(v) for k, v in more.items()})
    commit = await fork(world.ledger, world.ids, ACTOR, source, command)
    assert (commit.chat.status, commit.answer.version) == (Status.IDLE, 1)
    assert await world.load(commit.chat.chat_id) == commit.chat
    assert await world.violations([source, commit.chat.chat_id]) == []
    return commit.chat.chat_id


async def test_a_fork_says_the_same_and_goes_its_own_way(world: World) -> None:
    source = await talked(world)
    before = await world.load(source)

    copy = await forked(world, source)

    original, copied = await world.read(source), await world.read(copy)
    assert [m.seq for m in copied] == [1, 2, 3, 4, 5, 6]
    free = [replace(m.body, usage=None, cost_micros=None) for m in original]
    assert [m.body for m in copied] == free, "the originals keep what was billed"
    assert [m.created_at for m in copied] == [m.created_at for m in original]
    assert {(m.revision, m.epoch, m.copied_from) for m in copied} == {(1, 0, None)}
    chat = await world.load(copy)
    assert (chat.model, chat.effort, chat.compactable) == ("m", "high", True)

    await world.do(copy, SendMessage(user("three")))
    assert (await texts(world, copy))[-1] == "three"
    assert (await world.load(source), await world.read(source)) == (before, original)
    assert await world.violations([copy]) == []


async def test_a_fork_ends_where_it_was_told_unless_calls_wait_there(world: World) -> None:
    source = await talked(world)
    assert await texts(world, await forked(world, source, 2)) == ["one", "uno"]
    assert await texts(world, await forked(world, source, 3)) == ["one", "uno", "two"]
    assert len(await texts(world, await forked(world, source, 5))) == 5
    for at in (4, 7, 2**40):
        with pytest.raises(NotForkable) as refused:
            await forked(world, source, at)
        assert str(source) in str(refused.value)


async def test_what_is_in_the_middle_of_its_calls_is_left_out(world: World) -> None:
    chat = await world.running(user("one"))
    step = CommitStep((asks("c1", needs=Need.RESULT),))
    await world.drive(chat, step, Await(Need.RESULT, (CallId("c1"),)))
    copy = await forked(world, chat.chat_id)
    assert await texts(world, copy) == ["one"]
    assert (await world.load(copy)).compactable

    empty = await world.create()
    assert await texts(world, await forked(world, empty.chat_id)) == []


async def test_older_paths_are_forked(world: World) -> None:
    chat = await world.running(user("old"))
    done = await world.drive(chat, CommitStep((reply("alt"),)), FinishTurn())
    await world.do(chat.chat_id, EditMessage(Seq(1), user("new")))

    older = await forked(world, chat.chat_id, as_of=done.chat.version)
    assert await texts(world, older) == ["old", "alt"]
    newer = await forked(world, chat.chat_id)
    assert await texts(world, newer) == ["new"]
    assert [m.seq for m in await world.read(newer)] == [1]
    with pytest.raises(NotForkable):
        await forked(world, chat.chat_id, 1)  # hidden by the edit
    with pytest.raises(VersionNotFound):
        await forked(world, chat.chat_id, as_of=99)


async def test_what_was_told_only_the_model_is_not_taken_along(world: World) -> None:
    secret = user("between us", visibility=Visibility.MODEL)
    chat = await world.create(system("be brief"), secret, user("hello"))
    assert await texts(world, await forked(world, chat.chat_id)) == ["hello"]


async def test_a_fork_that_ends_in_a_compaction_has_nothing_to_compact(world: World) -> None:
    chat = await world.create(user("hello"), reply("hi"), boundary("so far"))
    assert not (await world.load(await forked(world, chat.chat_id, 3))).compactable
    assert (await world.load(await forked(world, chat.chat_id, 2))).compactable


async def test_tools_stay_with_the_client_that_runs_them(world: World) -> None:
    source = await talked(world)
    await world.do(source, DeclareTools((a_tool(),)))
    assert (await world.load(await forked(world, source))).tools == (a_tool(),)

    reader = Actor(ORG, await world.another_owner())
    taken = await fork(world.ledger, world.ids, reader, source, Fork())
    assert (taken.chat.owner_id, taken.chat.tools) == (reader.user_id, ())


async def test_a_fork_is_made_once_by_its_key_whatever_became_of_the_source(world: World) -> None:
    source = await talked(world)
    keyed = keyed_by("f", "fork")
    command = Fork(Seq(6))
    first = await fork(world.ledger, world.ids, ACTOR, source, command, keyed=keyed)
    await world.do(source, EditMessage(Seq(1), user("other")))

    again = await fork(world.ledger, world.ids, ACTOR, source, command, keyed=keyed)
    assert (again.repeated, again.chat.chat_id) == (True, first.chat.chat_id)
    with pytest.raises(KeyReused):
        await fork(world.ledger, world.ids, ACTOR, source, command, keyed=keyed_by("f", "another"))
    with pytest.raises(ChatNotFound):
        await fork(world.ledger, world.ids, ACTOR, world.ids.new_chat_id(), Fork())
