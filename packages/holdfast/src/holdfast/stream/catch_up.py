"""Catching up: bring a feed to what the store and the live log of the bus hold.

The caller of `refresh` and `fill` holds the feed's lock.
"""

import asyncio

from holdfast.domain.chat import Chat
from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import NO_VERSION, Version
from holdfast.ports.bus import Episode
from holdfast.stream import bundle as bundles
from holdfast.stream.bundle import Bundle
from holdfast.stream.chat_reads import ChatReads
from holdfast.stream.cursor import Cursor
from holdfast.stream.log import EncodedPart
from holdfast.stream.progress import FeedProgress
from holdfast.stream.retry import ReadBackoff
from holdfast.stream.snapshot_cache import SnapshotCache
from holdfast.stream.sources import Sources


class CatchUp:
    __slots__ = ("_cache", "_fills", "_from", "_lock", "_progress", "_reads")

    def __init__(
        self,
        sources: Sources,
        reads: ChatReads,
        progress: FeedProgress,
        cache: SnapshotCache,
        lock: asyncio.Lock,
    ) -> None:
        self._from = sources
        self._reads = reads
        self._progress = progress
        self._cache = cache
        self._lock = lock
        self._fills = ReadBackoff(sources.options.retry_max_s, sources.options.retry_max_s)

    async def facts_for(self, cursor: Cursor | None, since: Version) -> Chat:
        """For a new reader: the facts that the cache holds, or newer ones. Takes the lock itself.

        May raise `Unavailable`.
        """
        return await self._cache.facts_for(cursor, since, self._read_facts)

    async def _read_facts(self) -> Chat:
        """Read without the lock, and bring the feed to what was read if it is behind."""
        progress = self._progress
        since = progress.version
        chat = await self._reads.load()
        if chat.version < since or (
            chat.version == progress.version and progress.stands_elsewhere(chat)
        ):
            # The database lost commits that were delivered. A read under the lock makes it certain,
            # and all readers begin anew.
            async with self._lock:
                return await self.refresh()
        while chat.version > (known := progress.version):
            missed = await self._reads.missed(chat, progress.cursor)
            async with self._lock:
                if progress.version == known:
                    await self._move_to(chat, missed)
        self._cache.keep_newer(chat)
        return chat

    async def refresh(self, *, heard_out: bool = False, anew: bool = False) -> Chat:
        """Read the store once for all readers, and deliver what they missed.

        `heard_out`: all live parts before this commit were delivered. `anew`: if the store stands
        elsewhere, what the feed knows is not what was committed before; readers begin anew.
        """
        chat = await self._reads.load()
        missed = None
        if self._progress.version not in {NO_VERSION, chat.version} and not anew:
            missed = await self._reads.missed(chat, self._progress.cursor)
        await self._move_to(chat, missed, heard_out=heard_out)
        return chat

    async def _move_to(self, chat: Chat, missed: Bundle | None, *, heard_out: bool = False) -> None:
        """Take these facts, and deliver what all readers missed; None: they begin anew."""
        progress = self._progress
        if progress.version == NO_VERSION:
            progress.begin(chat)
        elif progress.stands_elsewhere(chat):
            before = progress.episode
            if not heard_out:
                await self._finish_episode(chat)
            progress.add_bundle(missed or bundles.to_begin_anew(chat, progress.version))
            self._cache.facts = chat
            if missed is None or not progress.episode.may_be(before):
                # Parts from before the feed knew the episode. Without readers, the next reader
                # reads them.
                progress.seq = 0 if progress.log.readers else None
                if self._from.patience.is_left():
                    with self._from.patience.spent():
                        await self.fill()
        self._cache.facts = chat
        progress.stamp, progress.history_stamp = chat.stamp, chat.history_stamp

    async def fill(self) -> bool:
        """Append the live parts that the log lacks; False if the bus did not answer.

        A gap that stays is for each reader to detect: a reader may have been shown parts that this
        feed did not get.
        """
        progress = self._progress
        if progress.spent or progress.seq is None:
            return True
        now = asyncio.get_running_loop().time()
        if not self._fills.is_due(now):
            return False
        try:
            parts = await self._reads.live(progress.episode, progress.seq)
        except Unavailable:
            self._fills.fail(now)
            return False
        for part in parts:
            if part.seq > progress.seq:
                progress.add_part(part)
        progress.waiters.wake()
        return True

    async def _finish_episode(self, chat: Chat) -> None:
        """Deliver the remaining live parts of an attempt before the commit that ends it.

        The race: the last parts and the hint of the commit are on their way (this process was
        stopped, or the bus was), and the poll finds the commit first. Readers of the beginning
        would get the rest in one piece. The parts are in the live log. Two bounds: a bus that hangs
        must not delay committed messages (R1), and a long rest must not push readers out of the
        log.
        """
        progress = self._progress
        goes_on = Episode.of(chat).may_be(progress.episode) and not bundles.is_spent(chat)
        if goes_on or progress.spent or progress.seq == 0 or not progress.log.readers:
            return
        if not self._from.patience.is_left():
            return
        try:
            with self._from.patience.spent():
                rest = await self._reads.live(
                    progress.episode, progress.seq or 0, within_s=self._from.options.poll_grace_s
                )
        except Unavailable:
            return
        if progress.log.has_room(list(map(EncodedPart.of, rest))):
            for part in rest:
                if progress.seq is None or part.seq == progress.seq + 1:
                    progress.add_part(part)
