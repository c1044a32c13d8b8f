"""The prefix of a prompt: stored with the reply that names it, on every store."""

from dataclasses import replace

from holdfast.chats.changes import ChangeRequest
from holdfast.chats.create import fork
from holdfast.domain.chat import Chat
from holdfast.domain.commands import CommitStep, EditMessage, FinishTurn, Fork, Restore
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId, Seq, Version
from holdfast.domain.messages import MessageBody, Role, Visibility
from holdfast.domain.parts import Text
from holdfast.domain.prefix import PromptPrefix
from tests.support.builders import asks, reply, user
from tests.support.world import ACTOR, World

PREFIX = PromptPrefix.of('{"sections": [["a", "nul \x00"]], "tools": []}')

NEWS = MessageBody(role=Role.SYSTEM, parts=(Text("news"),), visibility=Visibility.MODEL)


async def said_with(world: World, prefix: PromptPrefix = PREFIX) -> Chat:
    """A turn whose reply was made with this prefix."""
    chat = await world.running(user("one"))
    bodies = (NEWS, replace(reply("uno"), prefix=prefix.digest))
    commands = (CommitStep(bodies), FinishTurn())
    request = ChangeRequest(commands, by=Fence.of(chat), riders=(prefix,), snapshot=chat)
    return (await world.ledger.transact(chat.chat_id, request)).chat


async def prefixes(world: World, chat_id: ChatId) -> list[str | None]:
    return [message.body.prefix for message in await world.read(chat_id)]


async def test_prefix_is_stored_with_the_message_that_names_it(world: World) -> None:
    assert await world.history.prompt_prefix(PREFIX.digest) is None
    chat = await said_with(world)

    assert await world.history.prompt_prefix(PREFIX.digest) == PREFIX.content
    assert await prefixes(world, chat.chat_id) == [None, None, PREFIX.digest]
    assert await world.violations([chat.chat_id]) == []


async def test_chats_that_were_told_the_same_share_a_prefix(world: World) -> None:
    await said_with(world)
    again = await said_with(world)

    assert await prefixes(world, again.chat_id) == [None, None, PREFIX.digest]
    assert await world.history.prompt_prefix(PREFIX.digest) == PREFIX.content


async def test_fork_takes_the_prefix_and_the_news_along(world: World) -> None:
    chat = await said_with(world)
    copy = await fork(world.ledger, world.ids, ACTOR, chat.chat_id, Fork())

    copied = await world.read(copy.chat.chat_id)
    assert [message.body for message in copied] == [
        message.body for message in await world.read(chat.chat_id)
    ]
    assert [message.body.prefix for message in copied] == [None, None, PREFIX.digest]
    assert [message.turn_seq for message in copied] == [1, 1, 1]
    assert await world.violations([chat.chat_id, copy.chat.chat_id]) == []


async def test_fork_in_the_middle_of_calls_ends_with_the_news(world: World) -> None:
    """The reply that waits for its calls is left out, and the prefix that it names with it."""
    chat = await world.running(user("one"))
    step = CommitStep((NEWS, replace(asks("c1"), prefix=PREFIX.digest)))
    request = ChangeRequest((step,), by=Fence.of(chat), riders=(PREFIX,), snapshot=chat)
    await world.ledger.transact(chat.chat_id, request)
    copy = await fork(world.ledger, world.ids, ACTOR, chat.chat_id, Fork())

    copied = await world.read(copy.chat.chat_id)
    assert [message.body.role for message in copied] == [Role.USER, Role.SYSTEM]
    assert await world.violations([copy.chat.chat_id]) == []


async def test_restored_history_keeps_its_prefix(world: World) -> None:
    chat = await said_with(world)
    edited = await world.do(chat.chat_id, EditMessage(Seq(1), user("two")))
    (running,) = await world.acquire(await world.a_worker())
    await world.drive(running, CommitStep((reply("due"),)), FinishTurn())
    assert await prefixes(world, chat.chat_id) == [None, None]
    version = Version(edited.chat.version - 1)
    await world.do(chat.chat_id, Restore(version))
    assert await prefixes(world, chat.chat_id) == [None, None, PREFIX.digest]
