"""What readers need of one chat, read from the store, its history and the bus's live log."""

import asyncio
from collections.abc import Sequence

from holdfast.domain.chat import Chat
from holdfast.domain.errors import ChatNotFound, Unavailable
from holdfast.domain.ids import ChatId, Version
from holdfast.ports.bus import Episode, LivePart
from holdfast.ports.history import Changes
from holdfast.stream import bundle as bundles
from holdfast.stream.bundle import Bundle
from holdfast.stream.cursor import Cursor
from holdfast.stream.log import EncodedPart
from holdfast.stream.snapshot_cache import SnapshotCache
from holdfast.stream.sources import Sources


class ChatReads:
    def __init__(self, chat_id: ChatId, sources: Sources, cache: SnapshotCache) -> None:
        self.chat_id = chat_id
        self._from = sources
        self._cache = cache

    async def load(self) -> Chat:
        self._from.counters.reads += 1
        loaded = await self._from.store.load(self.chat_id)
        if loaded is None:
            raise ChatNotFound(self.chat_id)
        return loaded.facts.chat

    async def missed(self, chat: Chat, after: Cursor) -> Bundle | None:
        """What a reader there has missed of this chat; None if it is too much to be told, or if the
        reader saw commits that were lost."""
        since, place = after.version, after.place
        if since > chat.version:
            return None
        if chat.history_version <= since and not after.may_be_of(chat.history_stamp):
            return None
        changes = None
        if chat.history_version > since or (place is not None and chat.history_version == since):
            changes = await self._changes(chat, after)
            if changes is None:
                return None
        bundle = bundles.of_changes(chat, since, place, changes)
        return bundle if bundle.weight <= self._from.options.missed_bytes_max else None

    async def _changes(self, chat: Chat, after: Cursor) -> Changes | None:
        limit, bytes_max = self._from.options.missed_max, self._from.options.missed_bytes_max

        async def read(version: Version) -> Changes | None:
            self._from.counters.reads += 1
            changes = await self._from.history.changes_since(
                chat.chat_id, version, limit=limit, as_of=chat.version, bytes_max=bytes_max
            )
            return changes if changes is not None and changes.complete else None

        changes = await read(after.version)
        if changes is None or not after.may_be_of(changes.history_stamp):
            return None
        if after.place is None:
            return changes
        # In the middle of a commit: its other messages, too, but what it hid was told at place 0.
        whole = await read(Version(after.version - 1))
        return None if whole is None else bundles.with_hidden_of(whole, changes)

    async def bundle_for(self, cursor: Cursor | None, chat: Chat) -> Bundle:
        """What brings a reader from its cursor to these facts."""
        if cursor is not None and cursor.is_known_to(chat):
            if cursor.version == chat.version and cursor.place is None:
                return bundles.of_nothing(chat)
            missed = await self.missed(chat, cursor)
            if missed is not None:
                return missed
        # The end of the history and the state, as these facts have them.
        self._from.counters.snapshots += 1
        return await self._cache.snapshot(chat, self._read_snapshot)

    async def _read_snapshot(self, chat: Chat) -> Bundle:
        options = self._from.options
        self._from.counters.reads += 1
        page = await self._from.history.page(
            chat.chat_id,
            limit=options.snapshot_max,
            as_of=chat.version,
            bytes_max=options.snapshot_bytes_max,
        )
        return bundles.of_snapshot(chat, page, options.snapshot_bytes_max)

    async def live(
        self, episode: Episode, seq: int, *, within_s: float | None = None
    ) -> Sequence[LivePart]:
        """The race: a bus that hangs would hold the lock, or a reader, for as long as its own
        patience lasts, and what was committed meanwhile would wait behind words that may never
        come. So no longer than the poll takes to find it (R1)."""
        self._from.counters.live_reads += 1
        try:
            async with asyncio.timeout(
                self._from.options.poll_every_s if within_s is None else within_s
            ):
                return await self._from.bus.read_live(self.chat_id, episode, seq)
        except TimeoutError as late:
            raise Unavailable("the bus did not say in time what was said") from late

    async def said_since(self, episode: Episode, seq: int) -> tuple[list[EncodedPart], bool]:
        """The parts after a number, as many as a reader may hold, and whether there are more."""
        said: list[EncodedPart] = []
        size = 0
        for part in await self.live(episode, seq):
            if size > self._from.options.parts_bytes_max:
                return said, True
            said.append(EncodedPart.of(part))
            size += said[-1].weight
        return said, False
