"""What is wrong with a chat is seen, and named."""

from typing import Any

import orjson
import pytest

from holdfast_lab.bench.checks import ChatCheck, News, Wrong, check_history
from holdfast_lab.bench.load import Load

LOAD = Load(chats=8, turns=2, words=4)
WITH_TOOLS = Load(chats=8, turns=1, words=3, tools=2)


def message(seq: int, role: str, text: str, ending: str = "stop") -> dict[str, Any]:
    return {
        "seq": seq,
        "role": role,
        "finish_reason": ending,
        "parts": [{"type": "text", "text": text}],
    }


def told(check: ChatCheck, kind: str, /, **data: Any) -> News:
    return check.take(kind.encode(), orjson.dumps({"type": kind, "data": data}))


def state(check: ChatCheck, status: str, **facts: Any) -> News:
    nothing = {"retry": None, "error": None, "action_required": None}
    return told(check, "chat.state", status=status, **{**nothing, **facts})


def part(check: ChatCheck, index: int, text: str) -> News:
    deltas = [{"type": "text", "index": 0, "text": text}]
    return told(check, "preview.delta", attempt=1, index=index, deltas=deltas)


def asked(load: Load = LOAD) -> ChatCheck:
    """A chat that is watched, and whose first message was told."""
    check = ChatCheck(load, 7)
    told(check, "history.reset", from_seq=1, older_before_seq=None)
    assert state(check, "idle") is News.READY
    check.ask()
    told(check, "message.created", **message(1, "user", load.prompt(7, 1)))
    state(check, "running")
    return check


def test_a_turn_that_comes_whole_is_done() -> None:
    check = asked()

    assert part(check, 1, "c7t1:1 c7t1:2") is News.PART
    part(check, 2, " c7t1:3 c7t1:4")
    told(check, "message.created", **message(2, "assistant", "c7t1:1 c7t1:2 c7t1:3 c7t1:4"))

    assert state(check, "idle") is News.DONE
    assert check.ask() == 2


def test_an_answer_that_was_there_before_its_parts_is_counted() -> None:
    check = asked()
    told(check, "message.created", **message(2, "assistant", LOAD.answer(7, 1)))

    assert state(check, "idle") is News.DONE
    assert check.told_whole == 1


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("c7t1:1 c7t1:3 c7t1:4", "word 2 is 'c7t1:3', not 'c7t1:2'"),
        ("c7t1:1 c7t1:2 c7t1:2 c7t1:3 c7t1:4", "word 3 is 'c7t1:2', not 'c7t1:3'"),
        ("c7t1:1 c7t1:2 c7t1:3", "3 words, not 4"),
        ("c6t1:1 c6t1:2 c6t1:3 c6t1:4", "word 1 is 'c6t1:1', not 'c7t1:1'"),
        ("c7t2:1 c7t2:2 c7t2:3 c7t2:4", "word 1 is 'c7t2:1', not 'c7t1:1'"),
    ],
    ids=["lost", "doubled", "cut", "of another chat", "of another turn"],
)
def test_a_wrong_word_is_named(words: str, named: str) -> None:
    kept = asked()
    with pytest.raises(Wrong, match=f"message 2: {named}"):
        told(kept, "message.created", **message(2, "assistant", words))

    live = asked()
    part(live, 1, words)
    with pytest.raises(Wrong, match="what was told live"):
        told(live, "message.created", **message(2, "assistant", LOAD.answer(7, 1)))


@pytest.mark.parametrize("seq", [1, 3], ids=["doubled", "lost"])
def test_a_message_out_of_order_is_seen(seq: int) -> None:
    check = asked()

    with pytest.raises(Wrong, match=f"message {seq} came where 2 was due"):
        told(check, "message.created", **message(seq, "assistant", LOAD.answer(7, 1)))


@pytest.mark.parametrize("seq", [1, 3], ids=["doubled", "lost"])
def test_a_live_part_out_of_order_is_seen(seq: int) -> None:
    check = asked()
    part(check, 1, "c7t1:1")

    with pytest.raises(Wrong, match=f"live part {seq} came where 2 was due"):
        part(check, seq, " c7t1:2")


def test_a_second_answer_is_seen() -> None:
    check = asked()
    told(check, "message.created", **message(2, "assistant", LOAD.answer(7, 1)))

    with pytest.raises(Wrong, match="the turn had all of its messages"):
        told(check, "message.created", **message(3, "assistant", LOAD.answer(7, 1)))


def test_a_turn_without_its_answer_is_seen() -> None:
    with pytest.raises(Wrong, match="turn 1 ended after 1 of 2 messages"):
        state(asked(), "idle")


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ({"error": {"message": "The provider is busy."}}, "The provider is busy"),
        ({"action_required": {"type": "approval"}}, "waits for an approval"),
    ],
)
def test_a_turn_that_does_not_end_well_is_seen(facts: dict[str, Any], named: str) -> None:
    with pytest.raises(Wrong, match=named):
        state(asked(), "failed", **facts)


def test_a_history_that_is_taken_back_is_seen() -> None:
    with pytest.raises(Wrong, match="taken back"):
        told(asked(), "history.reset", from_seq=1)


def test_a_reply_that_was_cut_is_seen() -> None:
    with pytest.raises(Wrong, match="message 2 ended length"):
        told(asked(), "message.created", **message(2, "assistant", LOAD.answer(7, 1), "length"))


def test_what_a_failed_attempt_said_does_not_count() -> None:
    check = asked()
    part(check, 1, "c7t1:1 c7")
    state(check, "running", retry={"attempt": 1})
    told(check, "preview.reset", attempt=2)

    part(check, 1, LOAD.answer(7, 1))
    told(check, "message.created", **message(2, "assistant", LOAD.answer(7, 1)))

    assert state(check, "idle") is News.DONE
    assert check.retries == 1


def test_tool_calls_are_part_of_a_turn() -> None:
    check = asked(WITH_TOOLS)
    for seq, role in enumerate(("assistant", "tool", "assistant", "tool"), start=2):
        told(check, "message.created", **message(seq, role, ""))
    told(check, "message.created", **message(6, "assistant", WITH_TOOLS.answer(7, 1)))

    assert state(check, "idle") is News.DONE


def history() -> list[dict[str, Any]]:
    turns = (
        [("user", LOAD.prompt(7, n)), ("assistant", LOAD.answer(7, n))]
        for n in range(1, LOAD.turns + 1)
    )
    said = [each for turn in turns for each in turn]
    return [message(seq, role, text) for seq, (role, text) in enumerate(said, start=1)]


def test_a_history_as_it_should_be_is_right() -> None:
    check_history(LOAD, 7, history())


def test_a_history_with_one_message_less_more_or_elsewhere_is_wrong() -> None:
    right = history()

    for wrong in (right[:-1], [*right, right[-1]], [right[0], right[2], right[1], right[3]]):
        with pytest.raises(Wrong):
            check_history(LOAD, 7, wrong)


def test_the_history_of_another_chat_is_wrong() -> None:
    with pytest.raises(Wrong, match="of its history"):
        check_history(LOAD, 6, history())
