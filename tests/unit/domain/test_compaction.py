"""Facts of compaction: how long a prompt is, when a chat is compacted, and when that ends."""

from dataclasses import replace

import pytest

from holdfast.domain import commands as c
from holdfast.domain.chat import Chat, Facts, Status, Target
from holdfast.domain.compaction import (
    COMPACTIONS_MAX,
    TOKENS_MAX,
    Compaction,
    CompactionReason,
    prompt_tokens_after,
)
from holdfast.domain.decide import decide, decide_all
from holdfast.domain.errors import CompactionSpent, NothingToCompact
from holdfast.domain.events import state_json
from holdfast.domain.ids import Seq
from holdfast.domain.messages import MessageBody, Role
from tests.requirements import requirement
from tests.support.builders import (
    NOW,
    a_chat,
    asks,
    boundary,
    error,
    open_call,
    reply,
    results,
    system,
    user,
)

OVER = Compaction(
    reason=CompactionReason.THRESHOLD, used_tokens=800, limit_tokens=1_000, percent=70
)
OVERFLOW = Compaction(reason=CompactionReason.OVERFLOW)
RUNNING = a_chat(Status.RUNNING, owes_reply=True, compactable=True)


def counted(tokens: int, output: int = 0) -> MessageBody:
    return replace(reply(), usage={"input": tokens, "output": output})


def after(chat: Chat, *commands: c.Command) -> Chat:
    return decide_all(Facts(chat=chat), commands, NOW).chat


# How long the prompt is.


@pytest.mark.parametrize(
    ("before", "body", "tokens"),
    [
        (None, counted(100, 20), 120),
        (500, counted(100), 100),
        (None, reply("x" * 300), None),
        (500, reply("x" * 300), 600),
        (500, replace(reply("x" * 300), usage={"output": 7}), 600),
        (500, user("ø" * 300), 700),
        (500, results("c1"), 500),
        (None, user("x"), None),
        (500, boundary(), None),
        (TOKENS_MAX, user("xxx"), TOKENS_MAX),
        (None, counted(3 * TOKENS_MAX), TOKENS_MAX),
    ],
)
def test_size_is_counted_with_a_reply_and_estimated_after_it(
    before: int | None, body: MessageBody, tokens: int | None
) -> None:
    assert prompt_tokens_after(before, body) == tokens


def test_a_call_is_estimated_by_all_of_it() -> None:
    assert (prompt_tokens_after(100, asks("c1")) or 0) > 101


def test_a_promoted_message_counts_by_its_size_in_the_queue() -> None:
    chat = replace(RUNNING, owes_reply=False, prompt_tokens=100)
    waiting = after(chat, c.SendMessage(user("x" * 3_000)))
    promoted = after(waiting, c.FinishTurn())
    assert promoted.prompt_tokens is not None
    assert promoted.prompt_tokens > 1_000


def test_an_edit_makes_the_size_unknown_and_ends_what_was_decided() -> None:
    chat = replace(RUNNING, prompt_tokens=800, compaction_requested=True, compaction=OVER, steps=3)
    target = Target(seq=Seq(1), role=Role.USER, removed=False)
    edited = decide(Facts(chat=chat, target=target), c.EditMessage(Seq(1), user("other")), NOW).chat
    assert (edited.prompt_tokens, edited.compaction, edited.steps) == (None, None, 0)
    assert not edited.compaction_requested


def test_steps_are_replies_since_a_person_spoke_across_summaries() -> None:
    chat = after(RUNNING, c.CommitStep((reply(),)))
    chat = after(replace(chat, owes_reply=True), c.CommitStep((boundary(),)))
    chat = after(chat, c.CommitStep((reply(),)))
    assert chat.steps == 2
    assert after(chat, c.FinishTurn(), c.SendMessage(user())).steps == 0


# The decision.


@requirement("L15", "L16")
def test_a_decision_is_a_fact_until_its_summary() -> None:
    chat = after(RUNNING, c.NeedCompaction(OVER))
    assert (chat.compaction_requested, chat.compaction) == (True, OVER)
    assert state_json(chat)["compaction"] == {
        "reason": "threshold",
        "used_tokens": 800,
        "limit_tokens": 1_000,
        "threshold_tokens": 700,
    }
    done = after(chat, c.CommitStep((boundary(),)))
    assert done.compaction == replace(OVER, in_a_row=1)
    assert done.owes_reply, "a summary was taken for the reply"
    assert not done.compaction_requested
    assert "compaction" not in state_json(done)


