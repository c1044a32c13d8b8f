"""What a worker does next, from committed facts alone."""

from typing import Any

import pytest

from holdfast.domain.chat import Chat, Status
from holdfast.domain.next_step import (
    AwaitOutside,
    Compact,
    Finish,
    Generate,
    KeepPartial,
    RunTools,
    Step,
    next_step,
)
from holdfast.domain.parts import Need
from tests.support.builders import a_chat, open_call

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
