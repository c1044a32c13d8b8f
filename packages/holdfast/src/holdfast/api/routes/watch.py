"""Watch one's list of chats: what is there, then whatever changes, at any replica."""

from typing import Annotated, Any, Final

from fastapi import Header, Query, WebSocket
from starlette.responses import Response

from holdfast.api.auth import Caller, Follows, FollowsBySocket
from holdfast.api.routes.common import router_for
from holdfast.api.streaming import EventStream, ListReader, tell_by_socket
from holdfast.domain.policy import Action, TargetKind, rule_for
from holdfast.stream.list_watcher import parse_mark

router = router_for("watch")

_ABOUT: Final = "The `id` of the last event that was seen; without one: a snapshot first."
_EVENTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Events, for as long as the reader stays.",
        "content": {"text/event-stream": {"schema": {"$ref": "#/components/schemas/WatchEvent"}}},
    }
}


@router.get("/watch", status_code=200, response_class=Response, responses=_EVENTS)
async def watch(
    asks: Follows,
    after: Annotated[str | None, Query(max_length=100, description=_ABOUT)] = None,
    last_event_id: Annotated[str | None, Header(max_length=100, description=_ABOUT)] = None,
) -> Response:
    """One's own chats and those shared with one: a snapshot, then each that changes."""
    return EventStream(_reader(asks, last_event_id or after))


@router.websocket("/watch/socket")
async def watch_by_socket(
    asks: FollowsBySocket,
    socket: WebSocket,
    after: Annotated[str | None, Query(max_length=100)] = None,
    last_event_id: Annotated[str | None, Header(max_length=100)] = None,
) -> None:
    """The same events as `/watch`, one JSON object per message."""
    await tell_by_socket(_reader(asks, last_event_id or after), socket)


def _reader(asks: Caller, after: str | None) -> ListReader:
    rule_for(asks.who, Action.READ, TargetKind.CHAT)
    return ListReader(asks, None if after is None else parse_mark(after))
