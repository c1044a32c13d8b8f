"""Steer a chat without saying anything: interrupt, retry, compact, go back to an older history."""

from typing import Final

from starlette.responses import Response

from holdfast.api import requests as bodies
from holdfast.api import responses as shapes
from holdfast.api.auth import Asks, ByKey
from holdfast.api.etags import IfMatch, history_in, present
from holdfast.api.presenters import committed, page
from holdfast.api.routes.common import (
    ChatIdInPath,
    CursorInQuery,
    Limit,
    chat_tag,
    check_model,
    decode_number,
    encode_number,
    router_for,
)
from holdfast.chats import listing, rewrite, steer
from holdfast.domain.ids import ChatId, Seq, Version
from holdfast.domain.policy import Action

router = router_for("chat commands")

_BEFORE: Final = "branch "


@router.post("/chats/{chat_id}/interrupt", status_code=202, response_model=shapes.Receipt)
async def interrupt_chat(
    chat_id: ChatIdInPath, asks: Asks, key: ByKey, body: bodies.InterruptTurn | None = None
) -> Response:
    """Stop the turn; the text so far is kept. If no turn runs, nothing changes."""
    ledger = asks.edge.chats.ledger
    turn_seq = _turn_seq(None if body is None else body.turn_seq)
    commit = await steer.interrupt(
        ledger, asks.driver, ChatId(chat_id), turn_seq=turn_seq, keyed=key
    )
    return committed(commit, 202)


@router.post("/chats/{chat_id}/retry", status_code=202, response_model=shapes.Receipt)
async def retry_chat(
    chat_id: ChatIdInPath, asks: Asks, key: ByKey, body: bodies.RetryTurn | None = None
) -> Response:
    """Retry after a failure, or skip the wait before the next attempt; optionally with another
    model."""
    wanted = bodies.RetryTurn() if body is None else body
    check_model(asks, wanted.model)
    commit = await steer.retry(
        asks.edge.chats.ledger,
        asks.driver,
        ChatId(chat_id),
        model=wanted.model,
        turn_seq=_turn_seq(wanted.turn_seq),
        keyed=key,
    )
    return committed(commit, 202)


@router.post("/chats/{chat_id}/compact", status_code=202, response_model=shapes.Receipt)
async def compact_chat(
    chat_id: ChatIdInPath, asks: Asks, key: ByKey, body: bodies.CompactChat | None = None
) -> Response:
    """Replace the prompt's beginning by a summary; the history stays. `POST …/restore` with the
    `version` of the summary's message minus 1 takes it back."""
    ledger = asks.edge.chats.ledger
    keep = None if body is None else body.keep
    commit = await steer.compact(ledger, asks.driver, ChatId(chat_id), keep=keep, keyed=key)
    return committed(commit, 202)


@router.get("/chats/{chat_id}/branches", response_model=shapes.BranchPage)
async def list_branches(
    chat_id: ChatIdInPath, asks: Asks, limit: Limit = 50, cursor: CursorInQuery = None
) -> Response:
    """Histories that edits and restores left behind, for the owner of the chat; read one with
    `messages?version=`. A history that the present one or another one holds to its last message
    is not listed."""
    may = Action.READ_BRANCHES
    await listing.find(asks.edge.chats.listing, asks.who, ChatId(chat_id), may)
    before = None if cursor is None else Version(decode_number(_BEFORE, cursor))
    history = asks.edge.chats.history
    found = await history.older_paths(ChatId(chat_id), limit=limit + 1, before=before)
    shown = found[:limit]
    told = [
        {"version": each.version, "first_seq": each.first_seq, "messages": each.messages}
        for each in shown
    ]
    return page(told, encode_number(_BEFORE, shown[-1].version) if len(found) > limit else None)


@router.post("/chats/{chat_id}/restore", response_model=shapes.Receipt)
async def restore_chat(
    chat_id: ChatIdInPath, body: bodies.RestoreHistory, asks: Asks, key: ByKey, if_match: IfMatch
) -> Response:
    """Make the history of an older version the present one again."""
    async with present(lambda: chat_tag(asks, ChatId(chat_id))):
        commit = await rewrite.restore(
            asks.edge.chats.ledger,
            asks.driver,
            ChatId(chat_id),
            Version(body.version),
            keyed=key,
            expected=history_in(if_match),
        )
    return committed(commit)


def _turn_seq(named: int | None) -> Seq | None:
    return None if named is None else Seq(named)
