"""Answer what a turn waits for: results of client-side tools, decisions about calls."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from holdfast.api import requests as bodies
from holdfast.api import responses as shapes
from holdfast.api.auth import Asks, ByKey, Caller
from holdfast.api.presenters import committed
from holdfast.api.routes.common import ChatIdInPath, router_for, window_tokens
from holdfast.chats import answer as answering
from holdfast.chats import questions
from holdfast.chats.changes import Actor
from holdfast.domain.audit import AuditAction
from holdfast.domain.chat import Chat
from holdfast.domain.errors import CallNotOpen, ChatNotFound, NotLawful
from holdfast.domain.ids import ChatId
from holdfast.domain.policy import TargetKind
from holdfast.identity.recording import entry_by

router = router_for("tool calls")


@router.post("/chats/{chat_id}/tool-results", status_code=202, response_model=shapes.Receipt)
async def submit_tool_results(
    chat_id: ChatIdInPath, body: bodies.SubmitToolResults, asks: Asks, key: ByKey
) -> Response:
    """What client-side tools, or people, answer to calls that wait for it. An output of more than
    32 KiB is cut in its middle, as those of the server's own tools are. A call is answered once:
    what comes later is refused, and the detail of the problem says that it is answered.

    The output for a call of `ask_user` is `{"answers": [{"chosen": ["PostgreSQL"], "text": "17"}]}`
    with one answer for each question, in their order: labels of its options, own words, or both. A
    text alone is the answer to the only question. Another output is refused with
    `answer_not_valid`, and the call still waits."""
    driver = asks.driver
    chat = await _load(asks, driver, ChatId(chat_id))
    tools = _open_tools(chat)
    history = asks.edge.chats.history
    results = [each.result(tools.get(each.call_id, "")) for each in body.results]
    given = await questions.checked(history, chat, results)
    try:
        commit = await answering.submit_results(
            *(asks.edge.chats.ledger, driver, ChatId(chat_id), given),
            window_tokens=window_tokens(asks, chat),
            keyed=key,
        )
    except (CallNotOpen, NotLawful) as refused:
        named = {result.call_id for result in given}
        raise await questions.why_closed(history, refused, named) from None
    return committed(commit, 202)


@router.post("/chats/{chat_id}/tool-decisions", status_code=202, response_model=shapes.Receipt)
async def submit_tool_decisions(
    chat_id: ChatIdInPath, body: bodies.SubmitToolDecisions, asks: Asks, key: ByKey
) -> Response:
    """Approve or deny calls that wait for it, all or none; each `digest` names the call as it was
    shown. An API key needs the scope `approve`, which no key has by default."""
    driver = asks.approver
    tools = _open_tools(await _load(asks, driver, ChatId(chat_id)))
    action, detail = _logged(body.decisions, tools)
    entry = entry_by(asks.who, asks.edge.clock, action, (TargetKind.CHAT, chat_id), detail)
    commit = await answering.decide_calls(
        *(asks.edge.chats.ledger, driver, ChatId(chat_id)),
        [each.command() for each in body.decisions],
        keyed=key,
        audit=entry,
    )
    return committed(commit, 202)


def _logged(
    decisions: Sequence[bodies.ToolDecision], tools: Mapping[str, str]
) -> tuple[AuditAction, dict[str, Any]]:
    """The entry of the audit log: one for the commit, however many decisions it has."""
    told = [
        {"call_id": each.call_id, "tool": tools.get(each.call_id), "digest": each.digest}
        for each in decisions
    ]
    if len(decisions) > 1:
        each_told = zip(decisions, told, strict=True)
        several = [{**one, "decision": each.decision} for each, one in each_told]
        return AuditAction.CALLS_DECIDED, {"decisions": several}
    approved = decisions[0].decision == "approve"
    return AuditAction.CALL_APPROVED if approved else AuditAction.CALL_DENIED, told[0]


async def _load(asks: Caller, driver: Actor, chat_id: ChatId) -> Chat:
    loaded = await asks.edge.chats.store.load(chat_id)
    if loaded is None or loaded.facts.chat.owner_id != driver.user_id:
        raise ChatNotFound(chat_id)
    return loaded.facts.chat


def _open_tools(chat: Chat) -> dict[str, str]:
    """Which tool each open call is of. A call that is not open has none, and the chat refuses it
    (or knows the key, if this is a repeat)."""
    return {call.call_id: call.tool for call in chat.open_calls}
