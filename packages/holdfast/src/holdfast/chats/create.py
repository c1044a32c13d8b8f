"""Begin a chat, from nothing or with the history of another."""

from collections.abc import Sequence

from holdfast.chats.changes import Actor, ChatWriter, Commit
from holdfast.domain.chat import NOT_LISTED, Chat, ListedFacts
from holdfast.domain.client_tools import ClientTool
from holdfast.domain.commands import Create, Fork
from holdfast.domain.ids import ChatId
from holdfast.domain.messages import MessageBody
from holdfast.ports.ids import Ids
from holdfast.ports.store import IdempotencyKey


async def create(
    ledger: ChatWriter,
    ids: Ids,
    actor: Actor,
    messages: Sequence[MessageBody] = (),
    *,
    tools: Sequence[ClientTool] = (),
    model: str | None = None,
    effort: str | None = None,
    web: bool | None = None,
    plan_mode: bool = False,
    listed: ListedFacts = NOT_LISTED,
    keyed: IdempotencyKey | None = None,
) -> Commit:
    """A new chat of the actor's; it runs at once if its messages end in one of the user's."""
    chat = Chat(chat_id=ids.new_chat_id(), org_id=actor.org_id, owner_id=actor.user_id)
    command = Create(tuple(messages), tuple(tools), model, effort, web, plan_mode, listed)
    return await ledger.create(chat, command, keyed=keyed)


async def fork(
    ledger: ChatWriter,
    ids: Ids,
    actor: Actor,
    source: ChatId,
    command: Fork,
    *,
    keyed: IdempotencyKey | None = None,
) -> Commit:
    """A new chat of the actor's, at rest, that begins as another one does. The caller has
    found that the actor may read that one."""
    chat = Chat(chat_id=ids.new_chat_id(), org_id=actor.org_id, owner_id=actor.user_id)
    return await ledger.fork(chat, source, command, keyed=keyed)
