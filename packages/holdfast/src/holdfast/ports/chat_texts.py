"""Titles, turn labels and summaries that the server finds for chats.

Each write is one statement that compares before it sets: a text that is no longer true of its chat,
or that would replace a title of a user, is not written. The writes say whose list shows the chat;
None: nothing was written.
"""

from dataclasses import dataclass
from typing import Protocol

from holdfast.domain.ids import ChatId, Seq, UserId, Version, VersionStamp
from holdfast.domain.titles import TitleSource


@dataclass(frozen=True, slots=True, kw_only=True)
class TextsKnown:
    """What a chat has. `summary_seq`: the last message that its summary knows."""

    title_source: TitleSource | None
    title_tries: int
    summary_seq: Seq | None
    version: Version
    stamp: VersionStamp


class ChatTexts(Protocol):
    async def known(self, chat_id: ChatId) -> TextsKnown | None: ...

    async def claim_title(self, chat_id: ChatId, *, tries_max: int) -> bool:
        """Count a try. False: there is a title of a user or of a model, or there were enough."""
        ...

    async def set_title(
        self, chat_id: ChatId, title: str, source: TitleSource, *, made_of: Seq
    ) -> UserId | None:
        """Never over a title of a user, nor from a message that is hidden by now."""
        ...

    async def set_turn_label(
        self, chat_id: ChatId, label: str, *, version: Version, stamp: VersionStamp
    ) -> UserId | None:
        """Only on the commit that ended the turn."""
        ...

    async def set_summary(
        self, chat_id: ChatId, summary: str, *, seq: Seq, history: tuple[Version, VersionStamp]
    ) -> UserId | None:
        """Only of this history; `seq` is its last message."""
        ...
