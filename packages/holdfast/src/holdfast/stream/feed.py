"""One watched chat in this process, for all its readers: subscribe, then read, then tail (L66).

News from the bus is not reliable. A hint that follows the known version and carries its commit is
delivered as it is, without a read. Anything else (a skipped version, a gap, a part of an unknown
episode) causes one read of the store, whose result all readers share. Versions and numbers drop
what comes twice or late. After a gap the hub polls at once. Stamps detect a version that was
committed again after lost commits (L146): then all readers begin anew.

The progress changes only under the feed's lock, so a read and a hint never overtake one another.
A new reader reads its facts without the lock: a database that is slow for one reader does not delay
the readers that follow the bus (L149).
"""

import asyncio
import logging
from typing import Final

from holdfast.chats.hints import NO_STAMPS, decode_inline
from holdfast.domain.chat import Chat
from holdfast.domain.errors import ChatNotFound, FormatUnknown, Unavailable
from holdfast.domain.ids import ChatId, Version, VersionStamp, differ
from holdfast.ports.bus import Episode, Gap, Hint, LivePart, News
from holdfast.stream import bundle as bundles
from holdfast.stream.bundle import Bundle
from holdfast.stream.catch_up import CatchUp
from holdfast.stream.chat_reads import ChatReads
from holdfast.stream.cursor import Cursor
from holdfast.stream.failures import LagWarnings, log_failure
from holdfast.stream.log import EncodedPart, FeedPart, Log
from holdfast.stream.opening import Opening
from holdfast.stream.progress import FeedProgress
from holdfast.stream.reorder import ReorderBuffer
from holdfast.stream.retry import ReadBackoff
from holdfast.stream.snapshot_cache import SnapshotCache
from holdfast.stream.sources import Sources

_LOG_BEFORE_PAUSE: Final = 64
_LOG: Final = logging.getLogger(__name__)


