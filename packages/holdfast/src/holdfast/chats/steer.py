"""Steer a chat without saying anything: interrupt, retry, compact, archive."""

from holdfast.chats.ledger import Actor, Commit, Ledger
from holdfast.domain.commands import Archive, Interrupt, RequestCompaction, Retry, Unarchive
from holdfast.domain.ids import ChatId
from holdfast.ports.store import IdempotencyKey


async def interrupt(
    ledger: Ledger, actor: Actor, chat_id: ChatId, *, keyed: IdempotencyKey | None = None
) -> Commit:
    return await ledger.transact(chat_id, Interrupt(), by=actor, keyed=keyed)


async def retry(
    ledger: Ledger,
    actor: Actor,
    chat_id: ChatId,
    *,
    model: str | None = None,
    keyed: IdempotencyKey | None = None,
) -> Commit:
    return await ledger.transact(chat_id, Retry(model), by=actor, keyed=keyed)


async def compact(
    ledger: Ledger, actor: Actor, chat_id: ChatId, *, keyed: IdempotencyKey | None = None
) -> Commit:
    return await ledger.transact(chat_id, RequestCompaction(), by=actor, keyed=keyed)


async def archive(
    ledger: Ledger, actor: Actor, chat_id: ChatId, *, keyed: IdempotencyKey | None = None
) -> Commit:
    return await ledger.transact(chat_id, Archive(), by=actor, keyed=keyed)


async def unarchive(
    ledger: Ledger, actor: Actor, chat_id: ChatId, *, keyed: IdempotencyKey | None = None
) -> Commit:
    return await ledger.transact(chat_id, Unarchive(), by=actor, keyed=keyed)
