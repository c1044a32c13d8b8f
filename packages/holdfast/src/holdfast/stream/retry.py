"""Backoff of the reads of a feed."""


class ReadBackoff:
    """When a read that failed may be tried again: after a pause that doubles with each failure."""

    __slots__ = ("_again_at", "_max_s", "_min_s", "_pause_s")

    def __init__(self, min_s: float, max_s: float) -> None:
        self._min_s = min_s
        self._max_s = max_s
        self._pause_s = 0.0
        self._again_at = 0.0

    def is_due(self, now_s: float) -> bool:
        return now_s >= self._again_at

    def succeed(self) -> None:
        self._pause_s = 0.0

    def fail(self, began_s: float) -> None:
        """The pause counts from when the failed read began."""
        self._pause_s = min(max(self._pause_s * 2, self._min_s), self._max_s)
        self._again_at = began_s + self._pause_s
