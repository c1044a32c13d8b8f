"""Lists of chats, and the verbs that are about lists: update, share, mark as read.

Archiving is a command of the ledger (`chats/steer.py`). A page ends at a place, not at a number: it
is where the next one goes on whatever was added, touched or removed meanwhile. A chat that is
spoken to moves to the front, so that a reader who has passed the front does not meet it again.
"""

import base64
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from holdfast.chats.changes import Actor, Overseer
from holdfast.domain.audit import AuditAction, AuditEntry
from holdfast.domain.chat import ListedFacts, Status
from holdfast.domain.denials import FieldRefused, NotFound
from holdfast.domain.errors import ChangedMeanwhile, ChatNotFound
from holdfast.domain.ids import ChatId, Seq, UserId
from holdfast.domain.policy import Action, Principal, TargetKind, rule_for
from holdfast.domain.public_ids import CHAT_ID, USER_ID
from holdfast.ports.clock import Clock
from holdfast.ports.listing import (
    ChatPatch,
    Entry,
    ListFilter,
    Listing,
    ListPosition,
    Share,
    Unchanged,
)

PAGE_MAX: Final = 200
PINS_MAX: Final = 50
LABELS_MAX: Final = 20
LABEL_CHARS_MAX: Final = 60
TITLE_CHARS_MAX: Final = 200
METADATA_PAIRS_MAX: Final = 50
METADATA_KEY_CHARS_MAX: Final = 64
METADATA_VALUE_CHARS_MAX: Final = 512
SEARCH_CHARS_MAX: Final = 200
SEARCH_LOOKS_MAX: Final = 20_000
"""Chats of one's own that one search looks at; its next page goes on after them."""


TURN_LABELS: Final[Mapping[Status, str]] = {
    Status.AWAITING: "Waiting for you",
    Status.FAILED: "Hit an error",
}
"""What a list says of the last turn where that is no model's to say."""


@dataclass(frozen=True, slots=True)
class ListPage:
    """`after`: the cursor of the next page; None if this was the last. A page of a search may be
    short, or empty, and yet not the last."""

    entries: tuple[Entry, ...]
    after: str | None


async def page(
    listing: Listing,
    who: Principal,
    wanted: ListFilter | None = None,
    *,
    limit: int = 50,
    after: str | None = None,
    pinned: Literal["first", "mixed"] = "mixed",
    looks_max: int = SEARCH_LOOKS_MAX,
) -> ListPage:
    """The chats that one may read, last touched first. With `pinned="first"` the first page begins
    with all of one's pins, beyond the limit, and no page has them again.

    A search looks at `looks_max` chats at a time: a word that is nowhere must not read them all."""
    assert 1 <= limit <= PAGE_MAX
    wanted = wanted or ListFilter()
    if wanted.title_has is not None and len(wanted.title_has) > SEARCH_CHARS_MAX:
        raise FieldRefused("q", f"at most {SEARCH_CHARS_MAX} characters", within="query")
    may = rule_for(who, Action.READ, TargetKind.CHAT)
    place = None if after is None else decode_cursor(after)
    first: Sequence[Entry] = ()
    if pinned == "first" and wanted.pinned is None:
        if place is None:
            first = await listing.page(may, replace(wanted, pinned=True), limit=PINS_MAX)
        wanted = replace(wanted, pinned=False)
    until: ListPosition | None = None
    if wanted.searches and wanted.whose != "shared":
        until = await listing.searched_until(may, looks_max=looks_max, after=place)
    found = await listing.page(may, wanted, limit=limit + 1, after=place, until=until)
    return _page((*first, *found[:limit]), found, limit, until)


async def oversee(
    listing: Listing,
    who: Principal,
    wanted: ListFilter | None = None,
    *,
    limit: int = 50,
    after: str | None = None,
) -> ListPage:
    """All the chats of the organisation, for its admins: that they are there, not what they say.

    Titles, summaries, labels and metadata are left out: they are the owner's words, or a summary of
    them.
    """
    assert 1 <= limit <= PAGE_MAX
    may = rule_for(who, Action.OVERSEE, TargetKind.CHAT)
    # Nor may one find out by asking for chats whose title or label has a word in it.
    wanted = replace(
        wanted or ListFilter(), title_has=None, label=None, metadata=None, pinned=None, whose=None
    )
    place = None if after is None else decode_cursor(after)
    found = await listing.page(may, wanted, limit=limit + 1, after=place)
    shown = tuple(_without_words(each) for each in found[:limit])
    return _page(shown, found, limit)


