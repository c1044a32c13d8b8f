"""What waits in the queue: take it out, delete it, move it, or say it now."""

from holdfast.chats.ledger import Actor, Commit, Ledger
from holdfast.domain.commands import DeleteQueued, MoveQueued, PromoteQueued, TakeQueued
from holdfast.domain.ids import ChatId, QueuedId
from holdfast.domain.messages import MessageBody
from holdfast.ports.history import History
from holdfast.ports.store import IdempotencyKey


async def take(
    ledger: Ledger,
    history: History,
    actor: Actor,
    chat_id: ChatId,
    queued_id: QueuedId,
    *,
    keyed: IdempotencyKey | None = None,
) -> MessageBody:
    """Take a message out and give it back, to be edited: only one of two takers gets it."""
    await ledger.transact(chat_id, TakeQueued(queued_id), by=actor, keyed=keyed)
    taken = await history.queued(chat_id, queued_id)
    assert taken is not None, "what left the queue keeps its row"
    return taken


async def delete(
    ledger: Ledger,
    actor: Actor,
    chat_id: ChatId,
    queued_id: QueuedId,
    *,
    keyed: IdempotencyKey | None = None,
) -> Commit:
    return await ledger.transact(chat_id, DeleteQueued(queued_id), by=actor, keyed=keyed)


async def move(
    ledger: Ledger,
    actor: Actor,
    chat_id: ChatId,
    queued_id: QueuedId,
    *,
    before: QueuedId | None,
    keyed: IdempotencyKey | None = None,
) -> Commit:
    """Place a message before another, or (None) at the end."""
    return await ledger.transact(chat_id, MoveQueued(queued_id, before), by=actor, keyed=keyed)


async def promote(
    ledger: Ledger,
    actor: Actor,
    chat_id: ChatId,
    queued_id: QueuedId,
    *,
    keyed: IdempotencyKey | None = None,
) -> Commit:
    return await ledger.transact(chat_id, PromoteQueued(queued_id), by=actor, keyed=keyed)
