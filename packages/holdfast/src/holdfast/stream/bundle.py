"""What brings a reader from one version to another, as events in order, encoded once.

Made from the commit in a hint, or from rows for a reader that was away. Rows of several revisions
become one bundle, and each event says up to which version and place it leads, so that a cursor
taken in its middle is as good as any (R2). Edits hide suffixes, so of each revision a prefix is
left, and places counted from rows are those of the commit.

Another attempt at the same step takes no preview back by itself: its worker may go on from the
words of the one that died, and commit them (L153). If it says something else, the first part does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from holdfast.chats.hints import EncodedEvent, Inline, encode_data
from holdfast.domain.chat import Chat
from holdfast.domain.driving import RUNNABLE
from holdfast.domain.events import (
    EventType,
    PreviewEnd,
    ReaderEvent,
    ResetReason,
    history_reset,
    is_shown,
    message_json,
    of_state,
)
from holdfast.domain.ids import NO_STAMP, NO_VERSION, Seq, Version, VersionStamp
from holdfast.domain.messages import Message
from holdfast.ports.bus import Episode, Hint
from holdfast.ports.history import Changes, HistoryPage
from holdfast.stream.events import preview_reset_data

ENDS_PREVIEW: Final = frozenset(
    {EventType.HISTORY_RESET, EventType.MESSAGE_CREATED, EventType.PREVIEW_RESET}
)
_EVENT_BYTES: Final = 120
"""About what an event costs beside its data."""


@dataclass(frozen=True, slots=True)
class BundleEvent:
    """`place`: None if it cannot be known, because what was read begins inside a revision.
    `history_stamp`: of the history as of `version`."""

    kind: EventType
    version: Version
    place: int | None
    data: bytes
    history_stamp: VersionStamp = NO_STAMP


@dataclass(frozen=True, slots=True)
class Bundle:
    """For a reader that knows `since` (0: nothing) and will know `version`.

    `spent`: nothing more is said in the episode. `anew`: too much was missed to be told, or what
    was told before was lost; a reader that meets this asks for a snapshot. `stamp`,
    `history_stamp`: of `version` and of the history as of it.
    """

    since: Version
    version: Version
    episode: Episode
    spent: bool
    events: tuple[BundleEvent, ...]
    anew: bool = False
    stamp: VersionStamp = NO_STAMP
    history_stamp: VersionStamp = NO_STAMP

    @property
    def weight(self) -> int:
        return _EVENT_BYTES + sum(_EVENT_BYTES + len(event.data) for event in self.events)


def is_spent(chat: Chat) -> bool:
    """At rest; or a person asked to try again, and the attempt that failed is still the last."""
    return chat.status not in RUNNABLE or 0 < chat.attempt == chat.attempts_forgiven


def of_hint(hint: Hint, inline: Inline, before: Episode, *, spent: bool) -> Bundle:
    """The commit that a hint carries, for a reader that knows the version before it."""
    stamps = inline.stamps
    episode = Episode(hint.history_version, inline.attempt, stamps.history)
    spent = hint.status not in RUNNABLE or (spent and episode.may_be(before))
    events = _of_commit(hint.version, inline.events, stamps.history)
    if spent or episode.history_version != before.history_version:
        events = _with_preview_end(events, hint.version, episode, stamps.history)
    return Bundle(
        Version(hint.version - 1),
        hint.version,
        episode,
        spent,
        tuple(events),
        stamp=stamps.commit,
        history_stamp=stamps.history,
    )


def of_nothing(chat: Chat) -> Bundle:
    """For a reader that knows it all."""
    return _bundle(chat, chat.version, ())


def of_changes(chat: Chat, since: Version, place: int | None, changes: Changes | None) -> Bundle:
    """What a reader has missed that knows `since`, or of that commit the bundle up to `place`.

    `changes`: None if the history is the one that it knows.
    """
    written = () if changes is None else changes.written
    messages = [
        event
        for event in _messages(written)
        if place is None or event.version > since or (event.place or 0) > place
    ]
    own = sum(1 for m in written if m.revision == chat.version and is_shown(m.body))
    states = [
        _event(told, chat)
        for told in of_state(chat, own)
        if not (since == chat.version and place is not None and told.place <= place)
        and (told.kind is not EventType.QUEUE_UPDATED or _queue_is_news(chat, since, place))
    ]
    events = [*messages, *states]
    if changes is not None and changes.hidden_from is not None:
        reset = history_reset(changes.hidden_from, _reset_reason(changes.written))
        events.insert(0, _reset_before(events, reset, chat))
    elif messages and messages[0].version > since + 1:
        # Of which attempt it is cannot be told: another one may have begun in between, and what
        # this reader was shown of the one before is then in no message (M4).
        first = messages[0].version
        events.insert(0, _preview_reset(first, None, chat.attempt, PreviewEnd.UNKNOWN))
    if changes is not None or is_spent(chat):
        events = _with_preview_end(events, chat.version, Episode.of(chat), chat.history_stamp)
    return _bundle(chat, since, events)


def with_hidden_of(whole: Changes, later: Changes) -> Changes:
    return replace(whole, hidden_from=later.hidden_from)


def of_snapshot(chat: Chat, page: HistoryPage, bytes_max: int) -> Bundle:
    """All that a new reader needs: forget what you know, the end of the history, the state."""
    kept, older = _newest(page, bytes_max)
    events = list(_messages(kept))
    if older is not None and kept:
        # The page may begin inside a revision. No cursor, rather than a wrong one.
        first = kept[0].revision
        events = [e if e.version > first else _without_place(e) for e in events]
    reset = _reset_before(events, history_reset(Seq(1), ResetReason.SNAPSHOT, older), chat)
    own = sum(1 for m in kept if m.revision == chat.version and is_shown(m.body))
    states = [_event(told, chat) for told in of_state(chat, own)]
    if events and events[-1].version == chat.version and events[-1].place is None:
        states = [_without_place(event) for event in states]
    return _bundle(chat, NO_VERSION, (reset, *events, *states))


def to_begin_anew(chat: Chat, since: Version) -> Bundle:
    return _bundle(chat, since, (), anew=True)


def _bundle(
    chat: Chat, since: Version, events: Sequence[BundleEvent], *, anew: bool = False
) -> Bundle:
    """That leads to these facts."""
    return Bundle(
        since,
        chat.version,
        Episode.of(chat),
        is_spent(chat),
        tuple(events),
        anew=anew,
        stamp=chat.stamp,
        history_stamp=chat.history_stamp,
    )


def _of_commit(
    version: Version, events: Sequence[EncodedEvent], history_stamp: VersionStamp
) -> list[BundleEvent]:
    return [
        BundleEvent(event.kind, version, event.place, event.data, history_stamp) for event in events
    ]


def _with_preview_end(
    events: list[BundleEvent], version: Version, episode: Episode, history_stamp: VersionStamp
) -> list[BundleEvent]:
    """See to it that something takes the preview back; readers that were shown none skip it."""
    if any(event.kind in ENDS_PREVIEW for event in events):
        return events
    reset = _preview_reset(version, 1, episode.attempt, PreviewEnd.ENDED, history_stamp)
    return [reset, *events]


def _preview_reset(
    version: Version,
    place: int | None,
    attempt: int,
    reason: PreviewEnd,
    history_stamp: VersionStamp = NO_STAMP,
) -> BundleEvent:
    data = preview_reset_data(attempt, reason)
    return BundleEvent(EventType.PREVIEW_RESET, version, place, data, history_stamp)


def _reset_reason(written: Sequence[Message]) -> ResetReason:
    """An edit writes a message of its own; a restore writes copies, or nothing."""
    is_edit = bool(written) and written[0].copied_from is None
    return ResetReason.EDIT if is_edit else ResetReason.RESTORE


def _reset_before(events: Sequence[BundleEvent], told: ReaderEvent, chat: Chat) -> BundleEvent:
    """Leads to just before what follows it: everything that was hidden is forgotten by then."""
    if not events or events[0].kind is not EventType.MESSAGE_CREATED:
        return replace(_event(told, chat), place=0)
    place = events[0].place
    return replace(
        events[0],
        kind=told.kind,
        place=None if place is None else place - 1,
        data=encode_data(told.data),
    )


def _queue_is_news(chat: Chat, since: Version, place: int | None) -> bool:
    # The queue is the last of its bundle: who stopped at a place has not seen that commit's.
    return chat.queue_version > since or (place is not None and chat.queue_version == since)


def _messages(written: Sequence[Message]) -> Iterator[BundleEvent]:
    revision, place = NO_VERSION, 0
    for message in written:
        if not is_shown(message.body):
            continue
        place = place + 1 if message.revision == revision else 1
        revision = message.revision
        data = encode_data(message_json(message))
        yield BundleEvent(EventType.MESSAGE_CREATED, revision, place, data, message.stamp)


def _newest(page: HistoryPage, bytes_max: int) -> tuple[Sequence[Message], Seq | None]:
    """The end of a page that fits, and the seq before which there is more."""
    size = 0
    for index in range(len(page.messages) - 1, -1, -1):
        size += len(encode_data(message_json(page.messages[index])))
        if size > bytes_max and index < len(page.messages) - 1:
            kept = page.messages[index + 1 :]
            return kept, kept[0].seq
    return page.messages, page.before


def _event(told: ReaderEvent, chat: Chat) -> BundleEvent:
    data = encode_data(told.data)
    return BundleEvent(told.kind, chat.version, told.place, data, chat.history_stamp)


def _without_place(event: BundleEvent) -> BundleEvent:
    return replace(event, place=None)
