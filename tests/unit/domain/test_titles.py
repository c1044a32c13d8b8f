"""What a chat is called before there is a better title."""

import pytest

from holdfast.domain.chat import Chat, Facts
from holdfast.domain.commands import Create, FinishInterrupt, SendMessage
from holdfast.domain.decide import decide
from holdfast.domain.messages import MessageBody, Role
from holdfast.domain.parts import Skill, Text
from holdfast.domain.titles import CHARS_MAX, LOOKED_AT, first_words
from tests.support.builders import CHAT, NOW, ORG, OWNER, reply, system, user

NEW = Chat(chat_id=CHAT, org_id=ORG, owner_id=OWNER)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Look at the clock", "Look at the clock"),
        ("one two three four five six", "one two three four five six"),
        ("one two three four five six seven", "one two three four five six…"),
        ("  ## A heading\n\nand\tmore ", "A heading and more"),
        ("- > first item", "first item"),
        ("a\x00b\x1b[31m c", "a b [31m c"),
        ("x" * CHARS_MAX, "x" * CHARS_MAX),
        ("x" * (CHARS_MAX + 1), "x" * (CHARS_MAX - 1) + "…"),
        (" ".join(["y" * 13] * 7), f"{' '.join(['y' * 13] * 6)[: CHARS_MAX - 1]}…"),
        ("", None),
        (" \n\t ", None),
        ("## > *", None),
        (" " * LOOKED_AT + "too late", None),
    ],
)
def test_a_title_is_made_of_first_words(text: str, title: str | None) -> None:
    found = first_words(user(text))
    assert found == title
    assert found is None or len(found) <= CHARS_MAX


def test_a_title_takes_the_words_of_all_parts() -> None:
    parts = (Text("one two three"), Text("four five six"), Text("seven"), Text("eight"))
    assert first_words(MessageBody(role=Role.USER, parts=parts)) == "one two three four five six…"
    assert first_words(MessageBody(role=Role.USER, parts=())) is None
    attached = (Skill(name="review", text="How to review."), Text("this change"))
    assert first_words(MessageBody(role=Role.USER, parts=attached)) == "this change"


def test_only_the_first_message_of_a_user_names_a_chat() -> None:
    created = decide(Facts(chat=NEW), Create((system(), user("hello there"), user("more"))), NOW)
    assert created.first_words == "hello there"
    assert decide(Facts(chat=NEW), Create((system(), reply())), NOW).first_words is None

    empty = decide(Facts(chat=NEW), Create(), NOW)
    assert empty.first_words is None
    spoken = decide(Facts(chat=empty.chat), SendMessage(user("late, but first")), NOW)
    assert spoken.first_words == "late, but first"
    again = decide(
        Facts(chat=spoken.chat), SendMessage(user("not this"), when_busy="interrupt"), NOW
    )
    assert again.first_words is None
    ended = decide(Facts(chat=again.chat), FinishInterrupt(), NOW)
    assert ended.first_words is None
