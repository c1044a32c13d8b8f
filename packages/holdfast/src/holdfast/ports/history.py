"""Reading history: by page, as of a version, and what changed since one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from holdfast.domain.chat import Status
from holdfast.domain.ids import (
    NO_STAMP,
    ChatId,
    Epoch,
    QueuedId,
    Seq,
    Version,
    VersionStamp,
    WorkerId,
)
from holdfast.domain.messages import Message, MessageBody

PAGE_BYTES_MAX: Final = 4 * 2**20
"""What one read of history brings at most; one message is read however long it is."""


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Messages in history order, and the cursor of the page before them (None: the beginning). A
    page may be shorter than asked for, and yet have one before it: its messages are long."""

    messages: tuple[Message, ...]
    before: Seq | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What a reader at an older version has missed.

    `hidden_from`: what the reader knows from there on is no longer in the history. `complete`: this
    brings the reader to `version`; else there is more after the last message. `history_stamp`: of
    the history as it was at the older version; a reader that saw another one begins anew.
    """

    version: Version
    history_version: Version
    hidden_from: Seq | None
    written: tuple[Message, ...]
    complete: bool
    history_stamp: VersionStamp = NO_STAMP


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where a chat stands, told in a line: enough to see whether anything was missed."""

    chat_id: ChatId
    version: Version
    history_version: Version
    status: Status
    worker_id: WorkerId | None
    epoch: Epoch


@dataclass(frozen=True, slots=True)
class OlderPath:
    """A history that an edit or a restore left behind, readable as of `version`."""

    version: Version
    first_seq: Seq
    messages: int


class History(Protocol):
    async def page(
        self,
        chat_id: ChatId,
        *,
        limit: int,
        before: Seq | None = None,
        as_of: Version | None = None,
        bytes_max: int = PAGE_BYTES_MAX,
    ) -> HistoryPage:
        """The newest messages before a seq: at most `limit`, and `bytes_max` bytes or one."""
        ...

    async def page_after(
        self,
        chat_id: ChatId,
        after: Seq,
        *,
        limit: int,
        as_of: Version | None = None,
        bytes_max: int = PAGE_BYTES_MAX,
    ) -> Sequence[Message]:
        """The oldest messages after a seq: at most `limit`, and `bytes_max` bytes or one. Empty at
        the end of the history."""
        ...

    async def changes_since(
        self,
        chat_id: ChatId,
        version: Version,
        *,
        limit: int,
        as_of: Version | None = None,
        bytes_max: int = PAGE_BYTES_MAX,
    ) -> Changes | None:
        """What a reader at `version` has missed, up to `as_of` (None: up to now)."""
        ...

    async def prompt_prefix(self, digest: str) -> str | None:
        """The content of a prefix that messages name; None if there is none of this digest."""
        ...

    async def prompt_bytes(self, chat_id: ChatId, *, as_of: Version) -> int:
        """The size of the history from its newest boundary on, without reading it."""
        ...

    async def heads(self, chat_ids: Sequence[ChatId]) -> Sequence[Head]:
        """Of those that exist, in any order; one statement for all."""
        ...

    async def moved(
        self, known: Mapping[ChatId, tuple[Version, VersionStamp]]
    ) -> Sequence[tuple[ChatId, Version | None]]:
        """Of these chats, those that stand elsewhere than is known, and where (None: gone). At the
        same version: with another stamp. One statement for all."""
        ...

    async def older_paths(
        self, chat_id: ChatId, *, limit: int, before: Version | None = None
    ) -> Sequence[OlderPath]:
        """Newest first, each once: without those whose last message the present history or another
        path holds, as itself or as a copy. `before`: only those of older versions."""
        ...

    async def queued(self, chat_id: ChatId, queued_id: QueuedId) -> MessageBody | None:
        """The whole of a message that is or was in the queue."""
        ...
