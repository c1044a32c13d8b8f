"""Messages know their turn, their attempt and what led a client to them, on every store."""

from holdfast.chats.changes import ChangeRequest
from holdfast.chats.create import create, fork
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import (
    Await,
    BeginAttempt,
    CommitStep,
    EditMessage,
    FinishTurn,
    Fork,
    Interrupt,
    Restore,
    SendMessage,
    SubmitResults,
)
from holdfast.domain.ids import CallId, ChatId, ClientKey, Seq
from holdfast.domain.messages import Message
from holdfast.domain.outcome import Answer
from holdfast.domain.parts import Need
from tests.support.builders import asks, reply, result, results, system, user
from tests.support.world import ACTOR, World, keyed_by


def named(messages: tuple[Message, ...]) -> list[tuple[int | None, int | None]]:
    return [(message.turn_seq, message.attempt) for message in messages]


async def whole(world: World, *chat_ids: ChatId) -> None:
    assert await world.violations(list(chat_ids)) == []


async def driven(world: World, chat_id: ChatId) -> Chat:
    """The chat, acquired by a new worker."""
    found = await world.acquire(await world.a_worker())
    return next(chat for chat in found if chat.chat_id == chat_id)


async def talked(world: World) -> ChatId:
    """Two turns: with tools and a second attempt, and plain. Six messages, at rest."""
    chat = await world.running(user("one"))
    asked = await world.drive(chat, BeginAttempt())
    asked = await world.drive(asked.chat, CommitStep((asks("c1"),)), BeginAttempt())
    ran = await world.drive(asked.chat, CommitStep((results("c1"),)), BeginAttempt())
    await world.drive(ran.chat, CommitStep((reply("uno"),)), FinishTurn())
    await world.do(chat.chat_id, SendMessage(user("two")))
    await world.drive(await driven(world, chat.chat_id), CommitStep((reply("due"),)), FinishTurn())
    return chat.chat_id


async def test_messages_name_their_turn_and_their_attempt(world: World) -> None:
    chat_id = await talked(world)

    first = [(1, None), (1, 2), (1, 1), (1, 1)]
    assert named(await world.read(chat_id)) == [*first, (5, None), (5, 1)]
    assert (await world.load(chat_id)).turn_seq == 5
    await whole(world, chat_id)


async def test_a_commit_returns_the_messages_as_they_are_stored(world: World) -> None:
    chat = await world.running(user("one"))
    await world.do(chat.chat_id, SendMessage(user("two")), key="k")
    loaded = await world.load(chat.chat_id)

    commit = await world.drive(loaded, CommitStep((reply(),)), FinishTurn())

    assert commit.messages == (await world.read(chat.chat_id))[1:]
    assert named(commit.messages) == [(1, 1), (3, None)]


async def test_a_queued_message_leads_to_its_turn_and_its_answer(world: World) -> None:
    chat = await world.running(user("one"))
    receipt = (await world.do(chat.chat_id, SendMessage(user("two")), key="k")).answer
    assert (receipt.turn_seq, receipt.seq, receipt.queued_id) == (None, None, 1)
    (waiting,) = (await world.load(chat.chat_id)).queue
    assert waiting.head.client_key == "k"

    loaded = await world.load(chat.chat_id)
    ended = await world.drive(loaded, CommitStep((reply("uno"),)), FinishTurn())
    await world.drive(ended.chat, CommitStep((reply("due"),)), FinishTurn())

    messages = await world.read(chat.chat_id)
    (said,) = [m for m in messages if m.queued_id == receipt.queued_id]
    assert (said.seq, said.turn_seq, said.body.client_key) == (3, 3, "k")
    assert [m.body for m in messages if m.turn_seq == said.seq][1:] == [reply("due")]
    again = await world.do(chat.chat_id, SendMessage(user("two")), key="k")
    assert (again.repeated, again.answer) == (True, receipt)
    await whole(world, chat.chat_id)


async def test_a_message_carries_the_key_of_its_request(world: World) -> None:
    chat = await world.create(user("one"))
    chat_id = chat.chat_id
    await world.drive(await driven(world, chat_id), CommitStep((reply(),)), FinishTurn())
    sent = (await world.do(chat_id, SendMessage(user("two")), key="key 2")).answer
    assert (sent.turn_seq, sent.seq) == (3, 3)
    edited = (await world.do(chat_id, EditMessage(Seq(1), user("uno")), key="key 3")).answer
    assert (edited.turn_seq, edited.seq) == (4, 4)

    (said,) = await world.read(chat_id)
    assert said.body.client_key == "key 3"
    hidden = await world.history.page(chat_id, limit=10, as_of=sent.version)
    assert [m.body.client_key for m in hidden.messages] == [None, None, "key 2"]
    await whole(world, chat_id)


async def test_a_chat_that_is_created_twice_is_answered_the_same(world: World) -> None:
    keyed = keyed_by("begin", "body")
    brought = [system(), user("one"), reply("uno"), user("two")]

    first = await create(world.ledger, world.ids, ACTOR, brought, keyed=keyed)
    again = await create(world.ledger, world.ids, ACTOR, brought, keyed=keyed)

    assert first.answer == Answer(version=first.chat.version, turn_seq=Seq(4), seq=Seq(4))
    assert (again.repeated, again.answer) == (True, first.answer)
    messages = await world.read(first.chat.chat_id)
    assert [(m.turn_seq, m.body.client_key) for m in messages] == [
        (None, None),
        (2, None),
        (2, None),
        (4, "begin"),
    ]
    await whole(world, first.chat.chat_id)


