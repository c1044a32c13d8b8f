"""All who watch their list of chats in this process, and one safety poll for them.

A hint about a user's list wakes those who watch it here. The bus may lose every hint: every few
seconds one query asks whose lists changed, whatever the number of watchers, and none if there are
none. Changes of a chat that another user shares are found by that query alone: a commit does not
know its readers.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Final, Self

from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import UserId
from holdfast.domain.policy import Principal
from holdfast.ports.bus import Bus, Gap
from holdfast.ports.listing import Listing, Mark
from holdfast.stream.failures import log_failure
from holdfast.stream.list_watcher import Watcher
from holdfast.stream.options import WatchCounters, WatchOptions
from holdfast.tasks import Crew

_LOG: Final = logging.getLogger(__name__)


class _WatchedList:
    """One user's list, who watches it, and the task that hears of it."""

    def __init__(self) -> None:
        self.watchers: dict[Watcher, None] = {}
        self.heard = asyncio.Event()
        self.task: asyncio.Task[None] | None = None


class ListWatchers:
    def __init__(self, listing: Listing, bus: Bus, options: WatchOptions | None = None) -> None:
        self._listing = listing
        self._bus = bus
        self._options = options or WatchOptions()
        self.counters = WatchCounters()
        self._watched: dict[UserId, _WatchedList] = {}
        self._doubt = asyncio.Event()
        self._group = Crew()
        self._poll_task: asyncio.Task[None] | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._poll_task = self._group.create_task(self._poll_for_ever(), name="list poll")
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
        """End what all watchers here watch; they come again elsewhere."""
        self._closed = True
        for watched in self._watched.values():
            if watched.task is not None:
                watched.task.cancel()
            watched.heard.set()
            for watcher in watched.watchers:
                watcher.close()

    @asynccontextmanager
    async def follow(self, who: Principal, after: Mark | None) -> AsyncGenerator[Watcher]:
        """One's list: a snapshot, or what changed since a mark, and then whatever changes.

        Raises `Unavailable` once stopped.
        """
        if self._closed:
            raise Unavailable("the server stops watching")
        watcher = Watcher(who, self._listing, after, self._options, self.counters)
        watched = self._watch(who.user_id)
        watched.watchers[watcher] = None
        self.counters.watchers += 1
        try:
            await watched.heard.wait()  # subscribe, then read (L66)
            yield watcher
        finally:
            self.counters.watchers -= 1
            del watched.watchers[watcher]
            if not watched.watchers and watched.task is not None:
                watched.task.cancel()
                if self._watched.get(who.user_id) is watched:
                    del self._watched[who.user_id]

    def _watch(self, user_id: UserId) -> _WatchedList:
        watched = self._watched.get(user_id)
        if watched is None:
            watched = self._watched[user_id] = _WatchedList()
            watched.task = self._group.create_task(
                self._listen(user_id, watched), name=f"list of {user_id}"
            )
        return watched

    async def _listen(self, user_id: UserId, watched: _WatchedList) -> None:
        while True:
            try:
                await self._listen_once(user_id, watched)
            except Exception as error:  # noqa: BLE001 - tried again (L133)
                self.counters.failed_reads += 1
                log_failure(_LOG, f"stream: listening for the list of {user_id} failed", error)
                watched.heard.set()  # watchers have the poll until the bus is heard again
                self._doubt.set()
                await asyncio.sleep(self._options.retry_s)

    async def _listen_once(self, user_id: UserId, watched: _WatchedList) -> None:
        async with self._bus.subscribe_lists(user_id) as news:
            watched.heard.set()
            async for each in news:
                if isinstance(each, Gap):
                    # After a reconnect every list has a gap: one poll for all of them.
                    self._doubt.set()
                    continue
                for watcher in watched.watchers:
                    watcher.wake()
            await asyncio.Event().wait()  # the bus has ended: the poll alone brings news

    # The safety poll.

    async def _poll_for_ever(self) -> None:
        while True:
            # A pause first: doubts of many lists, as of a bus that refuses each of them, make one
            # poll together.
            pause_s = self._options.read_every_s
            await asyncio.sleep(pause_s)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._options.poll_every_s - pause_s):
                    await self._doubt.wait()
            self._doubt.clear()
            try:
                await self._poll()
            except Exception as error:  # noqa: BLE001 - tried again (L133)
                self.counters.failed_reads += 1
                log_failure(_LOG, "stream: the safety poll of lists failed", error)

    async def _poll(self) -> None:
        # Only marks that were asked about may move. The race: a watcher that comes, or reads,
        # while the query runs has another mark; moved to the answer's, it would skip what changed
        # before.
        asked: dict[UserId, dict[Watcher, Mark]] = {}
        for user_id, watched in self._watched.items():
            marks = {w: w.mark for w in watched.watchers if w.mark is not None and not w.is_stale}
            if marks:
                asked[user_id] = marks
        if not asked:
            return
        self.counters.polls += 1
        reached, changed = await self._listing.changed_for(
            {user_id: min(marks.values()) for user_id, marks in asked.items()}
        )
        for user_id, marks in asked.items():
            if user_id not in changed:
                for watcher, mark in marks.items():
                    if watcher.mark == mark:
                        watcher.reach(reached)
            elif user_id in self._watched:
                for watcher in self._watched[user_id].watchers:
                    watcher.wake()
