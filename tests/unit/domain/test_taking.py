"""Which commits may acquire the chat that they make runnable."""

from typing import Any

import pytest

from holdfast.domain.chat import Facts, Status
from holdfast.domain.commands import Archive, Command, Interrupt, Retry, SendMessage
from holdfast.domain.decide import decide
from holdfast.domain.driving import may_be_taken, taken_by
from tests.support.builders import NOW, WORKER, a_chat, backoff, error, user

SEND = SendMessage(user())


@pytest.mark.parametrize(
    ("status", "more", "command"),
    [
        (Status.IDLE, {}, SEND),
        (Status.FAILED, {"error": error()}, SEND),
        (Status.FAILED, {"error": error(), "owes_reply": True, "last_seq": 1}, Retry()),
    ],
)
def test_what_was_at_rest_may_be_taken(
    status: Status, more: dict[str, Any], command: Command
) -> None:
    outcome = decide(Facts(chat=a_chat(status, **more)), command, NOW)
    assert may_be_taken(outcome)
    taken = taken_by(outcome, WORKER)
    assert taken.taker == WORKER
    assert taken.chat.version == outcome.chat.version
    assert taken.chat.epoch == outcome.chat.epoch + 1
    assert taken.chat.attempt == outcome.chat.attempt + 1


@pytest.mark.parametrize(
    ("status", "more", "command"),
    [
        (Status.RUNNING, {"owes_reply": True}, SEND),
        (Status.RUNNING, {"owes_reply": True, "backoff": backoff()}, SEND),
        (Status.RUNNING, {"owes_reply": True, "worker_id": WORKER}, SEND),
        (Status.RUNNING, {"owes_reply": True}, Interrupt()),
        (Status.IDLE, {}, Archive()),
    ],
)
def test_what_somebody_may_be_driving_is_not_taken(
    status: Status, more: dict[str, Any], command: Command
) -> None:
    outcome = decide(Facts(chat=a_chat(status, **more)), command, NOW)
    assert not may_be_taken(outcome)
    assert outcome.taker is None
    with pytest.raises(AssertionError, match="driving"):
        taken_by(outcome, WORKER)
