"""Follow a chat: server-sent events, or a WebSocket with the same JSON."""

from typing import Annotated, Any, Final

from fastapi import Header, Query, WebSocket
from starlette.responses import Response

from holdfast.chats import listing
from holdfast.domain.ids import ChatId
from holdfast.stream.cursor import Cursor
from holdfast.web.auth import Caller, Follows, FollowsBySocket
from holdfast.web.routes.common import ChatIdInPath, router_for
from holdfast.web.streaming import ChatReader, EventStream, tell_by_socket

router = router_for("stream")

_ABOUT: Final = "The `id` of the last event that was seen; without one: a snapshot first."
_EVENTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Events, for as long as the reader stays. `data` and `event` as in the"
        " schema; over WebSocket each message is one such object.",
        "content": {"text/event-stream": {"schema": {"$ref": "#/components/schemas/StreamEvent"}}},
    }
}


@router.get("/chats/{chat_id}/stream", status_code=200, response_class=Response, responses=_EVENTS)
async def follow(
    chat_id: ChatIdInPath,
    asks: Follows,
    after: Annotated[str | None, Query(max_length=100, description=_ABOUT)] = None,
    last_event_id: Annotated[str | None, Header(max_length=100, description=_ABOUT)] = None,
) -> Response:
    """Everything about a chat after a cursor, each event once, on any replica."""
    return EventStream(await _reader(asks, ChatId(chat_id), last_event_id or after))


@router.websocket("/chats/{chat_id}/socket")
async def follow_by_socket(
    chat_id: ChatIdInPath,
    asks: FollowsBySocket,
    socket: WebSocket,
    after: Annotated[str | None, Query(max_length=100)] = None,
    last_event_id: Annotated[str | None, Header(max_length=100)] = None,
) -> None:
    """The same events as `/stream`, one JSON object per message."""
    await tell_by_socket(await _reader(asks, ChatId(chat_id), last_event_id or after), socket)


async def _reader(asks: Caller, chat_id: ChatId, after: str | None) -> ChatReader:
    entry = await listing.find(asks.edge.chats.listing, asks.who, chat_id)
    return ChatReader(asks, entry, None if after is None else Cursor.parse(after))
