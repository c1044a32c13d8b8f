"""Lists of chats, as a user may see them, and the facts of a chat that only lists need.

Nothing here changes a version: titles, pins, labels and shares are not history (L73).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import Final, Literal, NewType, Protocol

from holdfast.domain.audit import AuditEntry
from holdfast.domain.chat import Status
from holdfast.domain.ids import ChatId, OrgId, Seq, UserId, Version
from holdfast.domain.parts import Need
from holdfast.domain.policy import Filter


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A chat in a list. `pinned` is the owner's own, and False for other users."""

    chat_id: ChatId
    org_id: OrgId
    owner_id: UserId
    title: str | None
    title_source: Literal["user", "model", "first_words"] | None
    turn_label: str | None  # what the last turn came to, in a few words
    summary: str | None
    status: Status
    archived: bool
    pinned: bool
    labels: tuple[str, ...]
    metadata: Mapping[str, str]
    version: Version
    history_version: Version
    listed: int
    """How often title, pin, labels or metadata have changed, which no version counts."""
    last_seq: Seq
    read_seq: Seq
    queue_length: int
    touched_at: datetime
    created_at: datetime
    needs: Need | None = None  # what it waits for from outside

    @property
    def unread(self) -> bool:
        return self.last_seq > self.read_seq


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFilter:
    """Which of the visible chats. None: any."""

    statuses: frozenset[Status] | None = None
    archived: bool | None = False
    pinned: bool | None = None
    label: str | None = None
    metadata: Mapping[str, str] | None = None
    title_has: str | None = None
    whose: Literal["own", "shared"] | None = None

    @property
    def searches(self) -> bool:
        """Whether most chats may be looked at in vain."""
        asked = (self.title_has, self.label, self.statuses, self.metadata or None)
        return any(each is not None for each in asked)


class Unchanged(Enum):
    """A field that a patch leaves as it is; None is a value of its own."""

    UNCHANGED = auto()


UNCHANGED: Final = Unchanged.UNCHANGED


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPatch:
    """What to change in how a chat is listed; the other fields stay. `title`: None takes it away,
    so that the server may find one again. `metadata`: merged; None as a value removes the pair, and
    None as a whole removes all."""

    title: str | Unchanged | None = UNCHANGED
    pinned: bool | None = None
    labels: tuple[str, ...] | None = None
    metadata: Mapping[str, str | None] | Unchanged | None = UNCHANGED


@dataclass(frozen=True, slots=True)
class ListPosition:
    """Where a page ended: by when a chat was last touched, then by its id."""

    touched_at: datetime
    chat_id: ChatId


@dataclass(frozen=True, slots=True)
class Share:
    user_id: UserId
    name: str
    email: str | None


Mark = NewType("Mark", int)
"""A transaction: whatever committed before it has been seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListChanges:
    """What changed in a list, and up to where that is all of it. `gone`: not, or no longer, to be
    seen. Something that changed just now may be told again, but nothing is left out."""

    reached: Mark
    entries: tuple[Entry, ...]
    gone: tuple[ChatId, ...]
    complete: bool


class Listing(Protocol):
    """Every method is one statement and filters in it; None: unknown, or not yours."""

    async def page(
        self,
        may: Filter,
        wanted: ListFilter,
        *,
        limit: int,
        after: ListPosition | None = None,
        until: ListPosition | None = None,
    ) -> Sequence[Entry]:
        """After one place, up to another and with it. Raises `TooSlow`."""
        ...

    async def searched_until(
        self, may: Filter, *, looks_max: int, after: ListPosition | None = None
    ) -> ListPosition | None:
        """The place of the chat that comes after so many of one's own; None: there is none."""
        ...

    async def find(self, may: Filter, chat_id: ChatId) -> Entry | None: ...

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
        """None also if `listed` is none of `expected`, if the owner has `pins_max` pins, or if the
        metadata would have more than `pairs_max` pairs."""
        ...

    async def mark_read(self, may: Filter, chat_id: ChatId, seq: Seq) -> Seq | None:
        """Move the cursor of the one who asks, and only forward; say where it is now."""
        ...

    async def share(
        self, may: Filter, chat_id: ChatId, with_user: UserId, audit: AuditEntry
    ) -> bool:
        """False if there was nothing to do or to share."""
        ...

    async def unshare(
        self, may: Filter, chat_id: ChatId, with_user: UserId, audit: AuditEntry
    ) -> bool: ...

    async def shares(self, may: Filter, chat_id: ChatId) -> Sequence[Share]: ...

    # For those who watch their lists.

    async def reached(self) -> Mark:
        """The position of a reader that reads after this call."""
        ...

    async def changes(self, may: Filter, since: Mark, *, limit: int) -> ListChanges: ...

    async def changed_for(self, since: Mapping[UserId, Mark]) -> tuple[Mark, frozenset[UserId]]:
        """Whose lists changed, of these users; one statement for all, and no content."""
        ...
