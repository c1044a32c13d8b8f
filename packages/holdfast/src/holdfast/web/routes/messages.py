"""Messages: read them by page, say something, say something else instead."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from holdfast.chats import listing, rewrite, send
from holdfast.domain.events import is_shown, message_json
from holdfast.domain.ids import ChatId, Seq, Version
from holdfast.web import bodies, shapes
from holdfast.web.answers import answer, committed
from holdfast.web.auth import Asks, ByKey
from holdfast.web.bodies import COUNT_MAX
from holdfast.web.routes.common import (
    ChatIdInPath,
    Limit,
    NumberInPath,
    chat_tag,
    check_model,
    router_for,
)
from holdfast.web.tags import IfMatch, history_in, present

router = router_for("messages")


@router.get("/chats/{chat_id}/messages", response_model=shapes.MessagePage)
async def page(
    chat_id: ChatIdInPath,
    asks: Asks,
    limit: Limit = 50,
    before: Annotated[int | None, Query(ge=1, le=COUNT_MAX)] = None,
    as_of: Annotated[
        int | None, Query(ge=1, le=COUNT_MAX, description="The history as of a version.")
    ] = None,
) -> Response:
    """The newest messages before a seq, in the order of history."""
    await listing.find(asks.edge.chats.listing, asks.who, ChatId(chat_id))
    found = await asks.edge.chats.history.page(
        ChatId(chat_id),
        limit=limit,
        before=None if before is None else Seq(before),
        as_of=None if as_of is None else Version(as_of),
    )
    shown = [message_json(each) for each in found.messages if is_shown(each.body)]
    return answer({"messages": shown, "before": found.before})


@router.post("/chats/{chat_id}/messages", status_code=202, response_model=shapes.Committed)
async def say(chat_id: ChatIdInPath, body: bodies.Sending, asks: Asks, key: ByKey) -> Response:
    """Say something: it lands in history, or in the queue if the chat is busy."""
    check_model(asks, body.model)
    commit = await send.send(
        asks.edge.chats.ledger,
        asks.driver,
        ChatId(chat_id),
        body.body(asks.who.user_id),
        when_busy=body.when_busy,
        keyed=key,
    )
    return committed(commit, 202)


@router.put("/chats/{chat_id}/messages/{seq}", status_code=202, response_model=shapes.Committed)
async def edit(
    chat_id: ChatIdInPath,
    seq: NumberInPath,
    body: bodies.MessageIn,
    asks: Asks,
    key: ByKey,
    if_match: IfMatch,
) -> Response:
    """Say something else instead. What came after it is hidden, not destroyed."""
    check_model(asks, body.model)
    async with present(lambda: chat_tag(asks, ChatId(chat_id))):
        commit = await rewrite.edit(
            asks.edge.chats.ledger,
            asks.driver,
            ChatId(chat_id),
            Seq(seq),
            body.body(asks.who.user_id),
            keyed=key,
            expected=history_in(if_match),
        )
    return committed(commit, 202)
