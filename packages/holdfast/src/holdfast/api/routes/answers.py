"""Answer what a turn waits for: results of client-side tools, decisions about calls."""

from starlette.responses import Response

from holdfast.admin.settings import DEFAULT_MODEL
from holdfast.api import requests as bodies
from holdfast.api import responses as shapes
from holdfast.api.auth import Asks, ByKey, Caller
from holdfast.api.presenters import committed
from holdfast.api.routes.common import ChatIdInPath, router_for
from holdfast.chats import answer as answering
from holdfast.chats.changes import Actor
from holdfast.domain.audit import AuditAction
from holdfast.domain.chat import Chat
from holdfast.domain.errors import ChatNotFound
from holdfast.domain.ids import ChatId
from holdfast.domain.policy import TargetKind
from holdfast.identity.recording import entry_by

router = router_for("answers")


@router.post("/chats/{chat_id}/results", status_code=202, response_model=shapes.Committed)
async def results(chat_id: ChatIdInPath, body: bodies.Results, asks: Asks, key: ByKey) -> Response:
    """What client-side tools, or people, answer to calls that wait for it. An output of more than
    32 KiB is cut in its middle, as those of the server's own tools are."""
    driver = asks.driver
    chat = await _load(asks, driver, ChatId(chat_id))
    tools = _open_tools(chat)
    given = [each.result(tools.get(each.call_id, "")) for each in body.results]
    commit = await answering.submit_results(
        *(asks.edge.chats.ledger, driver, ChatId(chat_id), given),
        window_tokens=_window_tokens(asks, chat),
        keyed=key,
    )
    return committed(commit, 202)


@router.post("/chats/{chat_id}/decisions", status_code=202, response_model=shapes.Committed)
async def decide(chat_id: ChatIdInPath, body: bodies.Decision, asks: Asks, key: ByKey) -> Response:
    """Approve a call that waits for it, or deny it; `digest` says of what you were shown."""
    driver = asks.driver
    tools = _open_tools(await _load(asks, driver, ChatId(chat_id)))
    approved = body.verdict == "approve"
    entry = entry_by(
        asks.who,
        asks.edge.clock,
        AuditAction.CALL_APPROVED if approved else AuditAction.CALL_DENIED,
        (TargetKind.CHAT, chat_id),
        {"call_id": body.call_id, "tool": tools.get(body.call_id), "digest": body.digest},
    )
    commit = await answering.decide_call(
        asks.edge.chats.ledger, driver, ChatId(chat_id), body.decision(), keyed=key, audit=entry
    )
    return committed(commit, 202)


async def _load(asks: Caller, driver: Actor, chat_id: ChatId) -> Chat:
    loaded = await asks.edge.chats.store.load(chat_id)
    if loaded is None or loaded.facts.chat.owner_id != driver.user_id:
        raise ChatNotFound(chat_id)
    return loaded.facts.chat


def _open_tools(chat: Chat) -> dict[str, str]:
    """Which tool each open call is of. A call that is not open has none, and the chat refuses it
    (or knows the key, if this is a repeat)."""
    return {call.call_id: call.tool for call in chat.open_calls}


def _window_tokens(asks: Caller, chat: Chat) -> int | None:
    """Of the model that reads what is answered; None: not known."""
    default = asks.edge.settings.current(DEFAULT_MODEL).of(chat.org_id)
    model = chat.model or default or next(iter(asks.edge.models), None)
    return None if model is None else asks.edge.windows.get(model)
