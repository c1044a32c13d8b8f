# Made of holdfast_client/aio/follow.py by scripts/generate_sync.py. Do not edit.
"""A stream of events that goes on wherever it was cut, at whichever replica answers.

follow      reconnects for ever, with the last cursor; gives each event once
by_sse      the events of one connection
by_socket   the same of one WebSocket
"""

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeAlias, TypeVar

import httpx2

from holdfast_client.errors import (
    APIStatusError,
    ConfigurationError,
    ConnectionLost,
    RateLimitError,
    WaitTimeoutError,
)
from holdfast_client.events import Data, Event, WatchEvent
from holdfast_client.patience import Patience
from holdfast_client.sse import SseParser
from holdfast_client.sync.ground import sleep
from holdfast_client.sync.http import Http, problem_in
from holdfast_client.wire import loads

E = TypeVar("E", bound=Event | WatchEvent)
Transport: TypeAlias = Literal["sse", "websocket"]
CONNECT_S: Final = 10.0
EVENT_BYTES_MAX: Final = 64 * 2**20
_LOST: Final = (httpx2.TransportError, httpx2.StreamError, ConnectionLost, OSError)
_CLOSED: Final = "closed"
_PASSING: Final = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class Route(Generic[E]):
    """Where a stream is, for either transport, and what its envelopes mean."""

    path: str
    read: Callable[[Data], E]


def follow(
    http: Http,
    route: Route[E],
    after: str | None,
    patience: Patience,
    *,
    transport: Transport = "sse",
    on_reconnect: Callable[[], None] = lambda: None,
) -> Generator[E]:
    """Pings included. Raises what no trying again will mend, and `WaitTimeoutError`."""
    cursor, lost = after, False
    connected = by_sse if transport == "sse" else by_socket
    while not patience.is_over:
        quiet_s = patience.within(http.silence_timeout)
        pause_s: float | None = 0.0
        try:
            with closing(connected(http, route, cursor, quiet_s)) as events:
                for event in events:
                    if event is None:
                        if lost:
                            on_reconnect()
                        lost = False
                        continue
                    if event.cursor is not None:
                        cursor = event.cursor
                        patience.progressed()
                    yield event
                    if patience.is_over:
                        break  # events that keep coming are no reason to wait longer
                    # The clock of a read was set when it began: shorten it as the end comes near.
                    if event.type == "ping" and patience.within(quiet_s) < quiet_s:
                        break
        except (APIStatusError, *_LOST) as error:
            lost, pause_s = True, _pause_s(patience, error)
        if pause_s is None:
            break
        sleep(pause_s)
    raise WaitTimeoutError("It did not happen in time.")


def _pause_s(patience: Patience, error: Exception) -> float | None:
    if not isinstance(error, APIStatusError):
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
        "GET", http.url(route.path), headers=headers, timeout=timeout
    ) as response:
        if not response.is_success:
            response.read()
            raise problem_in(response)
        yield None
        parser = SseParser(EVENT_BYTES_MAX)
        for received in response.iter_raw():
            for _, data, _ in parser.feed(received):
                yield _read(route, loads(data))
        raise ConnectionLost


def by_socket(
    http: Http, route: Route[E], after: str | None, quiet_s: float
) -> Generator[E | None]:
    try:
        from holdfast_client.sync.socket import messages_of  # few need it, and it is not light
    except ImportError as error:
        hint = "A WebSocket needs one more package: pip install 'holdfast-client[websocket]'"
        raise ConfigurationError(hint) from error

    headers = dict(http.headers)
    if after is not None:
        headers["last-event-id"] = after
    with closing(messages_of(http.url(route.path), headers, quiet_s)) as messages:
        for message in messages:
            yield None if message is None else _read(route, loads(message))


def _read(route: Route[E], envelope: Data) -> E:
    """Raises if the server closed this stream. `RateLimitError`: another stream of the same user
    replaced it, and to reconnect at once would end that one. `ConnectionLost`: reconnect; if the
    chat may no longer be read, the answer to that says so."""
    if envelope["type"] != _CLOSED:
        return route.read(envelope)
    data: Data = envelope["data"]
    if data["retry_after_seconds"] is None:
        raise ConnectionLost
    title = "The same user opened too many streams."
    raise RateLimitError(429, data["reason"], title, retry_after_s=data["retry_after_seconds"])
