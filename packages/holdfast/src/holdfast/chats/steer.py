"""Steer a chat without saying anything: interrupt, retry, compact, archive."""

from holdfast.chats.changes import Actor, ChangeRequest, ChatWriter, Commit
from holdfast.domain.commands import Archive, Interrupt, RequestCompaction, Retry, Unarchive
from holdfast.domain.ids import ChatId, Seq
from holdfast.ports.store import IdempotencyKey


async def interrupt(
    ledger: ChatWriter,
    actor: Actor,
    chat_id: ChatId,
    *,
    turn_seq: Seq | None = None,
    keyed: IdempotencyKey | None = None,
) -> Commit:
    """`turn_seq`, here and below: `TurnChanged` if this is not the present turn."""
    request = ChangeRequest((Interrupt(turn_seq),), by=actor, key=keyed)
    return await ledger.transact(chat_id, request)


async def retry(
    ledger: ChatWriter,
    actor: Actor,
    chat_id: ChatId,
    *,
    model: str | None = None,
    turn_seq: Seq | None = None,
    keyed: IdempotencyKey | None = None,
) -> Commit:
    request = ChangeRequest((Retry(model, turn_seq),), by=actor, key=keyed)
    return await ledger.transact(chat_id, request)


async def compact(
    ledger: ChatWriter, actor: Actor, chat_id: ChatId, *, keyed: IdempotencyKey | None = None
) -> Commit:
    request = ChangeRequest((RequestCompaction(),), by=actor, key=keyed)
    return await ledger.transact(chat_id, request)


async def archive(
    ledger: ChatWriter, actor: Actor, chat_id: ChatId, *, keyed: IdempotencyKey | None = None
) -> Commit:
    return await ledger.transact(chat_id, ChangeRequest((Archive(),), by=actor, key=keyed))


async def unarchive(
    ledger: ChatWriter, actor: Actor, chat_id: ChatId, *, keyed: IdempotencyKey | None = None
) -> Commit:
    return await ledger.transact(chat_id, ChangeRequest((Unarchive(),), by=actor, key=keyed))
