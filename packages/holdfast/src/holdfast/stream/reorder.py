"""Reorder buffer: news of a chat that arrived before the news that it follows.

The process that takes a message and the process that drives the chat publish their hints
independently, so a hint may overtake the hint before it. The buffer holds what is ahead for a short
time. If the missing news does not arrive in that time, the feed reads the store.
"""

from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, Final

from holdfast.ports.bus import Hint, LivePart
from holdfast.stream.sources import Later

if TYPE_CHECKING:
    from asyncio import TimerHandle

EARLY_MAX: Final = 64
"""News that one feed holds; with more, the feed reads the store."""


class ReorderBuffer:
    __slots__ = ("_grace_s", "_later", "_news", "_timer")

    def __init__(self, later: Later, grace_s: float) -> None:
        self._later = later
        self._grace_s = grace_s
        self._news: list[Hint | LivePart] = []
        self._timer: TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._news)

    def keep(self, news: Hint | LivePart, overdue: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Hold this until the news before it arrives. False: the buffer is full.

        `overdue` runs when the oldest news has waited for the grace period.
        """
        if len(self._news) >= EARLY_MAX:
            return False
        self._news.append(news)
        if self._timer is None:
            self._timer = self._later(self._grace_s, overdue)
        return True

    def ready(self, is_ahead: Callable[[Hint | LivePart], bool]) -> Iterator[Hint | LivePart]:
        """Remove and yield what is no longer ahead, in the order of arrival. Each item is checked
        when the items before it have been handled."""
        if not self._news or is_ahead(self._news[0]):
            return
        news, self._news = self._news, []
        for each in news:
            if is_ahead(each):
                self._news.append(each)
            else:
                yield each
        if not self._news:
            self.clear()

    def timer_ended(self) -> None:
        """The timer has called `overdue`: the next news to be held starts another timer."""
        self._timer = None

    def clear(self) -> None:
        self._news.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
