"""Whether to try a step again, and after how long. Pure: chance and time come in as arguments.

The delay is our own backoff or the provider's hint, whichever is longer (L45); it is given in the
whole milliseconds that readers are shown and that are slept (L46).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil
from typing import TypeAlias

from holdfast.domain.chat import ATTEMPTS_MAX, Backoff, TurnError


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    attempts_max: int = ATTEMPTS_MAX
    first_delay_s: float = 1.0
    delay_s_max: float = 60.0
    hint_s_max: float = 15 * 60.0  # a provider that asks for more is down, not busy

    def __post_init__(self) -> None:
        assert self.attempts_max > 0
        assert 0 < self.first_delay_s <= self.delay_s_max


class StopReason(StrEnum):
    """Why there is no further attempt."""

    NOT_RETRYABLE = "not_retryable"
    OWN_DEADLINE = "own_deadline"  # our own time is up: another attempt has none either (L56)
    ATTEMPTS_SPENT = "attempts_spent"
    HINT_TOO_LONG = "hint_too_long"


Decision: TypeAlias = Backoff | StopReason


def next_attempt(
    error: TurnError,
    *,
    attempt: int,
    now: datetime,
    chance: float,
    hint_s: float | None = None,
    deadline: datetime | None = None,
    switches: bool = False,
    policy: RetryPolicy = RetryPolicy(),  # noqa: B008 - frozen
) -> Decision:
    """What follows attempt number `attempt` (from 1). `chance` is uniform in [0, 1).

    `switches`: another model is asked next. It does not know the hint, and is not what failed: it
    is asked after the first delay, which only keeps a crowd from coming all at once.
    """
    assert 0.0 <= chance < 1.0
    assert attempt >= 1
    if deadline is not None and now >= deadline:
        return StopReason.OWN_DEADLINE
    if not error.retryable and not switches:
        return StopReason.NOT_RETRYABLE
    if attempt >= policy.attempts_max:
        return StopReason.ATTEMPTS_SPENT
    hint_s = None if switches else hint_s
    if hint_s is not None and hint_s > policy.hint_s_max:
        return StopReason.HINT_TOO_LONG
    delay_s = _own_delay_s(1 if switches else attempt, chance, policy)
    delay_ms = ceil(1000 * max(delay_s, hint_s or 0.0))
    until = now + timedelta(milliseconds=delay_ms)
    if deadline is not None and until >= deadline:
        return StopReason.OWN_DEADLINE
    return Backoff(error=error, delay_ms=delay_ms, until=until)


def _own_delay_s(attempt: int, chance: float, policy: RetryPolicy) -> float:
    # Equal jitter: half is certain, so that a crowd neither hammers nor comes back all at once.
    doublings = min(attempt - 1, 30)  # beyond that every delay is at the maximum anyway
    whole = min(policy.first_delay_s * 2**doublings, policy.delay_s_max)
    return whole / 2 + whole / 2 * chance
