"""Answer what a turn waits for: results of client-side tools, and decisions about calls."""

from collections.abc import Sequence
from typing import Literal

from holdfast.chats.ledger import Actor, Commit, Ledger, Sweep
from holdfast.domain.commands import Decide, ExpireAwait, SubmitResults
from holdfast.domain.ids import CallId, ChatId
from holdfast.domain.parts import ToolResult
from holdfast.ports.store import Keyed


async def submit_results(
    ledger: Ledger,
    actor: Actor,
    chat_id: ChatId,
    results: Sequence[ToolResult],
    *,
    keyed: Keyed | None = None,
) -> Commit:
    return await ledger.transact(chat_id, SubmitResults(tuple(results)), by=actor, keyed=keyed)


async def decide_call(
    ledger: Ledger,
    actor: Actor,
    chat_id: ChatId,
    call_id: CallId,
    verdict: Literal["approve", "deny"],
    *,
    keyed: Keyed | None = None,
) -> Commit:
    return await ledger.transact(chat_id, Decide(call_id, verdict), by=actor, keyed=keyed)


async def expire(ledger: Ledger, chat_id: ChatId) -> Commit:
    """End a wait that is past its deadline; refused if an answer came first."""
    return await ledger.transact(chat_id, ExpireAwait(), by=Sweep())
