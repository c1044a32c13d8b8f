"""Say something: now, or when the chat is free."""

from typing import Literal

from holdfast.chats.changes import Actor, ChangeRequest, ChatWriter, Commit
from holdfast.domain.commands import SendMessage
from holdfast.domain.ids import ChatId
from holdfast.domain.messages import MessageBody
from holdfast.ports.store import IdempotencyKey


async def send(
    ledger: ChatWriter,
    actor: Actor,
    chat_id: ChatId,
    message: MessageBody,
    *,
    when_busy: Literal["queue", "interrupt"] = "queue",
    keyed: IdempotencyKey | None = None,
) -> Commit:
    """The answer says where the message landed: a seq of history, or a place in the queue."""
    request = ChangeRequest((SendMessage(message, when_busy),), by=actor, key=keyed)
    return await ledger.transact(chat_id, request)
