"""Who follows what in this process: one upstream watch per topic, shared by all who follow it."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from holdfast.adapters.bus.engine import Item, Receiver
from holdfast.adapters.bus.options import BusOptions
from holdfast.adapters.bus.outbox import weight
from holdfast.adapters.bus.wire import Topic
from holdfast.ports.bus import GAP, BusCounters, Gap

_WATCHED_AT_ONCE: Final = 500


class Mailbox:
    """A bounded mailbox. What does not fit is dropped, and a gap stands in its place.

    What is dropped while the gap waits is covered by it: its reader reads the truth only later.
    One task reads it.
    """

    def __init__(self, options: BusOptions, counters: BusCounters) -> None:
        self._news_max = options.mailbox_max - 1
        self._bytes_max = options.mailbox_bytes_max
        self._counters = counters
        self._news: deque[Item | Gap] = deque()
        self._bytes = 0
        self._waiting: asyncio.Future[None] | None = None
        self._closed = False
        self.entered = False

    def put(self, news: Item | Gap) -> None:
        full = len(self._news) >= self._news_max or self._bytes > self._bytes_max
        if full or isinstance(news, Gap):
            self._counters.lagged += news is not GAP
            if self._news and isinstance(self._news[-1], Gap):
                return
            news = GAP
        else:
            self._bytes += weight(news)
        self._news.append(news)
        if self._waiting is not None:
            self._wake()

    def close(self) -> None:
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def __aiter__(self) -> "Mailbox":
        return self

    async def __anext__(self) -> Item | Gap:
        while not self._news:
            if self._closed:
                raise StopAsyncIteration
            # A bare future: this is done for every event, and an Event costs three times as much.
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting
        news = self._news.popleft()
        if not isinstance(news, Gap):
            self._bytes -= weight(news)
        return news


@dataclass(eq=False, slots=True)
class _Subscription:
    # A dict, here and below, for its order: that of a set would not repeat in a simulation.
    followers: dict[Mailbox, None] = field(default_factory=dict[Mailbox, None])
    settling: asyncio.Event | None = field(default_factory=asyncio.Event)
    """None once the engine has confirmed the watch, or is away."""

    def settle(self) -> None:
        settling, self.settling = self.settling, None
        if settling is not None:
            settling.set()


class Watches:
    """Brings what the engine watches in line with who follows, over any number of connections."""

    def __init__(self, options: BusOptions, counters: BusCounters) -> None:
        self._options = options
        self._counters = counters
        self._watches: dict[Topic, _Subscription] = {}
        self._live: set[Topic] = set()
        self._changed: dict[Topic, None] = {}
        self._work = asyncio.Event()
        self._away = False
        self._closed = False

    @asynccontextmanager
    async def follow(self, *topics: Topic) -> AsyncGenerator[Mailbox]:
        """One mailbox for all of these topics."""
        follower = Mailbox(self._options, self._counters)
        watches = {topic: self._watches.setdefault(topic, _Subscription()) for topic in topics}
        for topic, watch in watches.items():
            watch.followers[follower] = None
            self._note(topic)
        if self._closed:
            follower.close()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._options.subscribe_wait_s):
                    for topic, watch in watches.items():
                        if topic in self._live or self._away or self._closed:
                            continue
                        if watch.settling is not None:
                            await watch.settling.wait()
            # From here on a late confirmation is a gap: until it comes, published events are not
            # delivered, while the reader already reads the database.
            follower.entered = True
            yield follower
        finally:
            for topic, watch in watches.items():
                watch.followers.pop(follower, None)
                if not watch.followers and self._watches.get(topic) is watch:
                    del self._watches[topic]
                    self._note(topic)

    def deliver(self, topic: Topic, news: Item | Gap) -> None:
        watch = self._watches.get(topic)
        # Until the watch is confirmed nothing is delivered: what comes between the engine's yes and
        # our hearing it is covered by the gap, which so comes first after every reconnect.
        if watch is not None and topic in self._live:
            for follower in watch.followers:
                follower.put(news)

    async def serve(self, receiver: Receiver) -> None:
        """Watch what is followed on this connection until it is lost."""
        while True:
            await self._work.wait()
            changed = list(islice(self._changed, _WATCHED_AT_ONCE))
            for topic in changed:
                del self._changed[topic]
            if not self._changed:
                self._work.clear()
            gone = [t for t in changed if t in self._live and t not in self._watches]
            new = [t for t in changed if t not in self._live and t in self._watches]
            # Before the await: who follows again meanwhile must find it not live, and wait.
            self._live.difference_update(gone)
            if gone:
                await receiver.unwatch(gone)
            if new:
                await receiver.watch(new)
                self._confirm(new)
            if not self._changed:
                self._away = False

    def lose(self) -> None:
        """The connection is gone: nothing is watched, and who waits for it need not."""
        self._away = True
        self._live.clear()
        self._changed = dict.fromkeys(self._watches)
        self._work.set()
        for watch in self._watches.values():
            watch.settle()

    def close(self) -> None:
        self._closed = True
        for watch in self._watches.values():
            watch.settle()
            for follower in watch.followers:
                follower.close()

    def _confirm(self, topics: list[Topic]) -> None:
        for topic in topics:
            self._live.add(topic)
            watch = self._watches.get(topic)
            if watch is None:  # left while the engine answered
                self._note(topic)
                continue
            watch.settle()
            for follower in watch.followers:
                if follower.entered:
                    follower.put(GAP)

    def _note(self, topic: Topic) -> None:
        self._counters.watching = len(self._watches)
        self._changed[topic] = None
        self._work.set()
