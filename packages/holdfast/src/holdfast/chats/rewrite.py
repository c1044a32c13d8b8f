"""Go back: edit a message, or restore an older history. Nothing is destroyed by either."""

from collections.abc import Collection

from holdfast.chats.changes import Actor, ChangeRequest, ChatWriter, Commit
from holdfast.domain.commands import EditMessage, Restore
from holdfast.domain.ids import ChatId, Seq, Version
from holdfast.domain.messages import MessageBody
from holdfast.ports.store import IdempotencyKey


async def edit(
    ledger: ChatWriter,
    actor: Actor,
    chat_id: ChatId,
    seq: Seq,
    replacement: MessageBody,
    *,
    keyed: IdempotencyKey | None = None,
    expected: Collection[Version] | None = None,
) -> Commit:
    """`expected`, here and below: the versions of the history that the writer may have seen."""
    command = EditMessage(seq, replacement)
    request = ChangeRequest((command,), by=actor, key=keyed, expected=expected)
    return await ledger.transact(chat_id, request)


async def restore(
    ledger: ChatWriter,
    actor: Actor,
    chat_id: ChatId,
    version: Version,
    *,
    keyed: IdempotencyKey | None = None,
    expected: Collection[Version] | None = None,
) -> Commit:
    command = Restore(version)
    request = ChangeRequest((command,), by=actor, key=keyed, expected=expected)
    return await ledger.transact(chat_id, request)