class Feed:
    def __init__(self, chat_id: ChatId, sources: Sources) -> None:
        options = sources.options
        self.chat_id = chat_id
        self.log = Log(options.log_max, options.log_bytes_max)
        self.closed = False
        self.deleted = False
        """Closed because the chat is gone."""
        self.newest: FeedPart | None = None
        """The last part, as the readers get it that know everything before it: nearly all."""
        self._from = sources
        self._lock = asyncio.Lock()
        self._opening = Opening(chat_id)
        self._progress = FeedProgress(self.log)
        self._early = ReorderBuffer(sources.later, options.poll_grace_s)
        self._cache = SnapshotCache()
        self._reads = ChatReads(chat_id, sources, self._cache)
        self._catch_up = CatchUp(sources, self._reads, self._progress, self._cache, self._lock)
        self._retry = ReadBackoff(options.retry_min_s, options.retry_max_s)
        self._lag = LagWarnings(_LOG, chat_id)

    @property
    def version(self) -> Version:
        return self._progress.version

    @property
    def stamp(self) -> VersionStamp:
        return self._progress.stamp

    # The life of a feed.

    async def run(self) -> None:
        """Until cancelled. The bus may end before: then the poll alone brings news."""
        try:
            async with self._from.bus.subscribe(self.chat_id) as news:
                if not await self._open():
                    return
                async for each in news:
                    await self._hear(each)
                    if self.closed:
                        return
                    if len(self.log) >= _LOG_BEFORE_PAUSE or self.log.is_filling:
                        await asyncio.sleep(0)  # a burst must not outrun those who do read
                await asyncio.Event().wait()
        except Exception as error:  # noqa: BLE001 - ends this feed only (L137)
            self._fail(error)
        finally:
            self.close()

    async def opened(self) -> None:
        """Returns once the chat is followed; raises `ChatNotFound`, `FormatUnknown` or
        `Unavailable` if it cannot be."""
        await self._opening.wait()

    def close(self, *, deleted: bool = False) -> None:
        self.closed = True
        self.deleted = self.deleted or deleted
        self._early.clear()
        self._cache.close()
        self._opening.abandon()
        self._progress.waiters.wake()

    def _fail(self, error: Exception) -> None:
        """Close after an error that another try would meet again: a row that this version cannot
        read, or a defect. Readers reconnect, and find another feed or are refused."""
        self._from.counters.failed_reads += 1
        log_failure(_LOG, f"stream: feed of chat {self.chat_id} closed by an error", error)
        self.close()

    def news(self) -> asyncio.Future[None]:
        """Done when there may be something new in the log. Call `forget` to stop waiting."""
        return self._progress.waiters.add()

    def forget(self, waiter: asyncio.Future[None]) -> None:
        self._progress.waiters.remove(waiter)

    async def _open(self) -> bool:
        try:
            async with self._lock:
                await self._catch_up.refresh()
        except (ChatNotFound, Unavailable) as error:
            self._opening.refusal = error
        except FormatUnknown as error:  # a newer replica can read it
            self._opening.refusal = error
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - refuses the readers of this chat only (L137)
            self._opening.refusal = Unavailable(
                "The chat cannot be read by this server. Try again later."
            )
            self._fail(error)
        self._opening.end()
        return self._opening.refusal is None

    # What the bus says.

    async def _hear(self, news: News) -> None:
        async with self._lock:
            match news:
                case Hint():
                    await self._hear_hint(news)
                    await self._hear_early()
                case LivePart():
                    await self._hear_part(news)
                case Gap():
                    # After a reconnect every watched chat has a gap: one poll for all of them,
                    # instead of a read for each.
                    self._from.counters.gaps += 1
                    self._from.doubt.set()
                    self._progress.seq = self._progress.seq or 0
                    await self._catch_up.fill()

    async def _hear_hint(self, hint: Hint) -> None:
        known = self._progress
        if hint.version < known.version:
            return
        if known.is_ahead(hint) and self._keep(hint):
            return
        next_one = hint.version == known.version + 1
        inline = None if known.is_ahead(hint) else decode_inline(hint.inline)
        stamps = NO_STAMPS if inline is None else inline.stamps
        if differ(known.stamp, stamps.after if next_one else stamps.commit):
            # The commit that the feed knows at this version was lost, or the commit of the hint
            # was: the store decides.
            await self._try_refresh(heard_out=True, anew=True)
            return
        if hint.version == known.version:
            return
        if inline is None or hint.history_version < known.episode.history_version:
            # The parts before the next commit arrived before its hint.
            await self._try_refresh(heard_out=next_one)
            return
        self._from.counters.commits += 1
        known.add_bundle(bundles.of_hint(hint, inline, known.episode, spent=known.spent))

    async def _hear_part(self, part: LivePart) -> None:
        known = self._progress
        if known.is_ahead(part):
            if self._early and self._keep(part):
                return
            await self._try_refresh()  # the commit that began the episode was missed
        if known.spent or not part.episode.may_be(known.episode):
            return  # a part of a step never comes after its message (L59)
        has_gap = known.seq is not None and part.seq > known.seq + 1
        if has_gap and not await self._catch_up.fill():
            return
        if known.seq is None or part.seq > known.seq:
            known.add_part(part)
            known.waiters.wake()

    def _keep(self, news: Hint | LivePart) -> bool:
        return self._early.keep(news, self._overdue)

    async def _hear_early(self) -> None:
        for news in self._early.ready(self._progress.is_ahead):
            if isinstance(news, Hint):
                await self._hear_hint(news)
            else:
                await self._hear_part(news)

    async def _overdue(self) -> None:
        try:
            async with self._lock:
                self._early.timer_ended()
                if self.closed or not self._early:
                    return
                await self._try_refresh()
                await self._hear_early()
                self._early.clear()  # the poll finds what is ahead even now
        except Exception as error:  # noqa: BLE001 - a task of the hub's: ends this feed only
            self._fail(error)

    # What the store says.

    async def reach(self, version: Version, *, fell: bool) -> None:
        """The poll has found this version: read, unless the bus has delivered it meanwhile.

        `fell`: the version is lower than before, or its stamp is another. The database lost commits
        that were delivered (a restored backup, a failover); readers begin anew.
        """
        try:
            async with self._lock:
                if not self.closed and (fell or version > self.version):
                    await self._try_refresh()
                    await self._hear_early()
        except Exception as error:  # noqa: BLE001 - a task of the hub's: ends this feed only
            self._fail(error)

    async def _try_refresh(self, *, heard_out: bool = False, anew: bool = False) -> None:
        """Read, unless the last read failed a moment ago: the poll finds what is missed (R1)."""
        now = asyncio.get_running_loop().time()
        if not self._retry.is_due(now):
            return
        try:
            await self._catch_up.refresh(heard_out=heard_out, anew=anew)
            self._retry.succeed()
        except ChatNotFound:
            self.close(deleted=True)
        except Unavailable as error:
            self._from.counters.failed_reads += 1
            self._retry.fail(now)
            _LOG.info("stream: chat %s cannot be read: %s", self.chat_id, error)

    # For one reader.

    async def enter(self, cursor: Cursor | None) -> tuple[Chat, int | None]:
        """The facts at some version, and the position in the log from which on everything after
        them is; None if the log dropped that position, and the reader enters again. May raise
        `Unavailable`.

        A cursor may be ahead of the feed, by versions or by attempts: its reader comes from a
        replica that got the hint of a commit sooner.

        The position is taken before the read. What the bus brings during the read is in the log
        from there on, and a reader skips what its facts contain.
        """
        position, since = self.log.enter(), self.version
        try:
            chat = await self._catch_up.facts_for(cursor, since)
        except BaseException:
            self.log.leave(position)
            raise
        if chat.version == self.version:
            self.log.leave(position)
            return chat, self.log.enter()
        if chat.version < since or self.log.has_lost(position):
            self.log.leave(position)
            return chat, None
        return chat, position

    async def bundle_for(self, cursor: Cursor | None, chat: Chat) -> Bundle:
        """What brings a reader from its cursor to these facts."""
        return await self._reads.bundle_for(cursor, chat)

    async def said_since(self, episode: Episode, seq: int) -> tuple[list[EncodedPart], bool]:
        """The parts after a number, as many as a reader may hold, and whether there are more."""
        return await self._reads.said_since(episode, seq)

    def count_lagged(self) -> None:
        """A reader was too slow."""
        self._from.counters.lagged += 1
        self._lag.count()