def test_a_request_of_an_older_replica_is_told_without_numbers() -> None:
    chat = replace(RUNNING, compaction_requested=True)
    told = state_json(chat)["compaction"]
    assert told == {
        "reason": "requested",
        "used_tokens": None,
        "limit_tokens": None,
        "threshold_tokens": None,
    }


@requirement("L24")
def test_nothing_is_summarised_twice() -> None:
    chat = after(RUNNING, c.NeedCompaction(OVER), c.CommitStep((boundary(),)))
    with pytest.raises(NothingToCompact):
        after(chat, c.NeedCompaction(OVER))


@requirement("L24")
def test_one_summary_is_for_the_threshold_and_for_a_person() -> None:
    chat = after(RUNNING, c.NeedCompaction(OVER))
    both = after(chat, c.RequestCompaction("the names"))
    assert both.compaction == replace(OVER, keep="the names")
    assert not decide(Facts(chat=both), c.RequestCompaction(), NOW).changed
    assert not decide(Facts(chat=both), c.NeedCompaction(OVERFLOW), NOW).changed
    older = replace(RUNNING, compaction_requested=True)  # of a replica that stores no reason
    asked = after(older, c.RequestCompaction("the names")).compaction
    assert asked == Compaction(reason=CompactionReason.REQUESTED, keep="the names")


# What bounds it.


@requirement("L17")
def test_summaries_in_a_row_that_do_not_help_are_bounded() -> None:
    chat = RUNNING
    for number in range(COMPACTIONS_MAX):
        chat = after(chat, c.NeedCompaction(OVER), c.CommitStep((boundary(),)))
        assert chat.compaction is not None
        assert chat.compaction.in_a_row == number + 1
        chat = after(chat, c.CommitStep((replace(asks("c1"), usage={"input": 700}),)))
        chat = after(chat, c.CommitStep((results("c1"),)))
    with pytest.raises(CompactionSpent):
        after(chat, c.NeedCompaction(OVER))

    # A person may go on: by trying again, or by saying something.
    again = after(chat, c.Fail(error()), c.Retry())
    assert after(again, c.NeedCompaction(OVER)).compaction_requested
    spoken = after(chat, c.Fail(error()), c.SendMessage(user()))
    assert after(spoken, c.NeedCompaction(OVER)).compaction_requested


@requirement("L17")
@pytest.mark.parametrize("body", [counted(699), reply()])
def test_a_reply_to_a_short_prompt_begins_the_count_anew(body: MessageBody) -> None:
    chat = after(RUNNING, c.NeedCompaction(OVER), c.CommitStep((boundary(), body)))
    assert chat.compaction is None


def test_a_reply_after_an_overflow_shows_that_the_prompt_fits() -> None:
    chat = after(RUNNING, c.NeedCompaction(OVERFLOW), c.CommitStep((boundary(), counted(700))))
    assert chat.compaction is None


def test_a_reply_beside_a_request_ends_no_request() -> None:
    chat = after(RUNNING, c.RequestCompaction(), c.CommitStep((counted(1),)))
    assert chat.compaction_requested
    assert chat.compaction is not None


@requirement("L17")
def test_a_summary_that_is_dropped_counts_and_one_that_a_person_asked_for_does_not() -> None:
    dropped = after(RUNNING, c.NeedCompaction(OVER), c.DropCompaction())
    assert dropped.compaction == replace(OVER, in_a_row=1, dropped=True)
    assert not dropped.compaction_requested
    assert not decide(Facts(chat=dropped), c.DropCompaction(), NOW).changed
    asked = after(RUNNING, c.RequestCompaction(), c.CommitStep((boundary(),)))
    assert asked.compaction is not None
    assert asked.compaction.in_a_row == 0
    system_said = after(dropped, c.CommitStep((system(),)))
    assert system_said.compaction == dropped.compaction


def test_results_of_open_calls_go_before_a_summary() -> None:
    chat = replace(RUNNING, open_calls=(open_call("c1"),))
    waiting = after(chat, c.NeedCompaction(OVER))
    assert waiting.compaction_requested
    answered = after(waiting, c.CommitStep((results("c1"),)))
    assert answered.compaction_requested
