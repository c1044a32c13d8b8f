"""Every reader of this process: one feed per watched chat, one safety poll for all of them.

The bus may lose everything. Every few seconds the database is asked which of the watched chats
stand elsewhere than we know, and whatever the bus did not tell is read then (R1, L57).
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import NO_VERSION, ChatId, Version
from holdfast.ports.bus import Bus
from holdfast.ports.history import History
from holdfast.ports.store import Store
from holdfast.stream.cursor import Cursor
from holdfast.stream.failures import log_failure
from holdfast.stream.feed import Feed
from holdfast.stream.follower import Follower
from holdfast.stream.options import HubOptions, StreamCounters
from holdfast.stream.poll_reads import PollReads
from holdfast.stream.sources import Patience, Sources
from holdfast.tasks import Crew

GAPS_COME_TOGETHER_S: Final = 0.02
POLLED_AT_ONCE: Final = 500
"""Chats that one query asks about: ten thousand in one kept all readers waiting for 80 ms."""
_LOG: Final = logging.getLogger(__name__)


class _WatchedFeed:
    """A feed, who reads it, and the task that feeds it."""

    def __init__(self, feed: Feed, task: asyncio.Task[None]) -> None:
        self.feed = feed
        self.task = task
        self.readers = 0
        self.closing: asyncio.TimerHandle | None = None


class Hub:
    def __init__(
        self, store: Store, history: History, bus: Bus, options: HubOptions | None = None
    ) -> None:
        self._options = options or HubOptions()
        self._counters = StreamCounters()
        self._doubt = asyncio.Event()
        self._group = Crew()
        self._sources = Sources(
            store=store,
            history=history,
            bus=bus,
            options=self._options,
            counters=self._counters,
            doubt=self._doubt,
            later=self._later,
            patience=Patience(self._options.poll_every_s / 4, self._options.poll_every_s),
        )
        self._watches: dict[ChatId, _WatchedFeed] = {}
        self._poll_reads = PollReads(
            partial(self._group.create_task, name="poll read"),
            places=self._options.reads_max,
            slow_s=self._options.poll_every_s,
        )
        self._poll_task: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def counters(self) -> StreamCounters:
        return self._counters

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._poll_task = self._group.create_task(self._poll_for_ever(), name="stream poll")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
        if self._poll_task is not None:
            self._poll_task.cancel()
        await self._group.__aexit__(kind, error, traceback)

    def stop(self) -> None:
        """End every reader's events, and take no more readers; they come again elsewhere."""
        self._closed = True
        for chat_id in list(self._watches):
            self._close(chat_id)

    def check_open(self) -> None:
        """Raises `Unavailable` once stopped."""
        if self._closed:
            raise Unavailable("the server stops watching")

    @asynccontextmanager
    async def follow(self, chat_id: ChatId, after: Cursor | None) -> AsyncGenerator[Follower]:
        """Everything about a chat after a cursor; without one, a snapshot and what follows it.

        Raises `ChatNotFound`; `Unavailable`, if the chat cannot be read now.
        """
        watch = self._watch(chat_id)
        watch.readers += 1
        self._counters.readers += 1
        try:
            await watch.feed.opened()
            follower = Follower(watch.feed, after, self._options, self._counters)
            try:
                yield follower
            finally:
                follower.close()
        finally:
            self._counters.readers -= 1
            watch.readers -= 1
            if watch.readers == 0:
                self._close_soon(watch)

    def _watch(self, chat_id: ChatId) -> _WatchedFeed:
        watch = self._watches.get(chat_id)
        if watch is not None and not watch.feed.closed:
            if watch.closing is not None:
                watch.closing.cancel()
                watch.closing = None
            return watch
        self.check_open()
        if watch is not None:
            self._close(chat_id)  # its chat was gone, or never there; it may be now
        feed = Feed(chat_id, self._sources)
        watch = _WatchedFeed(feed, self._group.create_task(feed.run(), name=f"feed {chat_id}"))
        self._watches[chat_id] = watch
        self._counters.feeds = len(self._watches)
        return watch

    def _close_soon(self, watch: _WatchedFeed) -> None:
        if self._watches.get(watch.feed.chat_id) is not watch:
            return
        if watch.feed.closed:  # it never opened, or its chat is gone
            self._close(watch.feed.chat_id)
            return
        loop = asyncio.get_running_loop()
        watch.closing = loop.call_later(self._options.linger_s, self._close, watch.feed.chat_id)

    def _close(self, chat_id: ChatId) -> None:
        watch = self._watches.pop(chat_id)
        self._counters.feeds = len(self._watches)
        if watch.closing is not None:
            watch.closing.cancel()
        self._poll_reads.forget(chat_id)
        watch.feed.close()
        watch.task.cancel()

    def _later(
        self, delay_s: float, work: Callable[[], Coroutine[Any, Any, None]]
    ) -> asyncio.TimerHandle:
        def begin() -> None:
            if not self._closed:
                self._group.create_task(work(), name="overdue")

        return asyncio.get_running_loop().call_later(delay_s, begin)

    # The safety poll.

    async def _poll_for_ever(self) -> None:
        pause_s = self._options.poll_every_s
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._doubt.wait()
                    await asyncio.sleep(GAPS_COME_TOGETHER_S)
            # Before the query: what is doubted while it runs is looked at again.
            self._doubt.clear()
            try:
                await self._poll()
                pause_s = self._options.poll_every_s
            except Exception as error:  # noqa: BLE001 - tried again (L133)
                pause_s = min(pause_s * 2, self._options.poll_every_s * 4)
                self._counters.failed_reads += 1
                log_failure(_LOG, "stream: the safety poll failed and will be tried again", error)

    async def _poll(self) -> None:
        watched = {
            chat_id: (watch.feed.version, watch.feed.stamp)
            for chat_id, watch in self._watches.items()
            if watch.readers and watch.feed.version
        }
        if not watched:
            return
        self._counters.polls += 1
        now: dict[ChatId, Version] = {}
        known = list(watched.items())
        for at in range(0, len(known), POLLED_AT_ONCE):
            moved = await self._sources.history.moved(dict(known[at : at + POLLED_AT_ONCE]))
            # A chat that is gone stands nowhere.
            now |= {chat_id: version or NO_VERSION for chat_id, version in moved}
        # At the version that we know: with another stamp, or it would not have been told.
        fell = {chat_id for chat_id, version in now.items() if version <= watched[chat_id][0]}
        found = [i for i, version in now.items() if i in fell or self._lacks(i, version)]
        if not found:
            return
        await asyncio.sleep(self._options.poll_grace_s)
        for chat_id in found:
            watch = self._watches.get(chat_id)
            if watch is None or chat_id in self._poll_reads:
                continue
            version, has_fallen = now[chat_id], chat_id in fell
            if has_fallen or watch.feed.version < version:
                self._counters.found_by_poll += 1
                self._poll_reads.add(chat_id, partial(watch.feed.reach, version, fell=has_fallen))

    def _lacks(self, chat_id: ChatId, version: Version) -> bool:
        watch = self._watches.get(chat_id)
        return watch is not None and watch.feed.version < version
