"""The rows of a chat in memory, for the fake store."""

from dataclasses import dataclass, field

from holdfast.domain.chat import Chat
from holdfast.domain.ids import NO_STAMP, ClientKey, QueuedId, Version, VersionStamp
from holdfast.domain.messages import Message, MessageBody
from holdfast.ports.store import Keyed, Receipt


@dataclass
class Record:
    """A chat's rows."""

    chat: Chat
    runnable_since: int | None = None
    messages: list[Message] = field(default_factory=list[Message])
    queued: dict[QueuedId, MessageBody] = field(default_factory=dict[QueuedId, MessageBody])
    receipts: dict[ClientKey, Receipt] = field(default_factory=dict[ClientKey, Receipt])
    promoted: set[QueuedId] = field(default_factory=set[QueuedId])
    created_by: Keyed | None = None
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
