"""Reading history: by page, as of a version, and what changed since one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from holdfast.domain.chat import QueuedMessage
from holdfast.domain.ids import ChatId, QueuedId, Seq, Version
from holdfast.domain.messages import Message


@dataclass(frozen=True, slots=True)
class Page:
    """Messages in history order, and the cursor of the page before them (None: the beginning)."""

    messages: tuple[Message, ...]
    before: Seq | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What a reader at an older version has missed.

    `hidden_from`: what the reader knows from there on is no longer in the history. `complete`: this
    brings the reader to `version`; else there is more after the last message.
    """

    version: Version
    history_version: Version
    hidden_from: Seq | None
    written: tuple[Message, ...]
    complete: bool


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
    ) -> Page: ...

    async def changes_since(
        self, chat_id: ChatId, version: Version, *, limit: int
    ) -> Changes | None: ...

    async def older_paths(self, chat_id: ChatId, *, limit: int) -> Sequence[OlderPath]: ...

    async def queued(self, chat_id: ChatId, queued_id: QueuedId) -> QueuedMessage | None:
        """A message that is or was in the queue."""
        ...