def _without_words(entry: Entry) -> Entry:
    return replace(
        entry,
        title=None,
        title_source=None,
        turn_label=None,
        summary=None,
        labels=(),
        metadata={},
    )


def _page(
    shown: Sequence[Entry], found: Sequence[Entry], limit: int, until: ListPosition | None = None
) -> ListPage:
    """`until`: where the next page goes on if this one is not full."""
    if len(found) > limit:
        last = found[limit - 1]
        until = ListPosition(last.touched_at, last.chat_id)
    return ListPage(tuple(shown), None if until is None else encode_cursor(until))


async def find(
    listing: Listing, who: Principal, chat_id: ChatId, action: Action = Action.READ
) -> Entry:
    """The chat, if one may do this to it; else `ChatNotFound`, as if it were not there (A1).

    The edge asks before it reads history or follows a chat: those do not ask.
    """
    entry = await listing.find(rule_for(who, action, TargetKind.CHAT), chat_id)
    return _found(chat_id, entry)


def reading(version: int | None) -> Action:
    """What one does who reads a history as of a version (None: the present one)."""
    return Action.READ if version is None else Action.READ_BRANCHES


def driver(who: Principal) -> Actor:
    """As whom to command the ledger, which lets only the owner (L128)."""
    rule_for(who, Action.DRIVE, TargetKind.CHAT)
    return Actor(who.org_id, who.user_id)


def approver(who: Principal) -> Actor:
    """As whom to decide about tool calls."""
    rule_for(who, Action.APPROVE, TargetKind.CHAT)
    return Actor(who.org_id, who.user_id)


def overseer(who: Principal) -> Overseer:
    """As whom to stop chats of other users."""
    rule_for(who, Action.STOP, TargetKind.CHAT)
    return Overseer(who.org_id)


def stopped_by(who: Principal, clock: Clock, chat_id: ChatId) -> AuditEntry:
    """What the audit log is told when an admin stops a chat."""
    return _entry(who, clock, AuditAction.CHAT_STOPPED, chat_id)


async def update(
    listing: Listing,
    who: Principal,
    chat_id: ChatId,
    patch: ChatPatch,
    *,
    expected: Collection[int] | None = None,
) -> Entry:
    """Change title, pin and labels, in one statement. `expected`: `ChangedMeanwhile` if `listed` is
    none of these."""
    may = rule_for(who, Action.CHANGE, TargetKind.CHAT)
    cleaned = _cleaned(patch)
    entry = await listing.update(
        may,
        chat_id,
        cleaned,
        pins_max=PINS_MAX,
        pairs_max=METADATA_PAIRS_MAX,
        expected=expected,
    )
    if entry is not None:
        return entry
    there = _found(chat_id, await listing.find(may, chat_id))
    if expected is None or there.listed in expected:
        if _merged_count(there, cleaned) > METADATA_PAIRS_MAX:
            raise FieldRefused("metadata", f"at most {METADATA_PAIRS_MAX} pairs")
        if cleaned.pinned:
            raise FieldRefused("pinned", f"at most {PINS_MAX} chats")
    raise ChangedMeanwhile


def _merged_count(there: Entry, patch: ChatPatch) -> int:
    if patch.metadata is None or isinstance(patch.metadata, Unchanged):
        return 0
    merged = {**there.metadata, **patch.metadata}
    return sum(value is not None for value in merged.values())


def _cleaned(patch: ChatPatch) -> ChatPatch:
    if isinstance(patch.title, str):
        patch = replace(patch, title=clean_line(patch.title, "title", TITLE_CHARS_MAX))
    if patch.labels is not None:
        patch = replace(patch, labels=_cleaned_labels(patch.labels))
    return patch


def _cleaned_labels(given: Sequence[str]) -> tuple[str, ...]:
    labels = dict.fromkeys(clean_line(each, "labels", LABEL_CHARS_MAX) for each in given)
    if len(labels) > LABELS_MAX:
        raise FieldRefused("labels", f"at most {LABELS_MAX}")
    return tuple(labels)


def new_facts(title: str | None, labels: Sequence[str], metadata: Mapping[str, str]) -> ListedFacts:
    """How lists show a chat that is to be created."""
    return ListedFacts(
        title=None if title is None else clean_line(title, "title", TITLE_CHARS_MAX),
        labels=_cleaned_labels(labels),
        metadata=metadata,
    )


