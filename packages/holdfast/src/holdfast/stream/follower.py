"""One reader: a position in its chat's log, and what it knows already.

Costs next to nothing while its next event is not asked for: no task, no queue. It reads only when
it begins, and when the log has moved on without it.
"""

import asyncio
import logging
from typing import Final, Self

from holdfast.domain.errors import ChatNotFound, Unavailable
from holdfast.domain.events import EventType, PreviewEnd
from holdfast.domain.ids import NO_VERSION
from holdfast.ports.bus import Episode
from holdfast.stream.bundle import ENDS_PREVIEW, Bundle, BundleEvent
from holdfast.stream.cursor import Cursor, shortened
from holdfast.stream.events import CloseReason, StreamEvent, ping, preview_reset_data
from holdfast.stream.failures import log_failure
from holdfast.stream.feed import Feed
from holdfast.stream.log import EncodedPart, FeedPart
from holdfast.stream.options import HubOptions, StreamCounters

_LOG: Final = logging.getLogger(__name__)
_NO_EPISODE: Final = Episode(NO_VERSION, -1)


class Follower:
    """Iterate over it. Ends with the hub, with the chat, or when its own read meets an error that
    is not an outage: other readers of the chat go on."""

    def __init__(
        self, feed: Feed, after: Cursor | None, options: HubOptions, counters: StreamCounters
    ) -> None:
        self._feed = feed
        self._options = options
        self._counters = counters
        self._cursor = after
        """Of the last event that had one; after a bundle, that of its end."""
        self._position: int | None = None
        self._episode = _NO_EPISODE
        self._seq = 0
        self._spent = False
        self._bundle: Bundle | None = None
        self._offset = 0
        self._superseded: tuple[int, int] | None = None
        """Attempt and number of the last part shown, of an attempt after which another was begun:
        still shown, until a message, a reset or a part of that other one takes its place."""
        self._said: list[EncodedPart] = []
        self._more_said = False
        self._holed = False
        self._holed_for_ever = _NO_EPISODE
        self._caught_up = False
        """A commit, or a resume, had nothing to tell: the reader gets its version in a ping."""
        self._pause_s = 0.0
        self._ping_at = 0.0
        self._ping: asyncio.TimerHandle | None = None
        self._waiter: asyncio.Future[None] | None = None

    @property
    def cursor(self) -> Cursor | None:
        """Where this reader is: give it to `follow` anywhere, and it goes on from here."""
        return self._cursor

    @property
    def close_reason(self) -> CloseReason:
        """Why the iteration ended."""
        return CloseReason.DELETED if self._feed.deleted else CloseReason.RESTART

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StreamEvent:
        now = asyncio.get_running_loop().time
        self._ping_at = now() + self._options.ping_every_s
        while not self._feed.closed:
            event = self._ready()
            if event is None and (now() >= self._ping_at or self._caught_up):
                event = self._up_to_date()
            if event is not None:
                self._counters.events += 1
                return event
            try:
                await self._advance()
                self._pause_s = 0.0
            except Unavailable:
                await self._pause()
            except ChatNotFound:
                self._feed.close(deleted=True)
            except Exception as error:  # noqa: BLE001 - ends this reader only (L137)
                self._counters.failed_reads += 1
                name = f"stream: reader of chat {self._feed.chat_id} ended by an error"
                log_failure(_LOG, name, error)
                break
        raise StopAsyncIteration

    def close(self) -> None:
        self._leave()
        if self._ping is not None:
            self._ping.cancel()
            self._ping = None

    def _leave(self) -> None:
        if self._position is not None:
            self._feed.log.leave(self._position)
            self._position = None

    # What is there already.

    def _ready(self) -> StreamEvent | None:
        event = self._next_of_bundle()
        while event is None and self._said:
            event = self._part(self._said.pop())
        while event is None and self._position is not None and not self._more_said:
            if self._feed.log.has_lost(self._position):
                self._feed.count_lagged()
                self._leave()  # what it missed follows, from its cursor
                break
            if self._position == self._feed.log.end:
                break
            item = self._feed.log.take(self._position)
            self._position += 1
            event = self._part(item) if isinstance(item, EncodedPart) else self._begin(item)
        return event

    def _begin(self, bundle: Bundle) -> StreamEvent | None:
        """A bundle from the log: take it, or skip what we know, or read for ourselves."""
        known = NO_VERSION if self._cursor is None else self._cursor.version
        if bundle.anew:
            self._cursor = None
            self._leave()
            return None
        if bundle.version <= known:
            return None
        if bundle.since != known:
            self._leave()  # it begins or ends elsewhere; the store knows what lies between
            return None
        self._take(bundle)
        return self._next_of_bundle()

    def _take(self, bundle: Bundle) -> None:
        if bundle.spent or not bundle.episode.may_be(self._episode):
            if self._seq > 0:
                self._superseded = self._episode.attempt, self._seq
            self._seq = 0
        self._episode, self._spent = bundle.episode, bundle.spent
        self._bundle, self._offset = bundle, 0

    def _next_of_bundle(self) -> StreamEvent | None:
        bundle = self._bundle
        if bundle is None:
            return None
        while self._offset < len(bundle.events):
            event = bundle.events[self._offset]
            self._offset += 1
            if event.kind is EventType.PREVIEW_RESET and self._superseded is None:
                continue  # this reader was shown nothing that could be taken back
            if event.kind in ENDS_PREVIEW:
                self._superseded = None
            if self._offset == len(bundle.events):
                break
            cursor = self._at(event)
            self._cursor = cursor or self._cursor
            return StreamEvent(event.kind, cursor, event.data, event.version, final=False)
        else:
            event = None
        self._bundle = None
        self._cursor = Cursor(bundle.version, *self._seen, stamp=shortened(bundle.history_stamp))
        if event is None:
            self._caught_up = True
            return None
        return StreamEvent(event.kind, self._cursor, event.data, bundle.version)

    def _at(self, event: BundleEvent) -> Cursor | None:
        if event.place is None:
            return None
        return Cursor(event.version, *self._seen, event.place, shortened(event.history_stamp))

    @property
    def _seen(self) -> tuple[int, int]:
        """The last part that this reader still shows: attempt and number."""
        return self._superseded or (self._episode.attempt, self._seq)

    def _up_to_date(self) -> StreamEvent:
        """A ping. Its version is not known in the middle of a commit, and before the first read."""
        self._caught_up = False
        cursor = self._cursor
        return ping(None if cursor is None or cursor.place is not None else cursor.version)

    def _part(self, said: EncodedPart) -> StreamEvent | None:
        if self._spent or said.seq <= self._seq or not said.episode.may_be(self._episode):
            return None
        if said.seq > self._seq + 1:
            # A hole is never shown (L58). The live log may still know what is missing.
            self._holed = self._more_said = self._episode != self._holed_for_ever
            return None
        assert self._cursor is not None, "a part before any commit"
        if self._superseded is not None:
            self._said.append(said)  # told next
            return self._take_back(said.episode.attempt, self._cursor)
        self._seq = said.seq
        event = self._event_of(said, self._cursor)
        self._cursor = event.cursor
        return event

    def _take_back(self, attempt: int, at: Cursor) -> StreamEvent:
        """Before the first part of an attempt that does not go on from what is shown."""
        self._superseded = None
        self._cursor = Cursor(at.version, attempt, 0, stamp=at.stamp)
        data = preview_reset_data(attempt, PreviewEnd.RETRY)
        return StreamEvent(EventType.PREVIEW_RESET, self._cursor, data, at.version)

    def _event_of(self, said: EncodedPart, at: Cursor) -> StreamEvent:
        """Of the newest part there is one for all who keep up: they are told the same bytes."""
        newest = self._feed.newest
        if (
            newest is not None
            and newest.said is said
            and (newest.version, newest.stamp) == (at.version, at.stamp)
        ):
            return newest.event
        cursor = Cursor(at.version, said.episode.attempt, said.seq, stamp=at.stamp)
        event = StreamEvent(EventType.PREVIEW_DELTA, cursor, said.data, at.version)
        self._feed.newest = FeedPart(said, at.version, at.stamp, event)
        return event

    # What has to be waited for.

    async def _advance(self) -> None:
        if self._position is None:
            await self._enter()
        elif self._more_said:
            await self._listen_again()
        else:
            await self._news_or_ping()

    async def _news_or_ping(self) -> None:
        """One future for each wait, and a timer only now and then: this is all that an event costs
        beside the writing of it."""
        if self._ping is None:
            self._ping = asyncio.get_running_loop().call_at(self._ping_at, self._ring)
        self._waiter = self._feed.news()
        try:
            await self._waiter
        finally:
            self._feed.forget(self._waiter)
            self._waiter = None

    def _ring(self) -> None:
        """The time has come at which a ping was due; there may have been events since."""
        loop = asyncio.get_running_loop()
        self._ping = None
        if loop.time() < self._ping_at:
            self._ping = loop.call_at(self._ping_at, self._ring)
        elif self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _enter(self) -> None:
        """Take a place in the log first, then read up to it: nothing falls in between (R3).

        If the log moved on without that place, the bundle is told and this is done once more."""
        cursor = self._cursor
        chat, self._position = await self._feed.enter(cursor)
        try:
            bundle = await self._feed.bundle_for(cursor, chat)
        except BaseException:
            self._leave()
            raise
        self._said.clear()
        self._episode, self._seq, self._superseded = _NO_EPISODE, 0, None
        if cursor is not None and bundle.since != NO_VERSION:
            same = chat.history_version <= cursor.version
            shown = Episode.of(chat)._replace(attempt=cursor.attempt)
            self._episode = shown if same else _NO_EPISODE
            self._seq = cursor.seq
        self._take(bundle)
        self._more_said = not bundle.spent and self._position is not None

    async def _listen_again(self) -> None:
        """Parts that the log does not have for us, from the live log."""
        try:
            said, self._more_said = await self._feed.said_since(self._episode, self._seq)
        except Unavailable:
            self._more_said = False  # the preview is missing; the next part asks again
            return
        if said[0].seq > self._seq + 1 if said else self._holed:
            # Its beginning expired. No preview, rather than one with a hole.
            self._holed_for_ever, self._more_said = self._episode, False
        else:
            self._said = said[::-1]
        self._holed = False

    async def _pause(self) -> None:
        """The store does not answer: ask again, ever less often, for as long as it takes."""
        options = self._options
        self._pause_s = min(max(self._pause_s * 2, options.retry_min_s), options.retry_max_s)
        left_s = self._ping_at - asyncio.get_running_loop().time()
        await asyncio.sleep(max(0.0, min(self._pause_s, left_s)))
