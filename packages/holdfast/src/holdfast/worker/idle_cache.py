"""Chats at rest as this process left them, so that the next message to one needs no load.

Never trusted: a decision on what is remembered is committed only if the chat is still at that
version and has its stamp. A caller that is refused loads the facts. At rest nothing moves without
a version: no worker comes or goes.
"""

from collections import OrderedDict
from typing import Final

from holdfast.domain.chat import Chat
from holdfast.domain.driving import RUNNABLE
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId, ClientKey, UserId, VersionStamp
from holdfast.domain.outcome import Answer, Outcome
from holdfast.ports.store import (
    JUST_THE_CHAT,
    Created,
    IdempotencyKey,
    Loaded,
    LoadQuery,
    Stamp,
    Store,
)

CHATS_MAX: Final = 5_000


class IdleCache:
    """The chat whose last commit is oldest is forgotten first."""

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


class NotingStore:
    """A store whose commits are noted in an idle cache, before any hint of them is published."""

    def __init__(self, store: Store, idle: IdleCache) -> None:
        self._store = store
        self._idle = idle

    async def load(self, chat_id: ChatId, asking: LoadQuery = JUST_THE_CHAT) -> Loaded | None:
        return await self._store.load(chat_id, asking)

    async def create(self, outcome: Outcome, keyed: IdempotencyKey | None = None) -> Stamp | None:
        return self._noted(outcome, await self._store.create(outcome, keyed))

    async def find_created(self, owner_id: UserId, key: ClientKey) -> Created | None:
        return await self._store.find_created(owner_id, key)

    async def commit(
        self, outcome: Outcome, *, fence: Fence | None = None, keyed: IdempotencyKey | None = None
    ) -> Stamp | None:
        return self._noted(outcome, await self._store.commit(outcome, fence=fence, keyed=keyed))

    async def keep_receipt(
        self, chat_id: ChatId, keyed: IdempotencyKey, answer: Answer, stamp: VersionStamp
    ) -> bool:
        return await self._store.keep_receipt(chat_id, keyed, answer, stamp)

    def _noted(self, outcome: Outcome, stamp: Stamp | None) -> Stamp | None:
        if stamp is not None:
            self._idle.note(outcome.chat)
        return stamp
