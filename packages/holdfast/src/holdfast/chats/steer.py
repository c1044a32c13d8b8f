"""Steer a chat without saying anything: interrupt, retry, compact, archive."""

from holdfast.chats.changes import Actor, ChangeRequest, ChatWriter, Commit, Overseer, Sweep
from holdfast.domain.audit import AuditEntry
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


async def stop(
    ledger: ChatWriter,
    by: Overseer | Sweep,
    chat_id: ChatId,
    audit: AuditEntry,
    *,
    keyed: IdempotencyKey | None = None,
) -> Commit:
    """Stop a chat for its organisation: the turn ends and the queue is paused. `audit`: the entry
    that the same commit writes; none if no turn runs."""
    request = ChangeRequest((Interrupt(),), by=by, key=keyed, audit=audit)
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
    ledger: ChatWriter,
    actor: Actor,
    chat_id: ChatId,
    *,
    keep: str | None = None,
    keyed: IdempotencyKey | None = None,
) -> Commit:
    """`keep`: what a person asks the summary to keep."""
    request = ChangeRequest((RequestCompaction(keep),), by=actor, key=keyed)
    return await ledger.transact(chat_id, request)


async def archive(
    ledger: ChatWriter, actor: Actor, chat_id: ChatId, *, keyed: IdempotencyKey | None = None
) -> Commit:
    return await ledger.transact(chat_id, ChangeRequest((Archive(),), by=actor, key=keyed))


async def unarchive(
    ledger: ChatWriter, actor: Actor, chat_id: ChatId, *, keyed: IdempotencyKey | None = None
) -> Commit:
    return await ledger.transact(chat_id, ChangeRequest((Unarchive(),), by=actor, key=keyed))
