"""How a commit travels inside a hint, so that watching costs no read: its events, encoded once.

    <attempt> <stamp> <history_stamp> <after>\n
    <place> <kind> <json>\n        for each event, in order

A follower splices the JSON through and never decodes it. A commit that is too long, or whose
messages only the database knows (a restore or a fork copies them), is left out: the reader reads
the truth. An older version of the software writes the attempt alone, and reads the truth if there
is more.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, NamedTuple, cast

import orjson

from holdfast.domain.chat import Chat, Status
from holdfast.domain.driving import RUNNABLE
from holdfast.domain.events import EventType, ReaderEvent, of_commit
from holdfast.domain.ids import NO_STAMP, NO_VERSION, ChatId, UserId, Version, VersionStamp
from holdfast.domain.messages import Message
from holdfast.domain.outcome import Outcome
from holdfast.domain.parts import JsonValue
from holdfast.domain.times import wire_time
from holdfast.ports.bus import Hint

INLINE_BYTES_MAX: Final = 64 * 1024
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class EncodedEvent:
    kind: EventType
    place: int
    data: bytes


class Stamps(NamedTuple):
    """Of a commit, of the history that it leaves, and of the commit that it follows: a reader that
    knows another one at that version saw what was lost (L146)."""

    commit: VersionStamp = NO_STAMP
    history: VersionStamp = NO_STAMP
    after: VersionStamp = NO_STAMP


NO_STAMPS: Final = Stamps()


@dataclass(frozen=True, slots=True)
class Inline:
    """A commit as a hint carries it."""

    attempt: int
    events: tuple[EncodedEvent, ...]
    stamps: Stamps = NO_STAMPS


def hint_of(outcome: Outcome, messages: Sequence[Message], *, by_owner: bool) -> Hint:
    """What to publish of a commit; `by_owner`: the worker that drives the chat made it."""
    chat = outcome.chat
    inline = b""
    if outcome.restored is None and outcome.forked is None:
        inline = encode_inline(
            chat.attempt,
            of_commit(outcome.before, chat, messages, outcome.hidden_from),
            Stamps(chat.stamp, chat.history_stamp, outcome.before.stamp),
        )
    return Hint(
        chat.chat_id,
        chat.version,
        chat.status,
        history_version=chat.history_version,
        runnable=chat.worker_id is None and chat.status in RUNNABLE,
        worker_id=None if by_owner else chat.worker_id,
        listed_for=chat.owner_id if outcome.lists else None,
        inline=inline,
    )


def hint_of_acquiring(chat: Chat) -> Hint:
    """What to publish of the attempt that acquiring this chat has begun.

    No preview is taken back: what a dead worker's model had said may become a message yet (L153).
    If it does not, the first part of the new attempt takes it back (stream/follower.py).
    """
    before = replace(chat, version=Version(chat.version - 1), attempt=chat.attempt - 1)
    told = [
        event for event in of_commit(before, chat, ()) if event.kind is not EventType.PREVIEW_RESET
    ]
    return Hint(
        chat.chat_id,
        chat.version,
        chat.status,
        history_version=chat.history_version,
        inline=encode_inline(
            chat.attempt, told, Stamps(chat.stamp, chat.history_stamp, chat.stamp)
        ),
    )


def hint_of_release(chat: Chat) -> Hint:
    """What to publish of a chat that its worker let go: nothing changed but that it waits."""
    return Hint(
        chat.chat_id,
        chat.version,
        chat.status,
        history_version=chat.history_version,
        runnable=chat.status in RUNNABLE,
    )


def hint_of_listing(chat_id: ChatId, user_id: UserId) -> Hint:
    """What to publish when only a user's list changed: for that user alone."""
    return Hint(chat_id, NO_VERSION, Status.IDLE, listed_for=user_id)


def encode_inline(attempt: int, events: Sequence[ReaderEvent], stamps: Stamps = NO_STAMPS) -> bytes:
    lines = [b"%d %d %d %d" % (attempt, *stamps)]
    lines += [b"%d %b %b" % (e.place, e.kind.encode(), encode_data(e.data)) for e in events]
    inline = b"\n".join(lines)
    return inline if len(inline) <= INLINE_BYTES_MAX else b""


def decode_inline(inline: bytes) -> Inline | None:
    """None if there is nothing to read, or nothing that this version understands."""
    head, *lines = inline.split(b"\n")
    try:
        attempt, *stamps = map(int, head.split(b" "))
        return Inline(attempt, tuple(_event(line) for line in lines), _stamps(stamps))
    except ValueError:
        return None


def _stamps(given: Sequence[int]) -> Stamps:
    """A newer version may say more."""
    commit, history, after = (*map(VersionStamp, given), *NO_STAMPS)[:3]
    return Stamps(commit, history, after)


def _event(line: bytes) -> EncodedEvent:
    place, kind, data = line.split(b" ", 2)
    return EncodedEvent(EventType(kind.decode()), int(place), data)


def encode_data(data: JsonValue) -> bytes:
    """JSON without line breaks, for readers: what is no character becomes U+FFFD.

    A copy: what orjson gives holds on to its whole buffer, 4 KiB however little it says, and logs,
    snapshots and mailboxes keep thousands of these.
    """
    try:
        return b"%b" % orjson.dumps(data, _wire, orjson.OPT_PASSTHROUGH_DATETIME)
    except TypeError:  # a lone surrogate, which history keeps and JSON cannot say
        plain = _without_surrogates(data)
        return b"%b" % orjson.dumps(plain, _wire, orjson.OPT_PASSTHROUGH_DATETIME)


def _wire(value: object) -> str:
    if isinstance(value, datetime):
        return wire_time(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _without_surrogates(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return _SURROGATE.sub("\ufffd", value)
        case dict():
            pairs = cast("dict[str, Any]", value).items()
            return {cast(str, _without_surrogates(k)): _without_surrogates(v) for k, v in pairs}
        case list() | tuple():
            return [_without_surrogates(each) for each in cast("Sequence[Any]", value)]
        case _:
            return value
