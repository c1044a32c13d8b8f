"""What a runner reads: a chat's facts again, and its history once per turn."""

from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from holdfast.domain.chat import Chat, OpenCall
from holdfast.domain.compaction import TOKEN_BYTES, estimated_tokens
from holdfast.domain.ids import ChatId, Epoch, Seq, Version
from holdfast.domain.messages import Message, MessageBody, Role
from holdfast.domain.parts import ToolResult
from holdfast.ports.history import History
from holdfast.ports.store import Store
from holdfast.turn.prefix import Prefix
from holdfast.turn.prompt import Prompt
from holdfast.turn.summary import shortened

EXCERPTS_BYTES_MAX: Final = 4 * 2**20
"""Of a history that is read for its summary only."""
EXCERPT_BYTES_MAX: Final = 8 * 1024
"""Of each of its parts."""
EXCERPTS_READ_BYTES_MAX: Final = 2**20
"""Of one read: a turn on a very long history grows its worker by 32 MB at most."""
EDITS_MAX: Final = 20
"""In a row, before a worker drove the chat."""
PREFIXES_MAX: Final = 256
"""Kept in memory; each is as long as a system prompt and the tools."""
PREFIX_STORED_FOR: Final = timedelta(hours=1)
"""How long after it stored a prefix a process relies on its row. A row that no message names is
deleted only after a day (`ports.prefixes`)."""
TAIL_MESSAGES: Final = 200
"""A reply, and as many results as it may have asked for."""


class TurnReader:
    def __init__(self, store: Store, history: History) -> None:
        self._store = store
        self._history = history
        self._prefixes: OrderedDict[str, Prefix] = OrderedDict()
        self._prefixes_stored: dict[str, datetime] = {}

    async def chat(self, chat_id: ChatId) -> Chat | None:
        """The facts as they are now; None if the chat is gone."""
        loaded = await self._store.load(chat_id)
        return None if loaded is None else loaded.facts.chat

    async def prompt(self, chat: Chat, *, page_messages_max: int, bytes_max: int) -> Prompt:
        """The history of this snapshot, from its newest boundary on.

        As of the snapshot's version: an edit that comes meanwhile cannot mix two histories into
        one prompt; the fence will tell of it (L06).

        If one page does not hold it, its size is asked for before the rest is read: of one with
        more than `bytes_max` only the newest page is read, and the prompt is not whole (L140).
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
                    return Prompt(messages[index:], chat.history_version, chat.history_stamp)
            if page.before is None:
                return Prompt(messages, chat.history_version, chat.history_stamp)
            if before is None:
                size = await self._history.prompt_bytes(chat.chat_id, as_of=chat.version)
                if size > bytes_max:
                    return Prompt(messages, chat.history_version, chat.history_stamp, whole=False)
            before = page.before

    async def excerpts(self, chat: Chat, *, page_messages_max: int) -> list[MessageBody]:
        """The history of this snapshot, from its newest boundary on, with long texts shortened:
        what a summary is made of when the whole would fit into no model. The oldest are left out
        past `EXCERPTS_BYTES_MAX`."""
        bodies: list[MessageBody] = []
        before: Seq | None = None
        left = EXCERPTS_BYTES_MAX
        while left > 0:
            newest, before = await self._shortened_page(chat, before, page_messages_max)
            for body in newest:
                bodies.append(body)
                left -= TOKEN_BYTES * estimated_tokens(body)
                if body.role is Role.BOUNDARY:
                    return bodies[::-1]
            if before is None:
                break
        return bodies[::-1]

    async def _shortened_page(
        self, chat: Chat, before: Seq | None, limit: int
    ) -> tuple[list[MessageBody], Seq | None]:
        """Newest first. A method of its own: the page is gone before the next is read."""
        page = await self._history.page(
            chat.chat_id,
            limit=limit,
            before=before,
            as_of=chat.version,
            bytes_max=EXCERPTS_READ_BYTES_MAX,
        )
        found = [shortened(message.body, EXCERPT_BYTES_MAX) for message in page.messages]
        return found[::-1], page.before

    async def prefix(self, digest: str) -> Prefix | None:
        """From memory, or read once: chats that were told the same share it."""
        found = self._prefixes.get(digest)
        if found is None:
            content = await self._history.prompt_prefix(digest)
            if content is None:
                return None
            found = Prefix.stored(content)
            self._keep_prefix(digest, found)
        return found

    def has_stored_prefix(self, digest: str, now: datetime) -> bool:
        """Whether this process stored it so recently that its row is surely there. A row that was
        only read may be deleted: the chat that named it may be gone."""
        at = self._prefixes_stored.get(digest)
        return at is not None and timedelta(0) <= now - at < PREFIX_STORED_FOR

    def stored_prefix(self, digest: str, prefix: Prefix, at: datetime) -> None:
        """It was stored by a commit that began at this time."""
        self._keep_prefix(digest, prefix)
        self._prefixes_stored[digest] = at

    def _keep_prefix(self, digest: str, prefix: Prefix) -> None:
        self._prefixes[digest] = prefix
        self._prefixes.move_to_end(digest)
        if len(self._prefixes) > PREFIXES_MAX:
            forgotten, _ = self._prefixes.popitem(last=False)
            self._prefixes_stored.pop(forgotten, None)

    async def void_calls(self, chat_id: ChatId, edited: Message) -> tuple[OpenCall, ...]:
        """Calls that had no result when this edit hid them."""
        for _ in range(EDITS_MAX):
            before = Version(edited.revision - 1)
            tail = await self._tail(chat_id, before)
            if not tail or tail[-1].body.role is not Role.USER:
                return _unanswered(tail)
            edited = tail[-1]  # maybe an edit, too, that no worker came to
        return ()

    async def _tail(self, chat_id: ChatId, as_of: Version) -> list[Message]:
        """The last messages of a history, back to its last reply; in pages, if they are long."""
        tail: list[Message] = []
        before: Seq | None = None
        while len(tail) < TAIL_MESSAGES:
            page = await self._history.page(
                chat_id, limit=TAIL_MESSAGES - len(tail), before=before, as_of=as_of
            )
            tail = [*page.messages, *tail]
            if page.before is None or tail[-1].body.role is Role.USER:
                break
            if any(message.body.role is Role.ASSISTANT for message in page.messages):
                break
            before = page.before
        return tail


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
