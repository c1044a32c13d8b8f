"""Which turn and attempt a message belongs to, and commands that name a turn."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.domain import commands as c
from holdfast.domain.chat import Chat, Facts, Origin, Past, Status, Target
from holdfast.domain.decide import decide_all
from holdfast.domain.errors import TurnChanged
from holdfast.domain.ids import CallId, ChatId, QueuedId, Seq, Version, uuid7
from holdfast.domain.messages import Ending, Role
from holdfast.domain.outcome import Outcome
from holdfast.domain.parts import Need
from tests.support.builders import (
    NOW,
    ORG,
    OWNER,
    a_chat,
    asks,
    backoff,
    boundary,
    digest_for,
    error,
    open_call,
    reply,
    result,
    results,
    system,
    user,
)

NEW = Chat(chat_id=ChatId(uuid7(2, 2)), org_id=ORG, owner_id=OWNER)


def outcome_of(chat: Chat, *commands: c.Command, **facts: Any) -> Outcome:
    return decide_all(Facts(chat=chat, **facts), commands, NOW)


def turns(outcome: Outcome) -> list[tuple[Role, int, int | None, int | None]]:
    return [(a.body.role, a.seq, a.turn_seq, a.attempt) for a in outcome.appended]


# Messages.


def test_a_user_message_names_its_own_turn() -> None:
    outcome = outcome_of(a_chat(), c.SendMessage(user()))
    assert turns(outcome) == [(Role.USER, 3, 3, None)]
    assert outcome.chat.turn_seq == 3
    assert (outcome.answer.turn_seq, outcome.answer.seq) == (3, 3)


def test_a_reply_names_the_turn_and_the_attempt_that_made_it() -> None:
    chat = replace(a_chat(Status.RUNNING), attempt=4)
    outcome = outcome_of(chat, c.CommitStep((asks("c1"),)), c.BeginAttempt())
    assert turns(outcome) == [(Role.ASSISTANT, 3, 1, 4)]
    ran = outcome_of(outcome.chat, c.CommitStep((results("c1"),)))
    assert turns(ran) == [(Role.TOOL, 4, 1, 1)], "the results are another step"


def test_all_messages_of_a_bundle_are_of_its_attempt() -> None:
    chat = replace(a_chat(Status.RUNNING), attempt=4)
    cut = outcome_of(chat, c.CommitStep((asks("c1", ending=Ending.CUT),)), c.Fail(error()))
    assert turns(cut) == [(Role.ASSISTANT, 3, 1, 4), (Role.TOOL, 4, 1, 4)]
    waiting = (open_call("c1"), open_call("c2"))
    stopped = replace(a_chat(Status.INTERRUPTING, open_calls=waiting), attempt=2)
    ended = outcome_of(stopped, c.CommitStep((results("c1"),)), c.FinishInterrupt())
    assert turns(ended) == [(Role.TOOL, 3, 1, 2), (Role.TOOL, 4, 1, 2)]


def test_an_attempt_that_begins_in_the_bundle_makes_what_follows() -> None:
    outcome = outcome_of(a_chat(Status.RUNNING), c.BeginAttempt(), c.CommitStep((reply(),)))
    assert turns(outcome) == [(Role.ASSISTANT, 3, 1, 2)]


@pytest.mark.parametrize(
    ("status", "keeps"),
    [(Status.RUNNING, c.CommitStep), (Status.INTERRUPTING, c.FinishInterrupt)],
)
def test_words_of_a_lost_worker_keep_the_attempt_that_readers_saw(
    status: Status, keeps: Any
) -> None:
    chat = replace(a_chat(status), attempt=3)
    body = reply(ending=Ending.CUT)
    assert turns(outcome_of(chat, keeps((body,), attempt=2))) == [(Role.ASSISTANT, 3, 1, 2)]
    with pytest.raises(AssertionError, match="to come"):
        outcome_of(chat, keeps((body,), attempt=4))


def test_an_interrupt_of_a_chat_that_no_worker_tried_has_no_attempt() -> None:
    chat = replace(a_chat(Status.INTERRUPTING, open_calls=(open_call("c1"),)), attempt=0)
    assert turns(outcome_of(chat, c.FinishInterrupt())) == [(Role.TOOL, 3, 1, None)]


def test_a_summary_is_of_the_turn_before_it_and_of_no_attempt() -> None:
    chat = outcome_of(a_chat(), c.RequestCompaction()).chat
    outcome = outcome_of(replace(chat, attempt=1), c.CommitStep((boundary(), system())))
    assert turns(outcome) == [(Role.BOUNDARY, 3, 1, None), (Role.SYSTEM, 4, 1, None)]


def test_what_closes_the_calls_of_a_turn_is_of_that_turn() -> None:
    outcome = outcome_of(a_chat(Status.AWAITING), c.SendMessage(user(), "interrupt"))
    assert turns(outcome) == [(Role.TOOL, 3, 1, None), (Role.USER, 4, 4, None)]


def test_results_from_outside_are_of_no_attempt() -> None:
    chat = replace(a_chat(Status.AWAITING), attempt=1)
    outcome = outcome_of(chat, c.SubmitResults((result("c1"),)))
    assert turns(outcome) == [(Role.TOOL, 3, 1, None)]
    assert outcome.answer.turn_seq == 1


def test_a_history_that_is_brought_along_has_its_turns() -> None:
    brought = (system(), user("one"), reply("uno"), user("two"))
    outcome = outcome_of(NEW, c.Create(brought))
    assert [a.turn_seq for a in outcome.appended] == [None, 2, 2, 4]
    assert outcome.chat.turn_seq == 4
    assert (outcome.answer.turn_seq, outcome.answer.seq) == (4, 4)
    empty = outcome_of(NEW, c.Create())
    assert (empty.chat.turn_seq, empty.answer.turn_seq, empty.answer.seq) == (None, None, None)


# The queue.


def test_a_queued_message_has_no_turn_yet() -> None:
    outcome = outcome_of(a_chat(Status.RUNNING), c.SendMessage(user()))
    assert (outcome.answer.turn_seq, outcome.answer.queued_id) == (None, 1)
    failed = outcome_of(a_chat(Status.FAILED, queue=1), c.SendMessage(user()))
    assert failed.chat.turn_seq == 3, "what waited began a turn"
    assert (failed.answer.turn_seq, failed.answer.seq, failed.answer.queued_id) == (None, None, 2)


def test_a_promoted_message_begins_the_next_turn_under_its_own_key() -> None:
    sent = replace(user("later"), client_key="k")
    chat = outcome_of(a_chat(Status.RUNNING), c.SendMessage(sent)).chat
    assert chat.queue[0].head.client_key == "k"
    outcome = outcome_of(chat, c.CommitStep((reply(),)), c.FinishTurn())
    assert turns(outcome) == [(Role.ASSISTANT, 3, 1, 1), (Role.USER, 4, 4, None)]
    promoted = outcome.appended[-1]
    assert (promoted.promoted, promoted.body.client_key) == (1, "k")
    assert outcome.chat.turn_seq == 4


# Edits, restores and forks.


def test_an_edit_begins_a_turn_of_its_own() -> None:
    target = Target(seq=Seq(1), role=Role.USER, removed=False)
    outcome = outcome_of(a_chat(), c.EditMessage(Seq(1), user()), target=target)
    assert (outcome.chat.turn_seq, outcome.answer.turn_seq) == (3, 3)


@pytest.mark.parametrize(
    ("turn_seq", "turn_copied", "expected"),
    [(1, 0, 1), (3, 2, 12), (None, 0, None)],
    ids=["shared", "copied", "none"],
)
def test_a_restore_names_the_last_turn_of_what_it_restores(
    turn_seq: int | None, turn_copied: int, expected: int | None
) -> None:
    chat = a_chat(last_seq=Seq(10), turn_seq=Seq(8))
    past = Past(
        version=Version(3),
        shared_seq=Seq(1),
        copied=3,
        hidden=4,
        tail=(asks("c1"),),
        turn_seq=None if turn_seq is None else Seq(turn_seq),
        turn_copied=turn_copied,
    )
    outcome = outcome_of(chat, c.Restore(Version(3)), past=past)
    assert outcome.chat.turn_seq == expected
    assert [a.turn_seq for a in outcome.appended] == [expected], "what closes its calls"


def test_a_fork_names_the_last_turn_that_it_takes() -> None:
    origin = Origin(
        chat=a_chat(),
        version=Version(7),
        last_seq=Seq(9),
        messages=4,
        reply_seq=Seq(9),
        before_reply=3,
        tail=(reply(),),
        turn_seq=Seq(3),
    )
    forked = outcome_of(NEW, c.Fork(), origin=origin)
    assert (forked.chat.turn_seq, forked.answer.turn_seq) == (3, None)


# Commands that name a turn.


@pytest.mark.parametrize("status", [Status.RUNNING, Status.INTERRUPTING, Status.AWAITING])
def test_an_interrupt_stops_the_turn_that_it_names_and_no_other(status: Status) -> None:
    chat = a_chat(status)
    for turn_seq in (None, Seq(1)):
        assert outcome_of(chat, c.Interrupt(turn_seq)).answer.turn_seq == 1
    with pytest.raises(TurnChanged) as refused:
        outcome_of(chat, c.Interrupt(Seq(2)))
    assert refused.value.command == "Interrupt"


@pytest.mark.parametrize("chat", [a_chat(Status.FAILED), a_chat(Status.RUNNING, backoff=backoff())])
def test_a_retry_is_of_the_turn_that_it_names_and_no_other(chat: Chat) -> None:
    for turn_seq in (None, Seq(1)):
        assert outcome_of(chat, c.Retry(None, turn_seq)).answer.turn_seq == 1
    with pytest.raises(TurnChanged):
        outcome_of(chat, c.Retry(None, Seq(2)))


def test_a_stop_that_comes_after_its_turn_does_not_stop_the_next_one() -> None:
    chat = a_chat(Status.RUNNING, queue=1)
    shown = chat.turn_seq
    chat = outcome_of(chat, c.CommitStep((reply(),)), c.FinishTurn()).chat
    assert (chat.status, chat.turn_seq) == (Status.RUNNING, 4)
    with pytest.raises(TurnChanged):
        outcome_of(chat, c.Interrupt(shown))


def test_a_stop_that_pauses_the_queue_answers_with_the_turn_that_it_stopped() -> None:
    outcome = outcome_of(a_chat(Status.AWAITING, queue=1), c.Interrupt(Seq(1)))
    assert (outcome.chat.turn_seq, outcome.chat.status) == (1, Status.IDLE)
    answer = outcome.answer
    assert (answer.turn_seq, answer.seq, answer.queued_id) == (1, None, None)


def test_a_decision_answers_with_the_turn_that_goes_on() -> None:
    waiting = a_chat(Status.RUNNING, open_calls=(open_call("c1", Need.APPROVAL),))
    chat = outcome_of(waiting, c.Await(Need.APPROVAL, (CallId("c1"),))).chat
    decided = outcome_of(chat, c.Decide(CallId("c1"), "approve", digest_for("c1")))
    assert decided.answer.turn_seq == 1


def test_what_leaves_the_queue_is_about_no_turn() -> None:
    answer = outcome_of(a_chat(Status.RUNNING, queue=1), c.TakeQueued(QueuedId(1))).answer
    assert (answer.turn_seq, answer.queued_id) == (None, 1)
