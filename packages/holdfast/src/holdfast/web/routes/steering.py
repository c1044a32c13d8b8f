"""Steer a chat without saying anything: interrupt, retry, compact, go back to an older history."""

from starlette.responses import Response

from holdfast.chats import listing, rewrite, steer
from holdfast.domain.ids import ChatId, Version
from holdfast.web import bodies, shapes
from holdfast.web.answers import answer, committed
from holdfast.web.auth import Asks, ByKey
from holdfast.web.routes.common import ChatIdInPath, Limit, chat_tag, check_model, router_for
from holdfast.web.tags import IfMatch, history_in, present

router = router_for("steering")


@router.post("/chats/{chat_id}/interrupt", status_code=202, response_model=shapes.Committed)
async def interrupt(chat_id: ChatIdInPath, asks: Asks, key: ByKey) -> Response:
    """Stop the turn; the text so far is kept."""
    ledger = asks.edge.chats.ledger
    return committed(await steer.interrupt(ledger, asks.driver, ChatId(chat_id), keyed=key), 202)


@router.post("/chats/{chat_id}/retry", status_code=202, response_model=shapes.Committed)
async def retry(chat_id: ChatIdInPath, body: bodies.Retrying, asks: Asks, key: ByKey) -> Response:
    """Retry after a failure, or skip the wait before the next attempt; optionally with another
    model."""
    check_model(asks, body.model)
    ledger = asks.edge.chats.ledger
    commit = await steer.retry(ledger, asks.driver, ChatId(chat_id), model=body.model, keyed=key)
    return committed(commit, 202)


@router.post("/chats/{chat_id}/compact", status_code=202, response_model=shapes.Committed)
async def compact(chat_id: ChatIdInPath, asks: Asks, key: ByKey) -> Response:
    """Replace the prompt's beginning by a summary; the history stays."""
    ledger = asks.edge.chats.ledger
    return committed(await steer.compact(ledger, asks.driver, ChatId(chat_id), keyed=key), 202)


@router.get("/chats/{chat_id}/paths", response_model=shapes.OlderPaths)
async def older_paths(chat_id: ChatIdInPath, asks: Asks, limit: Limit = 50) -> Response:
    """Histories that edits and restores left behind; read one with `messages?as_of=`."""
    await listing.find(asks.edge.chats.listing, asks.who, ChatId(chat_id))
    found = await asks.edge.chats.history.older_paths(ChatId(chat_id), limit=limit)
    told = [
        {"version": each.version, "first_seq": each.first_seq, "messages": each.messages}
        for each in found
    ]
    return answer({"paths": told})


@router.post("/chats/{chat_id}/restore", response_model=shapes.Committed)
async def restore(
    chat_id: ChatIdInPath, body: bodies.Restoring, asks: Asks, key: ByKey, if_match: IfMatch
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
