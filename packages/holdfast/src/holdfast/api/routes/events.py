"""Event streams, of one chat and of the user's list of chats: server-sent events, or a WebSocket
at the same address with the same JSON objects."""

from typing import Annotated, Any, Final, TypeAlias

from fastapi import Header, Query, WebSocket
from starlette.responses import Response

from holdfast.api.auth import Caller, Follows, FollowsBySocket
from holdfast.api.routes.common import ChatIdInPath, router_for
from holdfast.api.streaming import ChatReader, EventStream, ListReader, tell_by_socket
from holdfast.chats import listing
from holdfast.domain.ids import ChatId
from holdfast.domain.policy import Action, TargetKind, rule_for
from holdfast.stream.cursor import Cursor
from holdfast.stream.list_watcher import parse_mark

router = router_for("events")

_ABOUT: Final = "The `cursor` of the last event that was seen; without one: a snapshot first."
AfterCursor: TypeAlias = Annotated[str | None, Query(max_length=100, description=_ABOUT)]
LastEventId: TypeAlias = Annotated[str | None, Header(max_length=100, description=_ABOUT)]


def _events(schema: str) -> dict[int | str, dict[str, Any]]:
    where = f"#/components/schemas/{schema}"
    return {
        200: {
            "description": "Events, for as long as the reader stays. Each `data:` line is one"
            f" `{schema}`; `event:` repeats its `type`, and `id:` its `cursor`. An upgrade to"
            " WebSocket gives the same objects, one per message.",
            "content": {"text/event-stream": {"x-event-schema": {"$ref": where}}},
        }
    }


@router.get(
    "/chats/{chat_id}/events",
    status_code=200,
    response_class=Response,
    responses=_events("StreamEvent"),
)
async def stream_chat_events(
    chat_id: ChatIdInPath,
    asks: Follows,
    after: AfterCursor = None,
    last_event_id: LastEventId = None,
) -> Response:
    """Everything about a chat after a cursor, each event once, on any replica."""
    return EventStream(await _chat_reader(asks, ChatId(chat_id), last_event_id or after))


@router.websocket("/chats/{chat_id}/events")
async def stream_chat_events_by_socket(
    chat_id: ChatIdInPath,
    asks: FollowsBySocket,
    socket: WebSocket,
    after: AfterCursor = None,
    last_event_id: LastEventId = None,
) -> None:
    """The same events as over HTTP, one JSON object per message."""
    await tell_by_socket(await _chat_reader(asks, ChatId(chat_id), last_event_id or after), socket)


@router.get("/events", status_code=200, response_class=Response, responses=_events("WatchEvent"))
async def stream_events(
    asks: Follows, after: AfterCursor = None, last_event_id: LastEventId = None
) -> Response:
    """The user's own chats and those shared with the user: a snapshot, then each that changes."""
    return EventStream(_list_reader(asks, last_event_id or after))


@router.websocket("/events")
async def stream_events_by_socket(
    asks: FollowsBySocket,
    socket: WebSocket,
    after: AfterCursor = None,
    last_event_id: LastEventId = None,
) -> None:
    """The same events as over HTTP, one JSON object per message."""
    await tell_by_socket(_list_reader(asks, last_event_id or after), socket)


async def _chat_reader(asks: Caller, chat_id: ChatId, after: str | None) -> ChatReader:
    entry = await listing.find(asks.edge.chats.listing, asks.who, chat_id)
    return ChatReader(asks, entry, None if after is None else Cursor.parse(after))


def _list_reader(asks: Caller, after: str | None) -> ListReader:
    rule_for(asks.who, Action.READ, TargetKind.CHAT)
    return ListReader(asks, None if after is None else parse_mark(after))
