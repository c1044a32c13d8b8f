"""A stop pauses the queue: a person resumes it, clears it, or sends one of its messages."""

from dataclasses import replace

import pytest

from holdfast.domain import commands as c
from holdfast.domain.chat import Chat, Facts, Status
from holdfast.domain.decide import decide_all
from holdfast.domain.ids import QueuedId
from holdfast.domain.messages import Role
from holdfast.domain.outcome import Fate, Outcome
from tests.requirements import requirement
from tests.support.builders import NOW, a_chat, user


def outcome_of(chat: Chat, *commands: c.Command) -> Outcome:
    return decide_all(Facts(chat=chat), commands, NOW)


def after(chat: Chat, *commands: c.Command) -> Chat:
    return outcome_of(chat, *commands).chat


def waiting(chat: Chat) -> list[int]:
    return [queued.queued_id for queued in chat.queue]


def stopped(queue: int = 2) -> Chat:
    return after(a_chat(Status.RUNNING, queue=queue), c.Interrupt(), c.FinishInterrupt())


@requirement("L31")
def test_a_stop_ends_at_rest_and_keeps_the_queue_paused() -> None:
    chat = stopped()
    assert (chat.status, waiting(chat), chat.queue_paused) == (Status.IDLE, [1, 2], True)
    assert chat.worker_id is None


def test_a_stop_without_a_queue_pauses_nothing() -> None:
    chat = stopped(queue=0)
    assert (chat.status, chat.queue_paused) == (Status.IDLE, False)


def test_a_stop_takes_back_that_a_message_is_to_be_sent_now() -> None:
    running = a_chat(Status.RUNNING, queue=1)
    chat = after(running, c.SendMessage(user("now"), "interrupt"), c.Interrupt())
    assert (chat.status, chat.queue_paused) == (Status.INTERRUPTING, True)
    assert not any(queued.urgent for queued in chat.queue)
    assert after(chat, c.FinishInterrupt()).status is Status.IDLE


def test_a_stop_that_is_repeated_changes_nothing() -> None:
    chat = after(a_chat(Status.RUNNING, queue=1), c.Interrupt())
    assert not outcome_of(chat, c.Interrupt()).changed


def test_resume_at_rest_begins_with_the_first_message() -> None:
    outcome = outcome_of(stopped(), c.ResumeQueue())
    chat = outcome.chat
    assert (chat.status, waiting(chat), chat.queue_paused) == (Status.RUNNING, [2], False)
    assert [each.promoted for each in outcome.appended] == [1]
    assert outcome.answer.seq == chat.turn_seq


@pytest.mark.parametrize("status", [Status.RUNNING, Status.FAILED])
def test_resume_while_it_is_not_at_rest_lets_the_queue_go_on_later(status: Status) -> None:
    paused = replace(a_chat(status, queue=1), queue_paused=True)
    chat = after(paused, c.ResumeQueue())
    assert (chat.status, waiting(chat), chat.queue_paused) == (status, [1], False)


def test_resume_of_a_queue_that_is_not_paused_changes_nothing() -> None:
    assert not outcome_of(a_chat(Status.IDLE), c.ResumeQueue()).changed


def test_clear_takes_every_message_out() -> None:
    outcome = outcome_of(stopped(), c.ClearQueue())
    assert [(each.queued_id, each.fate) for each in outcome.left] == [
        (1, Fate.CLEARED),
        (2, Fate.CLEARED),
    ]
    assert (outcome.chat.queue_paused, outcome.chat.status) == (False, Status.IDLE)


def test_the_last_message_that_leaves_ends_the_pause() -> None:
    chat = after(stopped(), c.TakeQueued(QueuedId(2)))
    assert chat.queue_paused
    assert not after(chat, c.TakeQueued(QueuedId(1))).queue_paused


def test_send_now_of_a_paused_message_leaves_the_others_paused() -> None:
    chat = after(stopped(), c.PromoteQueued(QueuedId(2)))
    assert (chat.status, waiting(chat), chat.queue_paused) == (Status.RUNNING, [1], True)


def test_a_new_message_begins_and_the_paused_ones_still_wait_after_it() -> None:
    sent = outcome_of(stopped(), c.SendMessage(user("new")))
    assert [each.body.role for each in sent.appended] == [Role.USER]
    chat = replace(sent.chat, owes_reply=False)
    ended = after(chat, c.FinishTurn())
    assert (ended.status, waiting(ended)) == (Status.IDLE, [1, 2])


def test_a_message_that_is_sent_while_the_stop_is_under_way_begins_after_it() -> None:
    chat = after(a_chat(Status.RUNNING, queue=1), c.Interrupt(), c.SendMessage(user("new")))
    ended = outcome_of(chat, c.FinishInterrupt())
    assert [each.promoted for each in ended.appended] == [2]
    assert (ended.chat.status, waiting(ended.chat)) == (Status.RUNNING, [1])


def test_a_message_after_a_failure_goes_before_a_paused_queue() -> None:
    paused = replace(a_chat(Status.FAILED, queue=1), queue_paused=True)
    outcome = outcome_of(paused, c.SendMessage(user("new")))
    assert [each.promoted for each in outcome.appended] == [None]
    assert waiting(outcome.chat) == [1]


def test_a_message_that_waits_alone_is_not_paused() -> None:
    """An older version may have emptied a paused queue without a word about it."""
    stale = replace(a_chat(Status.RUNNING), queue_paused=True)
    assert not after(stale, c.SendMessage(user("later"))).queue_paused
