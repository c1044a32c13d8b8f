"""One who watches their list of chats: a snapshot, then each chat that changed, as it is now.

A watcher knows up to which transaction it has been told everything: its mark, which is its cursor.
What it reads is what changed in a transaction from there on, so it can go on anywhere and nothing
is left out; something that changed just now may be told twice, and says the same.
"""

import asyncio
import logging
import re
from collections import deque
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, Self

from holdfast.chats import listing as lists
from holdfast.chats.hints import encode_data
from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import ChatId, Version
from holdfast.domain.policy import Action, Principal, TargetKind, rule_for
from holdfast.domain.public_ids import CHAT_ID
from holdfast.ports.listing import ListChanges, Listing, Mark
from holdfast.stream.events import CloseReason, as_sse, envelope
from holdfast.stream.failures import log_failure
from holdfast.stream.options import WatchCounters, WatchOptions

_LOG: Final = logging.getLogger(__name__)
_MARK: Final = re.compile("[1-9][0-9]{0,17}", re.ASCII)


class WatchEventType(StrEnum):
    CHATS_SNAPSHOT = "chats.snapshot"
    CHAT_UPDATED = "chat.updated"
    CHAT_REMOVED = "chat.removed"
    PING = "ping"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """`mark`: where the watcher is after this one; None if it is where it was. `version`: of the
    chat, where the event tells of one. `final`: the last of the changes that were read together."""

    kind: WatchEventType
    mark: Mark | None
    data: bytes
    version: Version | None = None
    final: bool = True

    @property
    def _cursor(self) -> bytes | None:
        return None if self.mark is None else b"%d" % self.mark

    def json(self) -> bytes:
        return envelope(self.kind.encode(), self._cursor, self.version, self.data, final=self.final)

    def sse(self) -> bytes:
        return as_sse(self.kind.encode(), self._cursor, self.json())


PING: Final = WatchEvent(WatchEventType.PING, None, b"{}")


def parse_mark(text: str) -> Mark | None:
    """None for what we never wrote: its watcher begins anew."""
    return Mark(int(text)) if _MARK.fullmatch(text) else None


class Watcher:
    """Iterate over it. Costs nothing while nothing wakes it, and reads nothing while what it said
    last is not taken."""

    def __init__(
        self,
        who: Principal,
        listing: Listing,
        after: Mark | None,
        options: WatchOptions,
        counters: WatchCounters,
    ) -> None:
        self.who = who
        self.mark = after
        self.closed = False
        self.close_reason = CloseReason.RESTART
        self._may = rule_for(who, Action.READ, TargetKind.CHAT)
        self._listing = listing
        self._options = options
        self._counters = counters
        self._stale = asyncio.Event()
        self._stale.set()
        self._ready: deque[WatchEvent] = deque()
        self._told: dict[ChatId, bytes] = {}
        self._read_again_at = 0.0

    @property
    def is_stale(self) -> bool:
        return self._stale.is_set()

    def wake(self) -> None:
        """Something changed, or may have."""
        self._stale.set()

    def reach(self, mark: Mark) -> None:
        """Nothing changed up to there."""
        if self.mark is not None and not self.is_stale:
            self.mark = max(self.mark, mark)

    def close(self) -> None:
        self.closed = True
        self.wake()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchEvent:
        loop = asyncio.get_running_loop()
        ping_at = loop.time() + self._options.ping_every_s
        while not self.closed:
            if self._ready:
                self._counters.events += 1
                return self._ready.popleft()
            if loop.time() >= ping_at:
                return PING
            try:
                async with asyncio.timeout_at(ping_at):
                    await self._stale.wait()
                    # Several changes at about the same time are one read.
                    await asyncio.sleep(max(0.0, self._read_again_at - loop.time()))
            except TimeoutError:
                continue
            if not self.closed:
                await self._catch_up(loop.time())
        raise StopAsyncIteration

    async def _catch_up(self, now: float) -> None:
        self._read_again_at = now + self._options.read_every_s
        # Before the read: what changes while it runs is read again.
        self._stale.clear()
        try:
            await self._read()
        except Exception as error:  # noqa: BLE001 - tried again (L133)
            self._counters.failed_reads += 1
            if not isinstance(error, Unavailable):  # an outage would be a line for each watcher
                log_failure(_LOG, f"stream: reading the list of {self.who.user_id} failed", error)
                self._told.clear()  # of it the next read must leave nothing out
            self._read_again_at = now + self._options.retry_s
            self._stale.set()

    async def _read(self) -> None:
        self._counters.reads += 1
        since = self.mark  # the poll may move it while we read
        if since is not None:
            limit = self._options.changes_max
            changes = await self._listing.changes(self._may, since, limit=limit)
            # A mark from beyond was never ours, or the database lost what we told.
            if changes.complete and changes.reached >= since:
                self._tell(changes)
                return
        await self._begin_anew()

    async def _begin_anew(self) -> None:
        # The mark first: what changes between the two reads is told again, not lost.
        mark = await self._listing.reached()
        page = await lists.page(
            self._listing, self.who, limit=self._options.snapshot_max, pinned="first"
        )
        self._counters.snapshots += 1
        shown = [lists.entry_json(entry) for entry in page.entries]
        self._told = {
            entry.chat_id: encode_data(each)
            for entry, each in zip(page.entries, shown, strict=True)
        }
        data = encode_data({"chats": shown, "after": page.after})
        self.mark = mark  # not before: if the page cannot be read, all of this is tried again
        self._ready.append(WatchEvent(WatchEventType.CHATS_SNAPSHOT, mark, data))

    def _tell(self, changes: ListChanges) -> None:
        if len(self._told) > self._options.told_max:
            self._told.clear()  # only spares us repeats
        told: list[WatchEvent] = []
        for entry in sorted(changes.entries, key=lambda entry: entry.touched_at):
            if entry.archived:
                told += self._removed(entry.chat_id, "archived", entry.version)
            else:
                shown, kind = lists.entry_json(entry), WatchEventType.CHAT_UPDATED
                told += self._news(entry.chat_id, kind, shown, entry.version)
        for chat_id in changes.gone:
            told += self._removed(chat_id, "unshared", None)
        self.mark = changes.reached  # not before: what raises above is read again
        # A reader that leaves in the middle is told all again: only the last moves the cursor.
        if told:
            told[-1] = replace(told[-1], mark=self.mark, final=True)
        self._ready += told

    def _removed(self, chat_id: ChatId, reason: str, version: Version | None) -> list[WatchEvent]:
        data = {"chat_id": CHAT_ID.encode(chat_id), "reason": reason}
        return self._news(chat_id, WatchEventType.CHAT_REMOVED, data, version)

    def _news(
        self, chat_id: ChatId, kind: WatchEventType, said: dict[str, Any], version: Version | None
    ) -> list[WatchEvent]:
        data = encode_data(said)
        if self._told.get(chat_id) == data:
            return []
        self._told[chat_id] = data
        return [WatchEvent(kind, None, data, version, final=False)]
