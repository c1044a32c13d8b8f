"""A retry that a reader was not told of is right only if its cursors show that it was skipped."""

from collections.abc import Iterable
from typing import Any

import pytest

from holdfast.domain.chat import ErrorKind
from holdfast.domain.events import EventType
from holdfast.domain.ids import Version
from holdfast.stream.cursor import Cursor
from holdfast_lab.chaos.faults.models.documented import Documented
from holdfast_lab.chaos.faults.models.problems import order_problems, retry_problems
from holdfast_lab.chaos.faults.models.skips import skipped_retries
from holdfast_lab.chaos.faults.models.turns import Account, Told
from holdfast_simulator.faults import Fault
from tests.support.fault_turns import wait_problems

ERROR = {
    "type": ErrorKind.OVERLOADED,
    "status_code": 500,
    "retryable": True,
    "provider": "simulator-chat",
    "message": "The provider failed.",
}


def event(kind: EventType, version: int, **data: Any) -> Told:
    return Told(kind, data, float(version), Cursor(Version(version), 0, 0))


def status(version: int, attempt: int, now: str = "running") -> Told:
    return state(version, attempt, status=now)


def state(version: int, attempt: int, **facts: Any) -> Told:
    nothing = {"status": "running", "retry": None, "error": None}
    return event(EventType.CHAT_STATE, version, attempt=attempt, **{**nothing, **facts})


def retry(version: int, attempt: int, delay_ms: int = 400) -> list[Told]:
    wait = {"attempt": attempt, "delay_ms": delay_ms, "error": ERROR}
    return [state(version, attempt, retry=wait)]


def part(version: int, attempt: int, seq: int = 1) -> Told:
    return event(EventType.PREVIEW_DELTA, version, attempt=attempt, index=seq)


def reset(version: int, attempt: int) -> Told:
    return event(EventType.PREVIEW_RESET, version, attempt=attempt)


def reply(version: int) -> Told:
    return event(EventType.MESSAGE_CREATED, version, role="assistant")


def failure(version: int, attempt: int = 3) -> list[Told]:
    return [state(version, attempt, status="failed", error=ERROR)]


BEGUN = [
    status(1, 0, "idle"),
    event(EventType.MESSAGE_CREATED, 2, role="user"),
    status(2, 0),
    status(3, 1),
]
"""Before the first retry, which version 4 records; version 5 begins the second attempt."""


def turn(*events: Told | Iterable[Told], always: bool = False, hint_s: float = 0.0) -> Account:
    row = Documented(
        fault=Fault.ERROR_SERVER,
        wire="chat",
        kind=ErrorKind.OVERLOADED,
        status_code=500,
        retryable=True,
        hint_s=hint_s,
        kept="nothing",
    )
    account = Account(row, always=always)
    for each in (BEGUN, *events):
        account.told += [each] if isinstance(each, Told) else each
    return account


SKIPPED = {
    "next attempt": (turn(status(5, 2)), {1}),
    "reply": (turn(reply(6)), {1}),
    "reply of which the cursor of the status tells": (turn(reply(6), status(8, 0, "idle")), {1}),
    "first of two retries": (turn(status(5, 2), retry(6, 2), status(7, 3), always=True), {1}),
    "second of two retries": (turn(retry(4, 1), status(5, 2), status(7, 3), always=True), {2}),
    "all at once, up to the last attempt": (turn(status(7, 3), always=True), {1, 2}),
    "up to the second wait": (turn(retry(6, 2), status(7, 3), always=True), {1}),
    "up to the failure": (turn(failure(8), always=True), {1, 2}),
    "from the first wait to the failure": (turn(retry(4, 1), failure(8), always=True), {2}),
}

NOT_SKIPPED = {
    "nothing is missing": turn(retry(4, 1), status(5, 2), reply(6)),
    "version of the retry was told": turn(status(4, 1), status(5, 2), reply(6)),
    "part at the version of the retry": turn(part(4, 1), status(5, 2), reply(6)),
    "retry has no version": turn(status(4, 2), reply(5)),
    "no version between attempt and reply": turn(reply(4)),
    "too few versions up to the reply": turn(reply(5)),
    "too many versions up to the reply": turn(reply(7)),
    "too few versions up to the failure": turn(failure(7), always=True),
    "too many versions up to the failure": turn(failure(9), always=True),
    "turn is not over": turn(),
}