async def test_a_fork_that_is_made_twice_is_answered_the_same(world: World) -> None:
    source = await talked(world)
    await world.do(source, SendMessage(user("three")), key="again")
    keyed = keyed_by("again", "body")

    first = await fork(world.ledger, world.ids, ACTOR, source, Fork(), keyed=keyed)
    again = await fork(world.ledger, world.ids, ACTOR, source, Fork(), keyed=keyed)

    assert (again.repeated, again.answer) == (True, first.answer)
    assert (first.answer.turn_seq, first.answer.seq) == (None, None)


async def test_a_fork_names_its_turns_by_its_own_numbers(world: World) -> None:
    source = await talked(world)
    await world.do(source, EditMessage(Seq(5), user("zwei")), key="k")
    await world.drive(await driven(world, source), CommitStep((reply("drei"),)), FinishTurn())
    assert [m.seq for m in await world.read(source)] == [1, 2, 3, 4, 7, 8]

    copy = (await fork(world.ledger, world.ids, ACTOR, source, Fork())).chat

    copied = await world.read(copy.chat_id)
    assert [m.seq for m in copied] == [1, 2, 3, 4, 5, 6]
    assert named(copied) == [(1, None), (1, 2), (1, 1), (1, 1), (5, None), (5, 1)]
    assert copy.turn_seq == 5
    assert {(m.queued_id, m.body.client_key) for m in copied} == {(None, None)}
    await whole(world, source, copy.chat_id)


async def test_a_fork_that_leaves_open_calls_out_names_the_turn_before_them(world: World) -> None:
    chat = await world.running(user("one"))
    await world.drive(chat, CommitStep((asks("c1"),)))

    copy = (await fork(world.ledger, world.ids, ACTOR, chat.chat_id, Fork())).chat

    assert ([m.seq for m in await world.read(copy.chat_id)], copy.turn_seq) == ([1], 1)
    await whole(world, copy.chat_id)


async def test_a_restore_names_the_turns_that_it_copies_anew(world: World) -> None:
    chat_id = await talked(world)
    before = await world.load(chat_id)
    await world.do(chat_id, EditMessage(Seq(5), user("zwei")))
    await world.drive(await driven(world, chat_id), CommitStep((reply("drei"),)), FinishTurn())

    await world.do(chat_id, Restore(before.version))

    messages = await world.read(chat_id)
    assert [m.seq for m in messages] == [1, 2, 3, 4, 9, 10]
    assert named(messages)[4:] == [(9, None), (9, 1)]
    assert (await world.load(chat_id)).turn_seq == 9
    await whole(world, chat_id)


async def test_a_restore_into_the_middle_of_a_turn_keeps_its_name(world: World) -> None:
    """The turn begins in what both histories share, and its reply is copied."""
    chat = await world.running(user("one"))
    asked = await world.drive(chat, CommitStep((asks("c1", needs=Need.RESULT),)))
    waits = await world.drive(asked.chat, Await(Need.RESULT, (CallId("c1"),)))
    chat_id = chat.chat_id
    await world.do(chat_id, Interrupt())
    await world.do(chat_id, SendMessage(user("two")))
    await world.drive(await driven(world, chat_id), CommitStep((reply(),)), FinishTurn())
    stopped = await world.load(chat_id)
    await world.do(chat_id, Restore(waits.chat.version))
    assert (await world.load(chat_id)).turn_seq == 1
    await whole(world, chat_id)

    await world.do(chat_id, Restore(stopped.version))

    messages = await world.read(chat_id)
    assert len(messages) == 5
    assert [m.turn_seq for m in messages[:3]] == [1, 1, 1]
    last_turn = messages[3].seq
    assert [m.turn_seq for m in messages[3:]] == [last_turn, last_turn]
    assert (await world.load(chat_id)).turn_seq == last_turn
    await whole(world, chat_id)


async def test_a_receipt_keeps_the_turn_that_was_stopped(world: World) -> None:
    chat = await world.running(user("one"))
    stopped = await world.do(chat.chat_id, Interrupt(Seq(1)), key="stop")
    assert stopped.answer.turn_seq == 1
    unchanged = await world.do(chat.chat_id, Interrupt(), key="stop again")
    assert (unchanged.answer.turn_seq, unchanged.chat.status) == (1, Status.INTERRUPTING)
    for key, command in (("stop", Interrupt(Seq(1))), ("stop again", Interrupt())):
        again = await world.do(chat.chat_id, command, key=key)
        assert (again.repeated, again.answer.turn_seq) == (True, 1)


async def test_a_key_may_hold_any_character(world: World) -> None:
    keyed = keyed_by("k\x00\ud800", "body")
    chat = await world.create()
    request = ChangeRequest((SendMessage(user()),), by=ACTOR, key=keyed)
    await world.ledger.transact(chat.chat_id, request)
    (said,) = await world.read(chat.chat_id)
    assert said.body.client_key == ClientKey("k\x00\ud800")


async def test_results_of_a_client_are_of_the_turn_that_waited(world: World) -> None:
    chat = await world.running(user("one"))
    asked = await world.drive(chat, CommitStep((asks("c1", needs=Need.RESULT),)))
    await world.drive(asked.chat, Await(Need.RESULT, (CallId("c1"),)))
    given = await world.do(chat.chat_id, SubmitResults((result("c1"),)), key="k")
    assert given.answer.turn_seq == 1
    last = (await world.read(chat.chat_id))[-1]
    assert (last.turn_seq, last.attempt, last.body.client_key) == (1, None, None)
