"""Say something: now, or when the chat is free."""

from typing import Literal

from holdfast.chats.ledger import Actor, Commit, Ledger
from holdfast.domain.commands import SendMessage
from holdfast.domain.ids import ChatId
from holdfast.domain.messages import MessageBody
from holdfast.ports.store import IdempotencyKey


async def send(
    ledger: Ledger,
    actor: Actor,
    chat_id: ChatId,
    message: MessageBody,
    *,
    when_busy: Literal["queue", "interrupt"] = "queue",
    keyed: IdempotencyKey | None = None,
) -> Commit:
    """The answer says where the message landed: a seq of history, or a place in the queue."""
    return await ledger.transact(chat_id, SendMessage(message, when_busy), by=actor, keyed=keyed)
