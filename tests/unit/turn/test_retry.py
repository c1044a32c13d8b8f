"""Whether to try again, and after how long."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.chat import ATTEMPTS_MAX, Backoff, ErrorKind, TurnError
from holdfast.turn.retry import RetryPolicy, StopReason, next_attempt

NOW = datetime(2026, 11, 14, 12, 0, tzinfo=UTC)
BUSY = TurnError(kind=ErrorKind.OVERLOADED, sentence="Busy.", retryable=True)
BROKEN = TurnError(kind=ErrorKind.CONFIG, sentence="Broken.", retryable=False)


@pytest.mark.requirement("L45")
@given(
    attempt=st.integers(1, ATTEMPTS_MAX - 1),
    chance=st.floats(0, 1, exclude_max=True),
    hint_s=st.none() | st.floats(0, 900),
)
def test_the_delay_is_our_own_or_the_hint_whichever_is_longer(
    attempt: int, chance: float, hint_s: float | None
) -> None:
    backoff = next_attempt(BUSY, attempt=attempt, now=NOW, chance=chance, hint_s=hint_s)

    assert isinstance(backoff, Backoff)
    own_s = min(2 ** (attempt - 1), 60)
    delay_s = backoff.delay_ms / 1000
    assert delay_s >= own_s / 2
    assert delay_s >= (hint_s or 0)
    assert delay_s <= max(own_s, hint_s or 0) + 0.001
    assert backoff.until - NOW == timedelta(milliseconds=backoff.delay_ms)


def test_chance_spreads_the_crowd() -> None:
    delays = [next_attempt(BUSY, attempt=3, now=NOW, chance=chance) for chance in (0.0, 0.5, 0.999)]

    assert [d.delay_ms for d in delays if isinstance(d, Backoff)] == [2000, 3000, 3998]


def test_attempts_are_bounded() -> None:
    last = next_attempt(BUSY, attempt=ATTEMPTS_MAX, now=NOW, chance=0.0)

    assert last is StopReason.ATTEMPTS_SPENT
    policy = RetryPolicy(attempts_max=2)
    assert (
        next_attempt(BUSY, attempt=2, now=NOW, chance=0, policy=policy) is StopReason.ATTEMPTS_SPENT
    )


def test_what_will_not_get_better_is_not_tried_again() -> None:
    assert next_attempt(BROKEN, attempt=1, now=NOW, chance=0.0) is StopReason.NOT_RETRYABLE
    assert (
        next_attempt(BUSY, attempt=1, now=NOW, chance=0.0, hint_s=3600) is StopReason.HINT_TOO_LONG
    )


@pytest.mark.requirement("L56")
@pytest.mark.parametrize("left_s", [-1, 0, 0.2, 0.5])
def test_our_own_deadline_is_not_retried(left_s: float) -> None:
    deadline = NOW + timedelta(seconds=left_s)

    assert (
        next_attempt(BUSY, attempt=1, now=NOW, chance=0, deadline=deadline)
        is StopReason.OWN_DEADLINE
    )


@pytest.mark.requirement("L56")
def test_a_provider_that_cancelled_is_asked_again_while_our_time_lasts() -> None:
    cancelled = TurnError(kind=ErrorKind.STREAM_CLOSED, sentence="Closed.", retryable=True)
    deadline = NOW + timedelta(minutes=5)

    backoff = next_attempt(cancelled, attempt=1, now=NOW, chance=0.0, deadline=deadline)

    assert isinstance(backoff, Backoff)
