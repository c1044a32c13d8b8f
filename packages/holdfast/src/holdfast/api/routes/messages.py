"""Messages: read, send, edit."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from fastapi import Query
from starlette.responses import Response

from holdfast.api import requests as bodies
from holdfast.api import responses as shapes
from holdfast.api.auth import Asks, ByKey
from holdfast.api.etags import IfMatch, history_in, present
from holdfast.api.presenters import answer, committed
from holdfast.api.presenters import page as list_page
from holdfast.api.requests import COUNT_MAX
from holdfast.api.routes.common import (
    ChatIdInPath,
    CursorInQuery,
    Limit,
    NumberInPath,
    chat_tag,
    check_model,
    check_web,
    decode_number,
    encode_number,
    router_for,
)
from holdfast.chats import listing, rewrite, send
from holdfast.domain.denials import FieldRefused
from holdfast.domain.errors import MessageNotFound
from holdfast.domain.events import is_shown, message_json
from holdfast.domain.ids import ChatId, Seq, Version
from holdfast.domain.messages import Message

router = router_for("messages")

_BEFORE: Final = "before "
_AFTER: Final = "after "


@router.get("/chats/{chat_id}/messages", response_model=shapes.MessagePage)
async def list_messages(
    chat_id: ChatIdInPath,
    asks: Asks,
    limit: Limit = 50,
    cursor: CursorInQuery = None,
    before_seq: Annotated[
        int | None, Query(ge=1, le=COUNT_MAX, description="Only messages before this one.")
    ] = None,
    version: Annotated[
        int | None,
        Query(
            ge=1,
            le=COUNT_MAX,
            description="The history as of a version of the chat; for its owner.",
        ),
    ] = None,
    order: Annotated[
        Literal["asc", "desc"],
        Query(description="`desc`: the newest page first. A page is in the order of history."),
    ] = "desc",
) -> Response:
    """The messages of a chat, by page."""
    may = listing.reading(version)
    await listing.find(asks.edge.chats.listing, asks.who, ChatId(chat_id), may)
    if before_seq is not None and (cursor is not None or order == "asc"):
        raise FieldRefused("before_seq", "not together with a cursor or order=asc")
    as_of = None if version is None else Version(version)
    history = asks.edge.chats.history
    if order == "asc":
        after = Seq(0 if cursor is None else decode_number(_AFTER, cursor))
        found = await history.page_after(ChatId(chat_id), after, limit=limit, as_of=as_of)
        # A page may be shorter than the limit and not be the last, for its messages are long.
        return _page(found, encode_number(_AFTER, found[-1].seq) if found else None)
    before = before_seq if cursor is None else decode_number(_BEFORE, cursor)
    newest = await history.page(
        ChatId(chat_id), limit=limit, before=None if before is None else Seq(before), as_of=as_of
    )
    older = None if newest.before is None else encode_number(_BEFORE, newest.before)
    return _page(newest.messages, older)


@router.get("/chats/{chat_id}/messages/{seq}", response_model=shapes.Message)
async def get_message(chat_id: ChatIdInPath, seq: NumberInPath, asks: Asks) -> Response:
    """One message of the history as it is now."""
    await listing.find(asks.edge.chats.listing, asks.who, ChatId(chat_id))
    found = await asks.edge.chats.history.page_after(ChatId(chat_id), Seq(seq - 1), limit=1)
    if not found or found[0].seq != seq or not is_shown(found[0].body):
        raise MessageNotFound(ChatId(chat_id), seq)
    return answer(message_json(found[0]))


def _page(messages: Sequence[Message], next_cursor: str | None) -> Response:
    shown = [message_json(each) for each in messages if is_shown(each.body)]
    return list_page(shown, next_cursor)


@router.post("/chats/{chat_id}/messages", status_code=202, response_model=shapes.Receipt)
async def send_message(
    chat_id: ChatIdInPath, body: bodies.SendMessage, asks: Asks, key: ByKey
) -> Response:
    """Say something: it lands in history, or in the queue if the chat is busy."""
    check_model(asks, body.model)
    await check_web(asks, body.model, web=body.web, chat_id=ChatId(chat_id))
    commit = await send.send(
        asks.edge.chats.ledger,
        asks.driver,
        ChatId(chat_id),
        body.body(asks.who.user_id),
        when_busy=body.when_busy,
        keyed=key,
    )
    return committed(commit, 202)


@router.post("/chats/{chat_id}/messages/{seq}/edit", status_code=202, response_model=shapes.Receipt)
async def edit_message(
    chat_id: ChatIdInPath,
    seq: NumberInPath,
    body: bodies.MessageIn,
    asks: Asks,
    key: ByKey,
    if_match: IfMatch,
) -> Response:
    """Say something else instead. What came after it is hidden, not destroyed."""
    check_model(asks, body.model)
    await check_web(asks, body.model, web=body.web, chat_id=ChatId(chat_id))
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
