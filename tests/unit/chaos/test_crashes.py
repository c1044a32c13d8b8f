"""What the attack on the database finds wrong with a history."""

from holdfast.domain.ids import Epoch, Seq, Version
from holdfast.domain.messages import Ending, Message, MessageBody, Role, Takeover
from holdfast_lab.chaos.faults.database.crashes import differences
from tests.support.builders import NOW, reply, user

ANSWER = "one two three"
KEPT = Takeover(attempt=2, kept=True)
TAKEN_OVER = Takeover(attempt=2)
SILENCE = MessageBody(role=Role.ASSISTANT, parts=())


def kept(text: str) -> MessageBody:
    """The words of a lost worker, kept by its successor."""
    return reply(text, ending=Ending.CUT, takeover=KEPT)


def found(*bodies: MessageBody, taken: str = "a") -> list[str]:
    history = [
        Message(seq=Seq(seq), body=body, revision=Version(seq), epoch=Epoch(1), created_at=NOW)
        for seq, body in enumerate(bodies, start=1)
    ]
    return list(differences(history, taken.split(), ANSWER))


def test_whole_answers_are_right() -> None:
    assert found(user("a x"), reply(ANSWER), user("b x"), reply(ANSWER), taken="a b") == []


def test_words_of_a_lost_worker_and_the_rest_are_one_answer() -> None:
    assert found(user("a x"), kept("one t"), reply("wo three")) == []
    assert found(user("a x"), kept("one t"), kept("wo "), reply("three")) == []


def test_whole_words_of_a_lost_worker_and_an_empty_rest_are_one_answer() -> None:
    assert found(user("a x"), kept(ANSWER), SILENCE) == []
    assert found(user("a x"), kept(ANSWER), reply("")) == []


def test_lost_words_are_found() -> None:
    assert found(user("a x"), reply("one two"))
    assert found(user("a x"), kept("one"), reply(" three"))
    assert found(user("a x"), kept("one"), user("b x"), reply(ANSWER), taken="a b")
    assert found(user("a x"), SILENCE)
    assert found(user("a x"))


def test_doubled_words_are_found() -> None:
    assert found(user("a x"), kept("one two"), reply(" two three"))
    assert found(user("a x"), kept("one"), reply(ANSWER))
    assert found(user("a x"), kept(ANSWER), reply(ANSWER))
    assert found(user("a x"), reply(ANSWER), reply(ANSWER))


def test_words_in_another_order_are_found() -> None:
    assert found(user("a x"), kept(" two three"), reply("one"))


def test_answer_in_two_messages_without_a_lost_worker_is_found() -> None:
    for first in (
        reply("one t"),
        reply("one t", ending=Ending.CUT),
        reply("one t", ending=Ending.CUT, takeover=TAKEN_OVER),
        reply("one t", takeover=KEPT),
    ):
        assert found(user("a x"), first, reply("wo three"))


def test_empty_message_after_a_whole_answer_is_found() -> None:
    assert found(user("a x"), reply(ANSWER), SILENCE)


def test_rest_does_not_go_on_from_the_turn_before() -> None:
    assert found(user("a x"), kept("one t"), user("b x"), reply("wo three"), taken="a b")


def test_answer_to_no_message_is_found() -> None:
    assert found(reply(ANSWER), user("a x"), reply(ANSWER))


def test_lost_doubled_and_reordered_messages_of_people_are_found() -> None:
    first, second = (user("a x"), reply(ANSWER)), (user("b x"), reply(ANSWER))
    assert "lost" in found(*first, taken="a b")[0]
    assert "doubled" in found(*first, *first)[0]
    assert "out of order" in found(*second, *first, taken="a b")[0]