@pytest.mark.parametrize("name", SKIPPED)
def test_retry_between_two_versions_is_skipped(name: str) -> None:
    account, skipped = SKIPPED[name]

    assert skipped_retries(account.told, 2 if account.always else 1) == skipped
    assert list(retry_problems(account)) == []


@pytest.mark.parametrize("name", NOT_SKIPPED)
def test_retry_without_versions_to_skip_is_not_skipped(name: str) -> None:
    account = NOT_SKIPPED[name]

    assert skipped_retries(account.told, 2 if account.always else 1) == set()
    assert (list(retry_problems(account)) == []) == (name == "nothing is missing")


def test_skips_after_the_first_reply_are_not_skips_of_its_retries() -> None:
    account = turn(status(4, 1), status(5, 2), reply(6), status(7, 1), status(9, 2))

    assert skipped_retries(account.told, 1) == set()


def test_event_without_a_cursor_shows_no_version() -> None:
    unplaced = Told(EventType.MESSAGE_CREATED, {"role": "assistant"}, 0.0)

    assert skipped_retries(turn(unplaced).told, 1) == set()
    assert skipped_retries(turn(unplaced, status(5, 2)).told, 1) == {1}


@pytest.mark.parametrize(
    "wrong",
    [
        turn(retry(4, 1), retry(4, 1), status(5, 2), reply(6)),
        turn(retry(4, 2), status(5, 2), reply(6)),
        turn(retry(4, 1), status(5, 2), retry(6, 2), status(7, 3), reply(8)),
        turn(retry(6, 2), retry(4, 1), status(7, 3), failure(8), always=True),
    ],
)
def test_doubled_wrong_and_undocumented_retries_are_problems(wrong: Account) -> None:
    assert list(retry_problems(wrong))


def test_parts_stay_after_a_skipped_retry_until_the_next_attempt_takes_them_back() -> None:
    begun, rest = part(3, 1), [reset(5, 2), part(5, 2), reply(6)]

    assert list(order_problems(turn(begun, status(5, 2), rest))) == []
    assert list(order_problems(turn(begun, status(5, 2), part(5, 2), reply(6))))
    assert list(order_problems(turn(begun, retry(4, 1), status(5, 2), rest)))
    assert list(order_problems(turn(begun, status(4, 1), status(5, 2), rest)))


def waited(*events: Told | Iterable[Told]) -> Account:
    """Two waits of 0.4 s, at 4 s and 6 s."""
    account = turn(*events, failure(8), always=True)
    account.waits_s, account.attempts_s = [4.0, 6.0], [3.0, 4.4, 6.4]
    return account


def test_wait_is_compared_with_the_retry_of_its_attempt() -> None:
    assert list(wait_problems(waited(retry(4, 1), status(5, 2), retry(6, 2)))) == []
    assert list(wait_problems(waited(retry(6, 2)))) == []
    assert list(wait_problems(waited())) == []
    late = waited(retry(6, 2))
    late.attempts_s[2] = 6.3
    assert list(wait_problems(late))


def test_wait_that_was_not_published_is_a_problem_even_if_its_retry_was_skipped() -> None:
    account = waited(retry(6, 2))
    account.waits_s = [6.0]

    assert list(wait_problems(account))


@pytest.mark.parametrize("came_after", [0, 1, 2])
def test_readers_that_came_during_a_wait_are_told_of_it(came_after: int) -> None:
    wait = retry(4, 1, delay_ms=2000)
    account = turn(wait, status(5, 2), reply(6), hint_s=2.0)
    account.waits_s, account.attempts_s = [4.0], [3.0, 6.0]
    account.came_after = came_after

    for told in range(4):
        account.latecomers = [wait[-1].data["retry"]] * told
        assert (list(wait_problems(account)) == []) == (told == 2 - came_after)
    account.latecomers = [{}] * (2 - came_after)
    assert (list(wait_problems(account)) == []) == (came_after == 2)