async def mark_read(listing: Listing, who: Principal, chat_id: ChatId, seq: Seq) -> Seq:
    """How far the one who asks has read, and no other user (L129)."""
    reached = await listing.mark_read(rule_for(who, Action.READ, TargetKind.CHAT), chat_id, seq)
    if reached is None:
        raise ChatNotFound(chat_id)
    return reached


async def share(
    listing: Listing, clock: Clock, who: Principal, chat_id: ChatId, with_user: UserId
) -> None:
    """Let a user of the same organisation read a chat. Twice is once."""
    may = rule_for(who, Action.SHARE, TargetKind.CHAT)
    entry = _entry(who, clock, AuditAction.CHAT_SHARED, chat_id, with_user)
    if await listing.share(may, chat_id, with_user, entry):
        return
    _found(chat_id, await listing.find(may, chat_id))
    if with_user not in {each.user_id for each in await listing.shares(may, chat_id)}:
        raise NotFound(TargetKind.USER, with_user)


async def unshare(
    listing: Listing, clock: Clock, who: Principal, chat_id: ChatId, with_user: UserId
) -> None:
    may = rule_for(who, Action.SHARE, TargetKind.CHAT)
    entry = _entry(who, clock, AuditAction.CHAT_UNSHARED, chat_id, with_user)
    if not await listing.unshare(may, chat_id, with_user, entry):
        _found(chat_id, await listing.find(may, chat_id))


async def shares(listing: Listing, who: Principal, chat_id: ChatId) -> Sequence[Share]:
    """With whom it is shared; for its owner."""
    may = rule_for(who, Action.SHARE, TargetKind.CHAT)
    found = await listing.shares(may, chat_id)
    if not found:
        _found(chat_id, await listing.find(may, chat_id))
    return found


def clean_line(text: str, field: str, chars_max: int) -> str:
    """One line of text: blanks and line breaks become one space each."""
    text = " ".join(unicodedata.normalize("NFC", text).split())
    if not text or len(text) > chars_max:
        raise FieldRefused(field, f"between 1 and {chars_max} characters")
    return text


def entry_json(entry: Entry) -> dict[str, Any]:
    """A chat in a list, as people are told of it."""
    return {
        "id": CHAT_ID.encode(entry.chat_id),
        "owner_id": USER_ID.encode(entry.owner_id),
        "title": entry.title,
        "title_source": entry.title_source,
        "turn_label": entry.turn_label or TURN_LABELS.get(entry.status),
        "summary": entry.summary,
        "status": entry.status,
        "archived": entry.archived,
        "pinned": entry.pinned,
        "labels": entry.labels,
        "metadata": entry.metadata,
        "version": entry.version,
        "last_seq": entry.last_seq,
        "read_seq": entry.read_seq,
        "unread": entry.unread,
        "queue_length": entry.queue_length,
        "updated_at": entry.touched_at,
        "created_at": entry.created_at,
        "action_required": entry.needs,
    }


def encode_cursor(place: ListPosition) -> str:
    said = f"{place.touched_at.isoformat()} {place.chat_id}"
    return base64.urlsafe_b64encode(said.encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> ListPosition:
    try:
        said = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True).decode()
        at, chat_id = said.split(" ")
        place = ListPosition(datetime.fromisoformat(at), ChatId(UUID(chat_id)))
    except ValueError as error:
        raise FieldRefused("cursor", "not a cursor of this list", within="query") from error
    if place.touched_at.tzinfo is None or encode_cursor(place) != cursor:
        raise FieldRefused("cursor", "not a cursor of this list", within="query")
    return place


def _found(chat_id: ChatId, entry: Entry | None) -> Entry:
    if entry is None:
        raise ChatNotFound(chat_id)
    return entry


def _entry(
    who: Principal,
    clock: Clock,
    action: AuditAction,
    chat_id: ChatId,
    with_user: UserId | None = None,
) -> AuditEntry:
    return AuditEntry(
        org_id=who.org_id,
        at=clock.now(),
        action=action,
        actor_id=who.user_id,
        credential=who.credential,
        target_kind=TargetKind.CHAT,
        target_id=chat_id,
        detail={} if with_user is None else {"user_id": str(with_user)},
    )
