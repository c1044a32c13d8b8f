"""What a runner reads: a chat's facts again, and its history once per turn."""

from holdfast.domain.chat import Chat
from holdfast.domain.ids import ChatId, Seq
from holdfast.domain.messages import Message, Role
from holdfast.ports.history import History
from holdfast.ports.store import Store


class Reading:
    def __init__(self, store: Store, history: History) -> None:
        self._store = store
        self._history = history

    async def chat(self, chat_id: ChatId) -> Chat | None:
        """The facts as they are now; None if the chat is gone."""
        loaded = await self._store.load(chat_id)
        return None if loaded is None else loaded.facts.chat

    async def messages(self, chat: Chat, *, page_messages_max: int) -> list[Message]:
        """The history of this snapshot, from its newest boundary on.

        As of the snapshot's version: an edit that comes meanwhile cannot mix two histories into
        one prompt; the fence will tell of it (L06).
        """
        messages: list[Message] = []
        before: Seq | None = None
        while True:
            page = await self._history.page(
                chat.chat_id, limit=page_messages_max, before=before, as_of=chat.version
            )
            messages = [*page.messages, *messages]
            for index in range(len(page.messages) - 1, -1, -1):
                if page.messages[index].body.role is Role.BOUNDARY:
                    return messages[index:]
            if page.before is None:
                return messages
            before = page.before
