"""The queue of a chat: take a message out, move it, or send it now; resume or clear the whole."""

from holdfast.chats.changes import Actor, ChangeRequest, ChatWriter, Commit
from holdfast.domain.commands import ClearQueue, MoveQueued, PromoteQueued, ResumeQueue, TakeQueued
from holdfast.domain.ids import ChatId, QueuedId
from holdfast.domain.messages import MessageBody
from holdfast.ports.history import History
from holdfast.ports.store import IdempotencyKey


async def take(
    ledger: ChatWriter,
    history: History,
    actor: Actor,
    chat_id: ChatId,
    queued_id: QueuedId,
    *,
    keyed: IdempotencyKey | None = None,
) -> MessageBody:
    """Take a message out and give it back, to be edited: only one of two takers gets it."""
    await ledger.transact(chat_id, ChangeRequest((TakeQueued(queued_id),), by=actor, key=keyed))
    taken = await history.queued(chat_id, queued_id)
    assert taken is not None, "what left the queue keeps its row"
    return taken


async def move(
    ledger: ChatWriter,
    actor: Actor,
    chat_id: ChatId,
    queued_id: QueuedId,
    *,
    before: QueuedId | None,
    keyed: IdempotencyKey | None = None,
) -> Commit:
    """Place a message before another, or (None) at the end."""
    request = ChangeRequest((MoveQueued(queued_id, before),), by=actor, key=keyed)
    return await ledger.transact(chat_id, request)


async def promote(
    ledger: ChatWriter,
    actor: Actor,
    chat_id: ChatId,
    queued_id: QueuedId,
    *,
    keyed: IdempotencyKey | None = None,
) -> Commit:
    request = ChangeRequest((PromoteQueued(queued_id),), by=actor, key=keyed)
    return await ledger.transact(chat_id, request)


async def resume(
    ledger: ChatWriter,
    actor: Actor,
    chat_id: ChatId,
    *,
    keyed: IdempotencyKey | None = None,
) -> Commit:
    """Let the queue go on that a stop has paused. It is no error if it is not paused."""
    return await ledger.transact(chat_id, ChangeRequest((ResumeQueue(),), by=actor, key=keyed))


async def clear(
    ledger: ChatWriter,
    actor: Actor,
    chat_id: ChatId,
    *,
    keyed: IdempotencyKey | None = None,
) -> Commit:
    """Remove every message that waits."""
    return await ledger.transact(chat_id, ChangeRequest((ClearQueue(),), by=actor, key=keyed))
