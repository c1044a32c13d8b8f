"""Chats at rest as this process left them, so that the next message to one needs no load.

Never trusted: a decision on what is remembered is committed only if the chat is still at that
version and has its stamp. A caller that is refused loads the facts. At rest nothing moves without
a version: no worker comes or goes.
"""

from collections import OrderedDict
from typing import Final

from holdfast.domain.chat import Chat
from holdfast.domain.driving import RUNNABLE
from holdfast.domain.ids import ChatId

CHATS_MAX: Final = 5_000


class IdleCache:
    """Who has been silent longest is forgotten first."""

    def __init__(self, chats_max: int = CHATS_MAX) -> None:
        self._chats_max = chats_max
        self._chats: OrderedDict[ChatId, Chat] = OrderedDict()

    def __len__(self) -> int:
        return len(self._chats)

    def note(self, chat: Chat) -> None:
        """As it was just committed; only what is small is kept."""
        self._chats.pop(chat.chat_id, None)
        if chat.status in RUNNABLE or chat.tools or chat.queue or chat.open_calls:
            return
        self._chats[chat.chat_id] = chat
        if len(self._chats) > self._chats_max:
            self._chats.popitem(last=False)

    def recall(self, chat_id: ChatId) -> Chat | None:
        """Once: whatever comes of it, the chat is another one afterwards."""
        return self._chats.pop(chat_id, None)
