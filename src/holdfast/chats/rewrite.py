"""Go back: edit a message, or restore an older history. Nothing is destroyed by either."""

from holdfast.chats.ledger import Actor, Commit, Ledger
from holdfast.domain.commands import EditMessage, Restore
from holdfast.domain.ids import ChatId, Seq, Version
from holdfast.domain.messages import MessageBody
from holdfast.ports.store import Keyed


async def edit(
    ledger: Ledger,
    actor: Actor,
    chat_id: ChatId,
    seq: Seq,
    replacement: MessageBody,
    *,
    keyed: Keyed | None = None,
) -> Commit:
    return await ledger.transact(chat_id, EditMessage(seq, replacement), by=actor, keyed=keyed)


async def restore(
    ledger: Ledger, actor: Actor, chat_id: ChatId, version: Version, *, keyed: Keyed | None = None
) -> Commit:
    return await ledger.transact(chat_id, Restore(version), by=actor, keyed=keyed)
