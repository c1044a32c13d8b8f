"""What every history promises about the versions that edits and restores left behind."""

import pytest

from holdfast.domain.chat import Chat
from holdfast.domain.commands import CommitStep, EditMessage, FinishTurn, Restore, SendMessage
from holdfast.domain.ids import Seq, Version
from tests.support.builders import reply, user
from tests.support.world import World


async def said(world: World, text: str, seq: int | None = None, chat: Chat | None = None) -> Chat:
    """A question and its answer: the first of a chat, or in the place of the message with `seq`."""
    if chat is None or seq is None:
        running = await world.running(user(text))
    else:
        await world.do(chat.chat_id, EditMessage(Seq(seq), user(text)))
        (running,) = await world.acquire(await world.a_worker())
    return (await world.drive(running, CommitStep((reply(text),)), FinishTurn())).chat


async def versions(world: World, chat: Chat) -> list[tuple[int, int, int]]:
    found = await world.history.older_paths(chat.chat_id, limit=100)
    return [(each.version, each.first_seq, each.messages) for each in found]


async def test_going_back_and_forth_adds_no_version(world: World) -> None:
    first = await said(world, "one")
    second = await said(world, "two", 1, first)
    assert await versions(world, first) == [(first.version, 1, 2)]

    there, back = first.version, second.version
    for _ in range(50):
        restored = await world.do(first.chat_id, Restore(Version(there)))
        ((version, _, messages),) = await versions(world, first)
        assert (version, messages) == (back, 2), "the other one"
        there, back = version, restored.chat.version
    assert await world.violations([first.chat_id]) == []


async def test_a_version_that_goes_on_is_one_with_its_beginning(world: World) -> None:
    """What was restored and continued holds what it was restored from."""
    first = await said(world, "one")
    second = await said(world, "two", 1, first)
    await world.do(first.chat_id, Restore(first.version))
    await world.do(first.chat_id, SendMessage(user("three")))
    (running,) = await world.acquire(await world.a_worker())
    third = await world.drive(running, CommitStep((reply("three"),)), FinishTurn())
    assert [each[2] for each in await versions(world, first)] == [2], "of the second question"

    await world.do(first.chat_id, Restore(second.version))
    ((version, _, messages),) = await versions(world, first)
    assert (version, messages) == (third.chat.version, 4)


async def test_versions_come_in_pages(world: World) -> None:
    chat = await said(world, "0")
    seq = 1
    for n in range(1, 5):
        left = chat
        chat = await said(world, str(n), seq, chat)
        seq = left.last_seq + 1
    every = [each[0] for each in await versions(world, chat)]
    assert len(every) == 4
    page = await world.history.older_paths(chat.chat_id, limit=2, before=Version(every[1]))
    assert [each.version for each in page] == every[2:]


async def test_a_chat_that_was_never_edited_has_none(world: World) -> None:
    assert await versions(world, await said(world, "one")) == []


@pytest.mark.parametrize("times", [1, 3])
async def test_the_same_answer_made_anew_is_a_version_each_time(world: World, times: int) -> None:
    chat, seq = await said(world, "one"), 1
    for _ in range(times):
        left = chat
        chat = await said(world, "one", seq, chat)
        seq = left.last_seq + 1
    assert len(await versions(world, chat)) == times
