"""What a process remembers of the chats that it drove, and when it may not be used."""

from dataclasses import replace

from holdfast.domain.chat import Chat, Facts, Status, Target
from holdfast.domain.commands import EditMessage, SendMessage
from holdfast.domain.decide import decide
from holdfast.domain.ids import Epoch, Seq, Version, VersionStamp
from holdfast.domain.messages import Message, MessageBody, Role
from holdfast.domain.parts import Native, Text
from holdfast.turn.history_cache import Addition, HistoryCache
from holdfast.turn.interrupts import Interrupts
from holdfast.turn.prompt import MESSAGE_BYTES, Prompt
from holdfast.turn.recheck import ends_step
from holdfast.turn.turn import Turn
from tests.requirements import requirement
from tests.support.builders import NOW, a_chat, boundary, reply, user
from tests.support.doubles import SeededIds

IDS = SeededIds()


def said(*bodies: MessageBody, after: int = 0) -> tuple[Message, ...]:
    return tuple(
        Message(seq=Seq(seq), body=body, revision=Version(1), epoch=Epoch(1), created_at=NOW)
        for seq, body in enumerate(bodies, start=after + 1)
    )


STAMP = VersionStamp(77)


def a_prompt(*bodies: MessageBody, version: int = 3) -> Prompt:
    return Prompt(said(*bodies), Version(version), STAMP)


def at(version: int) -> Chat:
    return a_chat(history_version=Version(version), version=Version(version), history_stamp=STAMP)


def test_a_new_chat_has_said_nothing_else() -> None:
    chat = at(1)
    prompt = HistoryCache().recall(chat, Addition(Version(0), VersionStamp(0), said(user("first"))))
    assert prompt is not None
    assert prompt.bodies == [user("first")]
    assert prompt.fits(chat)


def test_what_was_said_on_top_of_it_is_added() -> None:
    memory, chat = HistoryCache(), at(4)
    memory.keep(chat.chat_id, a_prompt(user("a"), reply("b"), version=3))
    prompt = memory.recall(chat, Addition(Version(3), STAMP, said(user("c"), after=2)))
    assert prompt is not None
    assert prompt.bodies == [user("a"), reply("b"), user("c")]
    assert prompt.fits(chat)
    assert len(memory) == 0, "given to one runner"


def test_a_history_of_the_very_version_needs_no_commit() -> None:
    memory, chat = HistoryCache(), at(3)
    memory.keep(chat.chat_id, a_prompt(user("a")))
    prompt = memory.recall(chat, None)
    assert prompt is not None
    assert prompt.bodies == [user("a")]


def test_another_history_is_not_used() -> None:
    memory = HistoryCache()
    for chat, told in (
        (at(5), None),  # somebody else drove it meanwhile
        (at(5), Addition(Version(4), STAMP, said(user("c")))),  # and this was said on top of that
    ):
        memory.keep(chat.chat_id, a_prompt(user("a"), version=3))
        assert memory.recall(chat, told) is None
        assert memory.recall(chat, None) is None, "and not remembered any longer"
    assert memory.recall(at(2), Addition(Version(1), STAMP, said(user("c")))) is None


@requirement("L146")
def test_memory_does_not_use_a_history_of_the_same_version_with_another_stamp() -> None:
    other = VersionStamp(STAMP + 1)
    for chat, told in (
        (replace(at(3), history_stamp=other), None),
        (at(4), Addition(Version(3), other, said(user("c"), after=2))),
    ):
        memory = HistoryCache()
        memory.keep(chat.chat_id, a_prompt(user("a"), version=3))
        assert memory.recall(chat, told) is None


@requirement("L146")
def test_history_that_was_replaced_at_the_same_version_ends_the_step() -> None:
    chat = a_chat(Status.RUNNING, worker_id=IDS.new_worker_id(), attempt=1, history_stamp=STAMP)
    turn = Turn(chat, Interrupts(chat))
    assert not ends_step(turn, chat)
    assert ends_step(turn, replace(chat, history_stamp=VersionStamp(STAMP + 1)))


def test_an_edit_is_more_than_something_said() -> None:
    rests = at(3)
    told = said(user("c"))
    sent = decide(Facts(chat=rests), SendMessage(user("c")), NOW)
    assert Addition.of(sent, told) == Addition(Version(3), STAMP, told)
    target = Target(seq=Seq(1), role=Role.USER, removed=False)
    edited = decide(Facts(chat=rests, target=target), EditMessage(Seq(1), user("c")), NOW)
    assert Addition.of(edited, told) is None


def test_what_is_silent_longest_is_forgotten_first_and_what_is_long_is_not_kept() -> None:
    word = a_prompt(user("x" * 100))
    memory = HistoryCache(bytes_max=8 * word.weigh())
    chats = [
        a_chat(chat_id=IDS.new_chat_id(), history_version=Version(3), history_stamp=STAMP)
        for _ in range(10)
    ]
    for chat in chats:
        memory.keep(chat.chat_id, a_prompt(user("x" * 100)))
        memory.keep(chat.chat_id, a_prompt(user("x" * 100)))  # in its own place
    assert len(memory) == 8
    assert memory.recall(chats[0], None) is None
    assert memory.recall(chats[9], None) is not None
    assert len(memory) == 7
    long = a_chat(chat_id=IDS.new_chat_id(), history_version=Version(3), history_stamp=STAMP)
    memory.keep(long.chat_id, a_prompt(user("x" * 2000)))
    assert memory.recall(long, None) is None
    assert len(memory) == 7


def test_a_prompt_weighs_its_words_and_whatever_a_provider_sent_with_them() -> None:
    assert a_prompt(user("x" * 50)).weigh() == MESSAGE_BYTES + 50
    native = Text("x", native=Native("anthropic", {"block": "y" * 3000}))
    assert a_prompt(replace(reply(), parts=(native,))).weigh() > MESSAGE_BYTES + 3000


def test_a_prompt_begins_at_its_newest_boundary() -> None:
    prompt = a_prompt(user("long ago"), reply("so it was"))
    prompt.extend(said(boundary("in short"), user("now"), after=2), Version(5), STAMP)
    assert prompt.bodies == [boundary("in short"), user("now")]
    prompt.weigh()
    assert prompt.weigh() == 2 * MESSAGE_BYTES + len("in short") + len("now")
