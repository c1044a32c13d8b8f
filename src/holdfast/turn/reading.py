"""What a runner reads: a chat's facts again, and its history once per turn."""

from collections.abc import Sequence
from typing import Final

from holdfast.domain.chat import Chat, OpenCall
from holdfast.domain.ids import ChatId, Epoch, Seq, Version
from holdfast.domain.messages import Message, Role
from holdfast.domain.parts import ToolResult
from holdfast.ports.history import History
from holdfast.ports.store import Store

EDITS_MAX: Final = 20
"""In a row, before anybody drove the chat."""
TAIL_MESSAGES: Final = 200
"""A reply, and as many results as it may have asked for."""


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

    async def void_calls(self, chat_id: ChatId, edited: Message) -> tuple[OpenCall, ...]:
        """Calls that had no result when this edit hid them."""
        for _ in range(EDITS_MAX):
            before = Version(edited.revision - 1)
            page = await self._history.page(chat_id, limit=TAIL_MESSAGES, as_of=before)
            if not page.messages or page.messages[-1].body.role is not Role.USER:
                return _unanswered(page.messages)
            edited = page.messages[-1]  # maybe an edit, too, that nobody came to
        return ()


def _unanswered(messages: Sequence[Message]) -> tuple[OpenCall, ...]:
    """Of the last reply."""
    answered: set[str] = set()
    for message in reversed(messages):
        answered |= {part.call_id for part in message.body.parts if isinstance(part, ToolResult)}
        if message.body.role is Role.ASSISTANT:
            return tuple(
                OpenCall(call_id=call.call_id, tool=call.tool, seq=message.seq, epoch=Epoch(0))
                for call in message.body.calls
                if call.call_id not in answered
            )
    return ()
