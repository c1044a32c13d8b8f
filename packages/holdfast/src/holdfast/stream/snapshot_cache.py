"""Snapshot cache: what the readers that enter a chat at about the same time share."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from holdfast.domain.chat import Chat
from holdfast.domain.ids import Version
from holdfast.stream.bundle import Bundle
from holdfast.stream.cursor import Cursor

SNAPSHOT_KEPT_S: Final = 1.0


class SnapshotCache:
    """The facts of a chat that were read last, and for one second the snapshot made of them."""

    __slots__ = ("_closed", "_expiry", "_facts_lock", "_snapshot", "_snapshot_lock", "facts")

    def __init__(self) -> None:
        self.facts: Chat | None = None
        self._facts_lock = asyncio.Lock()
        """New readers at the same time share one read of the facts. Taken before the feed's
        lock."""
        self._snapshot: Bundle | None = None
        self._snapshot_lock = asyncio.Lock()
        self._expiry: asyncio.TimerHandle | None = None
        self._closed = False

    def close(self) -> None:
        self._closed = True
        self._drop_snapshot()

    async def facts_for(
        self, cursor: Cursor | None, since: Version, read: Callable[[], Awaitable[Chat]]
    ) -> Chat:
        """The facts, read again if they are older than `since` or than the cursor."""
        async with self._facts_lock:
            chat = self.facts
            if (
                chat is None
                or chat.version < since
                or (cursor is not None and not cursor.is_known_to(chat))
            ):
                chat = await read()
            return chat

    def keep_newer(self, chat: Chat) -> None:
        if self.facts is None or self.facts.version <= chat.version:
            self.facts = chat

    async def snapshot(self, chat: Chat, read: Callable[[Chat], Awaitable[Bundle]]) -> Bundle:
        """The snapshot of these facts, read if the cache holds another one or none."""
        async with self._snapshot_lock:
            snapshot = self._snapshot
            if snapshot is None or (snapshot.version, snapshot.stamp) != (chat.version, chat.stamp):
                snapshot = self._snapshot = await read(chat)
                if self._expiry is None and not self._closed:
                    loop = asyncio.get_running_loop()
                    self._expiry = loop.call_later(SNAPSHOT_KEPT_S, self._drop_snapshot)
            return snapshot

    def _drop_snapshot(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        self._snapshot = self._expiry = None
