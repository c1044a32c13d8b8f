"""Answer what a turn waits for: results of client-side tools, and decisions about calls."""

from collections.abc import Sequence
from dataclasses import replace

from holdfast.chats.changes import Actor, ChangeRequest, ChatWriter, Commit, Sweep
from holdfast.chats.outputs import bytes_max, fitted, storable
from holdfast.domain.audit import AuditEntry
from holdfast.domain.commands import Decide, ExpireAwait, SubmitResults
from holdfast.domain.ids import ChatId
from holdfast.domain.parts import ToolResult
from holdfast.ports.store import IdempotencyKey


async def submit_results(
    ledger: ChatWriter,
    actor: Actor,
    chat_id: ChatId,
    results: Sequence[ToolResult],
    *,
    window_tokens: int | None = None,
    keyed: IdempotencyKey | None = None,
) -> Commit:
    """Answer calls of client-side tools. Each result is cut as those of our tools are (X5): one
    that no model can read would end the chat. `window_tokens`: of the model that will read it."""
    limit = bytes_max(window_tokens)
    fitting = tuple(
        replace(result, output=fitted(storable(result.output), limit)[0]) for result in results
    )
    request = ChangeRequest((SubmitResults(fitting),), by=actor, key=keyed)
    return await ledger.transact(chat_id, request)


async def decide_calls(
    ledger: ChatWriter,
    actor: Actor,
    chat_id: ChatId,
    decisions: Sequence[Decide],
    *,
    keyed: IdempotencyKey | None = None,
    audit: AuditEntry | None = None,
) -> Commit:
    """Approve or deny calls that wait for it, all in one commit. `audit`: the entry that
    the same commit writes."""
    request = ChangeRequest(tuple(decisions), by=actor, key=keyed, audit=audit)
    return await ledger.transact(chat_id, request)


async def expire(ledger: ChatWriter, chat_id: ChatId) -> Commit:
    """End a wait that is past its deadline; refused if an answer came first."""
    return await ledger.transact(chat_id, ChangeRequest((ExpireAwait(),), by=Sweep()))
