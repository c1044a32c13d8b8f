"""What a worker does next, from committed facts alone."""

from typing import Any

import pytest

from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import Await, FinishInterrupt, FinishTurn, FromWorker
from holdfast.domain.next_step import (
    AwaitOutside,
    Compact,
    Finish,
    Generate,
    KeepPartial,
    RunTools,
    Step,
    next_step,
    riding_command,
)
from holdfast.domain.parts import Need
from tests.support.builders import NOW, a_chat, open_call

PLAIN = open_call("plain")
APPROVE = open_call("approve", Need.APPROVAL)
LOGIN = open_call("login", Need.LOGIN)
CLIENT = open_call("client", Need.RESULT)
PERSON = open_call("person", Need.ANSWER)


def running(**facts: Any) -> Chat:
    return a_chat(Status.RUNNING, **facts)


@pytest.mark.parametrize(
    ("chat", "step"),
    [
        (running(), Generate()),
        (running(owes_reply=False), Finish()),
        (running(owes_reply=False, compaction_requested=True), Compact()),
        (running(compaction_requested=True), Compact()),
        (running(open_calls=(PLAIN,), compaction_requested=True), RunTools((PLAIN,))),
        (running(open_calls=(PLAIN, APPROVE, LOGIN)), AwaitOutside(Need.APPROVAL, (APPROVE,))),
        (running(open_calls=(PLAIN, LOGIN, CLIENT)), AwaitOutside(Need.LOGIN, (LOGIN,))),
        (running(open_calls=(CLIENT, PLAIN)), RunTools((PLAIN,))),
        (running(open_calls=(PERSON, CLIENT)), AwaitOutside(Need.ANSWER, (PERSON,))),
        (a_chat(Status.INTERRUPTING), KeepPartial()),
        (a_chat(Status.INTERRUPTING, open_calls=(PLAIN,)), KeepPartial()),
    ],
)
def test_the_next_step_follows_from_the_facts(chat: Chat, step: Step) -> None:
    assert next_step(chat) == step


@pytest.mark.parametrize("status", [Status.IDLE, Status.AWAITING, Status.FAILED])
def test_nobody_drives_a_chat_at_rest(status: Status) -> None:
    with pytest.raises(AssertionError, match="nothing to do"):
        next_step(a_chat(status))


@pytest.mark.parametrize(
    ("step", "command"),
    [
        (Finish(), FinishTurn()),
        (KeepPartial(), FinishInterrupt()),
        (AwaitOutside(Need.LOGIN, (LOGIN,)), Await(Need.LOGIN, (LOGIN.call_id,), NOW)),
        (AwaitOutside(Need.ANSWER, (PERSON,)), Await(Need.ANSWER, (PERSON.call_id,), None)),
        (Generate(), None),
        (RunTools((PLAIN,)), None),
        (Compact(), None),
    ],
)
def test_command_of_a_step_without_work_rides_along(step: Step, command: FromWorker | None) -> None:
    assert riding_command(step, {Need.LOGIN: NOW}.get) == command


@pytest.mark.parametrize(
    ("step", "begins_attempt", "is_let_go"),
    [
        (Generate(), True, True),
        (Compact(), True, True),
        (RunTools((PLAIN,)), True, False),
        (AwaitOutside(Need.LOGIN, (LOGIN,)), False, False),
        (Finish(), False, False),
        (KeepPartial(), False, False),
    ],
)
def test_step_says_whether_it_spends_an_attempt_and_is_left_to_the_next_worker(
    step: Step, begins_attempt: bool, is_let_go: bool
) -> None:
    assert (step.begins_attempt, step.is_let_go) == (begins_attempt, is_let_go)
