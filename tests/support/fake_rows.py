"""The rows of a chat in memory, for the fake store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from holdfast.domain.chat import Chat, Origin, Past, Target
from holdfast.domain.driving import begun_by_acquiring
from holdfast.domain.events import is_shown
from holdfast.domain.heads import stored_bytes
from holdfast.domain.ids import NO_STAMP, ClientKey, QueuedId, Seq, Version, VersionStamp
from holdfast.domain.messages import Message, MessageBody, Role
from holdfast.domain.prefix import is_news
from holdfast.ports.store import Receipt, Upto


@dataclass
class Record:
    """A chat's rows."""

    chat: Chat
    runnable_since: int | None = None
    messages: list[Message] = field(default_factory=list[Message])
    queued: dict[QueuedId, MessageBody] = field(default_factory=dict[QueuedId, MessageBody])
    receipts: dict[ClientKey, Receipt] = field(default_factory=dict[ClientKey, Receipt])
    promoted: set[QueuedId] = field(default_factory=set[QueuedId])
    created_by: tuple[ClientKey, Receipt] | None = None
    set_aside: bool = False
    takeovers: int = 0
    histories: dict[Version, VersionStamp] = field(default_factory=dict[Version, VersionStamp])

    def as_of(self, version: Version | None) -> list[Message]:
        if version is None:
            return [m for m in self.messages if m.removed_revision is None]
        return [
            m
            for m in self.messages
            if m.revision <= version
            and (m.removed_revision is None or m.removed_revision > version)
        ]

    def history_stamp_at(self, version: Version) -> VersionStamp:
        known = [each for each in self.histories if each <= version]
        return self.histories[max(known)] if known else NO_STAMP


def target_of(record: Record, seq: Seq | None) -> Target | None:
    for message in record.messages:
        if message.seq == seq:
            removed = message.removed_revision is not None
            return Target(seq=message.seq, role=message.body.role, removed=removed)
    return None


def taken_of(record: Record, version: Version, upto: Seq) -> list[Message]:
    """What a fork takes along."""
    past = (m for m in record.as_of(version) if m.seq <= upto)
    return [m for m in past if is_shown(m.body) or is_news(m.body)]


def origin_of(record: Record, wanted: Upto | None) -> Origin | None:
    if wanted is None:
        return None
    version = wanted.as_of or record.chat.version
    if not 1 <= version <= record.chat.version:
        return None
    path = taken_of(record, version, wanted.at or record.chat.last_seq)
    reply = max((m.seq for m in path if m.body.role is Role.ASSISTANT), default=Seq(0))
    said = [number for number, m in enumerate(path, start=1) if m.body.role is Role.USER]
    return Origin(
        chat=record.chat,
        version=version,
        last_seq=max((m.seq for m in path), default=Seq(0)),
        messages=len(path),
        reply_seq=reply,
        before_reply=sum(1 for m in path if m.seq < reply),
        turn_seq=Seq(said[-1]) if said else None,
        tail=tuple(m.body for m in path if m.seq >= reply),
    )


def past_of(record: Record, version: Version | None) -> Past | None:
    if version is None or not 1 <= version <= record.chat.version:
        return None
    past = record.as_of(version)
    shared = max((m.seq for m in past if m.removed_revision is None), default=Seq(0))
    reply = max((m.seq for m in past if m.body.role is Role.ASSISTANT), default=Seq(0))
    turn_seq = max((m.seq for m in past if m.body.role is Role.USER), default=None)
    return Past(
        version=version,
        shared_seq=shared,
        copied=sum(1 for m in past if m.seq > shared),
        hidden=sum(1 for m in record.as_of(None) if m.seq > shared),
        turn_seq=turn_seq,
        turn_copied=sum(1 for m in past if shared < m.seq <= (turn_seq or 0)),
        tail=tuple(m.body for m in past if m.seq >= reply),
    )


def within(messages: Sequence[Message], bytes_max: int) -> list[Message]:
    """The first of them, as many as have so many bytes together, or one."""
    kept, size = list[Message](), 0
    for message in messages:
        size += stored_bytes(message.body.parts)
        if kept and size > bytes_max:
            break
        kept.append(message)
    return kept


def renumbered(turn_seq: Seq | None, numbers: Mapping[Seq, Seq]) -> Seq | None:
    """A turn that began before what is copied keeps its name."""
    return None if turn_seq is None else numbers.get(turn_seq, turn_seq)


def forgive(record: Record) -> None:
    """The attempt that acquiring has begun, and that no driver made."""
    chat = record.chat
    if begun_by_acquiring(chat) and chat.attempts_forgiven < chat.attempt:
        record.chat = replace(chat, attempts_forgiven=chat.attempts_forgiven + 1)
