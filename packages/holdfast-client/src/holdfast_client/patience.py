"""How long to go on, and how long to pause before the next try. Pure but for the clock."""

import secrets
import time
from typing import Final

PAUSE_MIN_S: Final = 0.1
PAUSE_MAX_S: Final = 5.0
_FINE: Final = 1_000_000


class Patience:
    """Tries until `timeout_s` is over; None: for ever."""

    def __init__(self, timeout_s: float | None) -> None:
        self._deadline = None if timeout_s is None else time.monotonic() + timeout_s
        self._failures = 0

    @property
    def left_s(self) -> float | None:
        """Never negative; None: there is no end."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    @property
    def is_over(self) -> bool:
        return self.left_s == 0.0

    def within(self, seconds: float) -> float:
        left_s = self.left_s
        return seconds if left_s is None else min(seconds, left_s)

    def progressed(self) -> None:
        self._failures = 0

    def pause_s(self, at_least_s: float | None = None) -> float | None:
        """How long to wait after a failure; None if there is no time for another try.

        Longer with every failure in a row, with jitter: clients that were cut off together must not
        reconnect together.
        """
        most = min(PAUSE_MAX_S, PAUSE_MIN_S * 2 ** min(self._failures, 16))
        self._failures += 1
        pause = (at_least_s or 0.0) + most * secrets.randbelow(_FINE) / _FINE
        left_s = self.left_s
        return None if left_s is not None and pause >= left_s else pause
