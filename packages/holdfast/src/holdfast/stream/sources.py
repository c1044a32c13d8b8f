"""Where feeds read, and what all of a hub share."""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from holdfast.ports.bus import Bus
from holdfast.ports.history import History
from holdfast.ports.store import Store
from holdfast.stream.options import HubOptions, StreamCounters

Later: TypeAlias = Callable[[float, Callable[[], Coroutine[Any, Any, None]]], asyncio.TimerHandle]


class Patience:
    """With a bus that hangs or is slow: for so long, in all chats together, what is committed may
    be kept waiting for what was said. Thousands would else wait for it in turn."""

    def __init__(self, budget_s: float, every_s: float) -> None:
        self._budget_s = budget_s
        self._every_s = every_s
        self._left_s = 0.0
        self._until_s = 0.0

    def is_left(self) -> bool:
        now_s = asyncio.get_running_loop().time()
        if now_s >= self._until_s:
            self._left_s, self._until_s = self._budget_s, now_s + self._every_s
        return self._left_s > 0

    @contextmanager
    def spent(self) -> Generator[None]:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        try:
            yield
        finally:
            now_s = loop.time()
            self._left_s -= now_s - began_s
            if self._left_s <= 0:  # from now: one wait may be longer than all of the while
                self._until_s = now_s + self._every_s


@dataclass(frozen=True, slots=True)
class Sources:
    store: Store
    history: History
    bus: Bus
    options: HubOptions
    counters: StreamCounters
    doubt: asyncio.Event
    """Set when the bus may have lost something: let the poll look now."""
    later: Later
    """To do something after so many seconds, in a task of the hub's."""
    patience: Patience
