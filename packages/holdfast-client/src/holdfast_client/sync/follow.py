# Made of holdfast_client/aio/follow.py by scripts/generate_sync.py. Do not edit.
"""A stream of events that goes on wherever it was cut, at whichever replica answers.

follow      reconnects for ever, with the last cursor; gives each event once
by_sse      the events of one connection
by_socket   the same of one WebSocket
"""

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

import httpx2
import orjson

from holdfast_client.errors import ApiError, ConnectionLost, TooMany, WaitTimeout
from holdfast_client.events import Data, Event, WatchEvent
from holdfast_client.models import Json
from holdfast_client.patience import Patience
from holdfast_client.sse import SseParser
from holdfast_client.sync.ground import sleep
from holdfast_client.sync.http import Http, problem_in

E = TypeVar("E", bound=Event | WatchEvent)
Transport: TypeAlias = Literal["sse", "websocket"]
CONNECT_S: Final = 10.0
EVENT_BYTES_MAX: Final = 64 * 2**20
_LOST: Final = (httpx2.TransportError, httpx2.StreamError, ConnectionLost, OSError)
_ENDED: Final = "ended"
_PASSING: Final = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class Route(Generic[E]):
    """Where a stream is, by either transport, and what its envelopes mean."""

    sse: str
    socket: str
    read: Callable[[Data], E]


def follow(
    http: Http,
    route: Route[E],
    after: str | None,
    patience: Patience,
    *,
    transport: Transport = "sse",
    silence_s: float = 45.0,
    on_reconnect: Callable[[], None] = lambda: None,
) -> Generator[E]:
    """Pings included. Raises what no trying again will mend, and `WaitTimeout`."""
    cursor, lost = after, False
    connected = by_sse if transport == "sse" else by_socket
    while not patience.is_over:
        quiet_s = patience.within(silence_s)
        pause_s: float | None = 0.0
        try:
            with closing(connected(http, route, cursor, quiet_s)) as events:
                for event in events:
                    if event is None:
                        if lost:
                            on_reconnect()
                        lost = False
                        continue
                    if event.id is not None:
                        cursor = event.id
                        patience.progressed()
                    yield event
                    if patience.is_over:
                        break  # events that keep coming are no reason to wait longer
                    # The clock of a read was set when it began: shorten it as the end comes near.
                    if event.kind == "ping" and patience.within(quiet_s) < quiet_s:
                        break
        except (ApiError, *_LOST) as error:
            lost, pause_s = True, _pause_s(patience, error)
        if pause_s is None:
            break
        sleep(pause_s)
    raise WaitTimeout("It did not happen in time.")


def _pause_s(patience: Patience, error: Exception) -> float | None:
    if not isinstance(error, ApiError):
        return patience.pause_s()
    if error.status < 500 and error.status not in _PASSING:
        raise error
    return patience.pause_s(error.retry_after_s)


def by_sse(http: Http, route: Route[E], after: str | None, quiet_s: float) -> Generator[E | None]:
    """None once it stands, then events, until it is lost: a stream has no end of its own."""
    timeout = httpx2.Timeout(quiet_s, connect=min(CONNECT_S, quiet_s))
    headers = {**http.headers, "accept": "text/event-stream"}
    if after is not None:
        headers["last-event-id"] = after
    with http.client.stream(
        "GET", http.url(route.sse), headers=headers, timeout=timeout
    ) as response:
        if not response.is_success:
            response.read()
            raise problem_in(response)
        yield None
        parser = SseParser(EVENT_BYTES_MAX)
        for received in response.iter_raw():
            for kind, data, cursor in parser.feed(received):
                yield _read(route, _envelope(kind, orjson.loads(data), cursor))
        raise ConnectionLost


def by_socket(
    http: Http, route: Route[E], after: str | None, quiet_s: float
) -> Generator[E | None]:
    from holdfast_client.sync.socket import messages_of  # few need it, and it is not light

    headers = dict(http.headers)
    if after is not None:
        headers["last-event-id"] = after
    with closing(messages_of(http.url(route.socket), headers, quiet_s)) as messages:
        for message in messages:
            yield None if message is None else _read(route, orjson.loads(message))


def _read(route: Route[E], envelope: dict[str, Any]) -> E:
    """Raises `TooMany` if the server ended this stream for another one of the same user: to come
    back at once would end that one."""
    if envelope["event"] == _ENDED:
        ending = envelope["data"]
        title = "The same user opened too many streams."
        raise TooMany(429, ending["reason"], title, retry_after_s=ending["retry_after_s"])
    return route.read(envelope)


def _envelope(kind: str, data: Json, cursor: str | None) -> dict[str, Any]:
    """As a WebSocket brings it."""
    head = {"event": kind} if cursor is None else {"event": kind, "id": cursor}
    return {**head, "data": data}
