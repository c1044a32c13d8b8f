"""What waits to be sent: bounded, the oldest dropped first, and every drop counted.

The oldest are dropped, because a follower wants the newest. A reader sees the dropped parts as a
gap in the numbers, and the database has the truth.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final

from holdfast.adapters.bus.engine import Item
from holdfast.adapters.bus.options import BusOptions
from holdfast.ports.bus import BusCounters, Hint, LivePart

WARNING_EVERY_S: Final = 10.0
_ITEM_BYTES: Final = 200
"""About what an item costs beside its payload."""
_LOG: Final = logging.getLogger(__name__)


def weight(item: Item) -> int:
    if isinstance(item, LivePart):
        return _ITEM_BYTES + len(item.payload)
    return _ITEM_BYTES + (len(item.inline) if isinstance(item, Hint) else 0)


def is_urgent(item: Item) -> bool:
    """A hint starts a worker, and a user waits for the first part; later parts are read no faster
    than they arrive."""
    return not isinstance(item, LivePart) or item.seq == 1


class Drops:
    """Counts what was dropped, and warns of it at most every ten seconds (L65).

    One warning for all chats: with the engine away, one per chat would be a storm of its own.
    """

    def __init__(self, counters: BusCounters, now: Callable[[], float]) -> None:
        self._counters = counters
        self._now = now
        self._warned_at: float | None = None
        self._untold = 0
        self._chats: set[object] = set()

    def add(self, items: Iterable[Item]) -> None:
        for item in items:
            if isinstance(item, LivePart):
                self._counters.dropped_parts += 1
            else:
                self._counters.dropped_hints += 1
            self._untold += 1
            if isinstance(item, Hint | LivePart):
                self._chats.add(item.chat_id)
        now = self._now()
        if self._untold and (self._warned_at is None or now - self._warned_at >= WARNING_EVERY_S):
            _LOG.warning(
                "bus: dropped %d hints and live parts of %d chats; readers poll instead",
                self._untold,
                len(self._chats),
            )
            self._warned_at, self._untold = now, 0
            self._chats.clear()


class Outbox:
    def __init__(self, options: BusOptions, drops: Drops) -> None:
        self._options = options
        self._drops = drops
        self._items: deque[Item] = deque()
        self._bytes = 0
        self._some = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self._urgent = asyncio.Event()
        self._closed = False

    def put(self, items: Sequence[Item]) -> None:
        if not items:
            return
        if self._closed:
            self._drops.add(items)
            return
        self._items.extend(items)
        for item in items:
            self._bytes += weight(item)
            if is_urgent(item):
                self._urgent.set()
        if self._is_full():
            self._fit()
        self._some.set()
        self._empty.clear()

    async def take(self, *, wait_s: float) -> list[Item]:
        """The next batch; empty if nothing came for so long. It is `sent`, `put_back` or lost."""
        try:
            async with asyncio.timeout(wait_s):
                await self._some.wait()
        except TimeoutError:
            return []
        if (
            len(self._items) <= self._options.batch_max
            and self._bytes <= self._options.batch_bytes_max
        ):
            # Nearly always: all of it, without a look at each.
            everything, self._bytes = list(self._items), 0
            self._items.clear()
            self._some.clear()
            self._urgent.clear()
            return everything
        batch: list[Item] = []
        size = 0
        while (
            self._items
            and len(batch) < self._options.batch_max
            and size < self._options.batch_bytes_max
        ):
            item = self._items.popleft()
            size += weight(item)
            batch.append(item)
        self._bytes -= size
        if not self._items:
            self._some.clear()
            self._urgent.clear()
        return batch

    async def lull(self, *, at_least_s: float, at_most_s: float) -> None:
        """Wait while more items arrive for the same batch; end early for an urgent item."""
        await asyncio.sleep(at_least_s)
        with suppress(TimeoutError):
            async with asyncio.timeout(at_most_s - at_least_s):
                await self._urgent.wait()

    def sent(self) -> None:
        if not self._items:
            self._empty.set()

    def put_back(self, batch: Sequence[Item]) -> None:
        """It may have arrived all the same: readers drop doubles by their numbers."""
        self._items.extendleft(reversed(batch))
        self._bytes += sum(map(weight, batch))
        self._fit()
        if self._items:
            self._some.set()

    def drop(self, batch: Sequence[Item]) -> None:
        self._drops.add(batch)
        self.sent()

    async def drained(self) -> None:
        await self._empty.wait()

    def close(self) -> None:
        self._closed = True
        self._drops.add(self._items)
        self._items.clear()

    def _fit(self) -> None:
        dropped: list[Item] = []
        while self._is_full():
            item = self._items.popleft()
            self._bytes -= weight(item)
            dropped.append(item)
        if dropped:
            self._drops.add(dropped)

    def _is_full(self) -> bool:
        return (
            len(self._items) > self._options.buffered_max
            or self._bytes > self._options.buffered_bytes_max
        )
