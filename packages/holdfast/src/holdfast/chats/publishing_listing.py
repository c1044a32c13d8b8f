"""A listing that tells of what it changed, once it is committed: those who watch their lists hear
at once, and those whom the hint does not reach find it by polling."""

from collections.abc import Callable, Collection, Mapping, Sequence

from holdfast.chats.hints import hint_of_listing
from holdfast.domain.audit import AuditEntry
from holdfast.domain.ids import ChatId, Seq, UserId
from holdfast.domain.policy import Filter
from holdfast.ports.bus import Hints
from holdfast.ports.listing import (
    ChatPatch,
    Entry,
    ListChanges,
    ListFilter,
    Listing,
    ListPosition,
    Mark,
    Share,
)


class PublishingListing:
    def __init__(
        self,
        listing: Listing,
        hints: Hints,
        seek_title: Callable[[ChatId], None] | None = None,
    ) -> None:
        """`seek_title`: told of a chat whose owner took its title away. It does not wait."""
        self._listing = listing
        self._hints = hints
        self._seek_title = seek_title

    # What changes something.

    async def update(
        self,
        may: Filter,
        chat_id: ChatId,
        patch: ChatPatch,
        *,
        pins_max: int,
        pairs_max: int,
        expected: Collection[int] | None = None,
    ) -> Entry | None:
        changed = await self._listing.update(
            may, chat_id, patch, pins_max=pins_max, pairs_max=pairs_max, expected=expected
        )
        if changed is not None and patch.title is None and self._seek_title is not None:
            self._seek_title(chat_id)
        return await self._told(changed)

    async def mark_read(self, may: Filter, chat_id: ChatId, seq: Seq) -> Seq | None:
        reached = await self._listing.mark_read(may, chat_id, seq)
        if reached is not None:
            await self._tell(chat_id, may[0].user_id)
        return reached

    async def share(
        self, may: Filter, chat_id: ChatId, with_user: UserId, audit: AuditEntry
    ) -> bool:
        changed = await self._listing.share(may, chat_id, with_user, audit)
        if changed:
            await self._tell(chat_id, with_user)
        return changed

    async def unshare(
        self, may: Filter, chat_id: ChatId, with_user: UserId, audit: AuditEntry
    ) -> bool:
        changed = await self._listing.unshare(may, chat_id, with_user, audit)
        if changed:
            await self._tell(chat_id, with_user)
        return changed

    async def _told(self, entry: Entry | None) -> Entry | None:
        if entry is not None:
            await self._tell(entry.chat_id, entry.owner_id)
        return entry

    async def _tell(self, chat_id: ChatId, user_id: UserId) -> None:
        await self._hints.publish((hint_of_listing(chat_id, user_id),))

    # What only reads.

    async def page(
        self,
        may: Filter,
        wanted: ListFilter,
        *,
        limit: int,
        after: ListPosition | None = None,
        until: ListPosition | None = None,
    ) -> Sequence[Entry]:
        return await self._listing.page(may, wanted, limit=limit, after=after, until=until)

    async def searched_until(
        self, may: Filter, *, looks_max: int, after: ListPosition | None = None
    ) -> ListPosition | None:
        return await self._listing.searched_until(may, looks_max=looks_max, after=after)

    async def find(self, may: Filter, chat_id: ChatId) -> Entry | None:
        return await self._listing.find(may, chat_id)

    async def shares(self, may: Filter, chat_id: ChatId) -> Sequence[Share]:
        return await self._listing.shares(may, chat_id)

    async def reached(self) -> Mark:
        return await self._listing.reached()

    async def changes(self, may: Filter, since: Mark, *, limit: int) -> ListChanges:
        return await self._listing.changes(may, since, limit=limit)

    async def changed_for(self, since: Mapping[UserId, Mark]) -> tuple[Mark, frozenset[UserId]]:
        return await self._listing.changed_for(since)
