"""Which model an attempt asks: the chat's own, or one of those that answer in its place.

The choice follows from the number of the attempt, which the database counts: a worker that takes
over in the middle of a step goes on where the lost one was, and all models share one budget. What
only the worker knows that saw a failure (the provider's hint, the breaker) can move it forward; a
recorded retry says so, and a crash forgets it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from holdfast.domain.chat import ErrorKind
from holdfast.ports.models import ModelFailed

FAILURES_MAX: Final = 3
"""Attempts at one step that a model gets, as long as there is another one."""
HINT_S_MAX: Final = 60.0
"""A provider that asks to wait longer is not waited for."""

PASSES_ON: Final = frozenset(
    {
        ErrorKind.OVERLOADED,
        ErrorKind.RATE_LIMIT,
        ErrorKind.TIMEOUT,
        ErrorKind.STREAM_CLOSED,
        ErrorKind.UNAVAILABLE,
    }
)
"""Failures of the provider. Of the others the request or the settings are the cause: another model
would hide it."""


def is_outage(failed: ModelFailed) -> bool:
    """Whether an attempt says that its endpoint is down, and not our own deadline, nor the limit of
    a user's own key."""
    if failed.own_key and failed.kind is ErrorKind.RATE_LIMIT:
        return False
    return failed.kind in PASSES_ON and not failed.own_deadline


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """`model`: None is the server's default."""

    model: str | None
    endpoint: str


@dataclass(frozen=True, slots=True)
class ModelChain:
    """The models of one step, the chat's own first; never empty."""

    choices: tuple[ModelChoice, ...]
    on_usage_limit: bool = False

    @property
    def last(self) -> int:
        return len(self.choices) - 1

    def place(self, model: str | None) -> int | None:
        """None: no longer among them."""
        return next((n for n, each in enumerate(self.choices) if each.model == model), None)

    def at_attempt(self, number: int) -> int:
        """Whose turn attempt `number` (from 1) of a step is, if nothing else is known."""
        return min(max(number - 1, 0) // FAILURES_MAX, self.last)

    def passing(self, place: int, admits: Callable[[str], bool]) -> int:
        """The first from `place` on whose endpoint is not failing; `place` if all of them are."""
        for number in range(place, len(self.choices)):
            if admits(self.choices[number].endpoint):
                return number
        return place

    def after(
        self, place: int, failed: ModelFailed, attempt: int, admits: Callable[[str], bool]
    ) -> int:
        """Whose turn it is after attempt number `attempt` failed at `place`."""
        if place == self.last or failed.own_deadline or not self._passes_on(failed.kind):
            return place
        hint_s = failed.retry_after_s
        at_once = not failed.retryable or (hint_s is not None and hint_s > HINT_S_MAX)
        following = max(self.at_attempt(attempt + 1), place + 1 if at_once else place)
        return self.passing(following, admits)

    def _passes_on(self, kind: ErrorKind) -> bool:
        return kind in PASSES_ON or (kind is ErrorKind.USAGE_LIMIT and self.on_usage_limit)
