"""HTTP/1.1 with bounds on what a client can cost before the app sees its request.

httptools keeps the head of a request in memory until the head ends, whatever its size, and uvicorn
limits neither its bytes nor its time. A client without a credential could fill the memory, or hold
the connections, of a process.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, cast

from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from holdfast.api.connections import Connections, Release
from holdfast.api.errors import (
    AddressTooLong,
    EdgeError,
    HeadersTooLarge,
    Overloaded,
    TooManyConnections,
)
from holdfast.api.problems import MEDIA_TYPE, problem_of
from holdfast.api.request_ids import HEADER, new_request_id

HEAD_BYTES_MAX: Final = 64 * 2**10
URL_BYTES_MAX: Final = 16 * 2**10
HEADERS_MAX: Final = 100
PROBES: Final = frozenset({b"/healthz", b"/readyz"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadOptions:
    bytes_max: int = HEAD_BYTES_MAX
    """Of the request line with all headers and trailers."""
    url_bytes_max: int = URL_BYTES_MAX
    headers_max: int = HEADERS_MAX
    within_s: float = 15.0
    """From the first byte, or from the connection's begin, to the end of the head."""


class _Refused(Exception):
    """Raised in a callback of the parser, which then takes nothing more."""


class BoundedProtocol(HttpToolsProtocol):
    """A head past a bound is answered 431 or 414, and its connection is closed. A connection whose
    head does not end in time is closed without an answer."""

    def __init__(self, connections: Connections, head: HeadOptions, **given: Any) -> None:  # noqa: ANN401
        super().__init__(**given)
        self._counted = connections
        self._head = head
        self._release: Release | None = None
        self._full: EdgeError | None = None
        """The connection is above a bound, and may only carry a probe."""
        self._refused = False
        self._in_head = True
        self._in_body = False
        self._upgraded = False
        self._progress = False
        self._unparsed_bytes = 0
        self._head_bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        address = None if self.client is None else self.client[0]
        try:
            self._release = self._counted.enter(address)
        except (Overloaded, TooManyConnections) as full:
            self._full, self._release = full, self._counted.enter_for_probe()
            if self._release is None:
                self._refuse_connection(full)
                return
        self._begin_timer()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._end_timer()
        if self._release is not None:
            self._release()
            self._release = None
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self._progress = False
        super().data_received(data)
        if self._upgraded or self._refused or self.transport.is_closing():
            return
        # Bytes that the parser holds: part of a head, or of a trailer. It shows neither before it
        # has the whole of it.
        self._unparsed_bytes = 0 if self._progress else self._unparsed_bytes + len(data)
        if self._unparsed_bytes > self._head.bytes_max:
            self._refuse_head(HeadersTooLarge())
        elif self._in_head and self._timer is None:
            self._begin_timer()

    @override
    def send_400_response(self, msg: str) -> None:
        """What the base class sends when the parser fails: also when a callback of ours raised."""
        if not self._refused:
            super().send_400_response(msg)

    @override
    def on_message_begin(self) -> None:
        self._progress = True
        self._head_bytes = 0
        self._end_timer()  # the time of this head begins now
        super().on_message_begin()

    @override
    def on_url(self, url: bytes) -> None:
        self._take(len(url))
        super().on_url(url)
        if len(self.url) > self._head.url_bytes_max:
            self._refuse_head(AddressTooLong())
            raise _Refused

    @override
    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers come here, too, and into the same list.
        self._take(len(name) + len(value))
        if len(self.headers) >= self._head.headers_max:
            self._refuse_head(HeadersTooLarge())
            raise _Refused
        super().on_header(name, value)

    def _take(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > self._head.bytes_max:
            self._refuse_head(HeadersTooLarge())
            raise _Refused

    @override
    def on_headers_complete(self) -> None:
        self._progress = True
        self._in_head = False
        self._in_body = True
        self._end_timer()
        if self._full is not None and self.url.partition(b"?")[0] not in PROBES:
            self._refuse_connection(self._full)
            raise _Refused
        super().on_headers_complete()

    @override
    def on_body(self, body: bytes) -> None:
        self._progress = True
        super().on_body(body)

    @override
    def on_message_complete(self) -> None:
        self._progress = True
        self._in_head = True
        self._in_body = False
        self._end_timer()
        super().on_message_complete()

    @override
    def on_response_complete(self) -> None:
        super().on_response_complete()
        # The time of the next head begins now, and not with the request that was answered. It also
        # bounds the rest of a body that the app did not want: its bytes end the keep-alive timer,
        # so that the connection of a client that sends one now and then would stay for ever.
        self._end_timer()
        if not self.transport.is_closing():
            self._begin_timer()

    @override
    def handle_websocket_upgrade(self) -> None:
        self._upgraded = True
        super().handle_websocket_upgrade()
        upgraded = self.transport.get_protocol()
        if isinstance(upgraded, BoundedSocketProtocol):
            # The transport tells the other protocol when the connection is lost.
            upgraded.release, self._release = self._release, None

    def _begin_timer(self) -> None:
        self._timer = self.loop.call_later(self._head.within_s, self._out_of_time)

    def _end_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _out_of_time(self) -> None:
        self._timer = None
        if self.transport.is_closing():
            return
        if self._is_answering():
            # An answer is under way, perhaps a stream: bytes after its request do not end it.
            self._begin_timer()
            return
        self._counted.counters.silent += 1
        self.transport.close()

    def _is_answering(self) -> bool:
        cycle = cast("RequestResponseCycle | None", self.cycle)  # None before the first request
        return cycle is not None and not cycle.response_complete

    def _refuse_connection(self, full: EdgeError) -> None:
        self._counted.count_refusal(of_address=isinstance(full, TooManyConnections))
        self._refuse(full)

    def _refuse_head(self, error: EdgeError) -> None:
        self._counted.counters.heads_refused += 1
        self._refuse(error)

    def _refuse(self, error: EdgeError) -> None:
        self._refused = True
        self._end_timer()
        if not self._is_answering():
            answer = _ANSWERS[type(error)]
            self.transport.write(answer.replace(_NO_ID, new_request_id().encode()))
        # Else the answer to the request before is under way: nothing may come into its middle.
        self.transport.close()


class BoundedSocketProtocol(WebSocketsSansIOProtocol):
    """A WebSocket, which counts as the connection that it was made from."""

    release: Release | None = None

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        if self.release is not None:
            self.release()
            self.release = None
        super().connection_lost(exc)


def bounded_protocol(connections: Connections, head: HeadOptions) -> type[asyncio.Protocol]:
    """For uvicorn, which only calls it."""

    def protocol(**given: Any) -> BoundedProtocol:  # noqa: ANN401
        return BoundedProtocol(connections, head, **given)

    return cast("type[asyncio.Protocol]", protocol)


def _answer(error: EdgeError) -> bytes:
    """A problem document: bytes, because no app sees the request. The id is filled in later."""
    refusal = problem_of(error, _NO_ID.decode())
    after = refusal.headers.get("retry-after")
    status = HTTPStatus(refusal.status_code)
    lines = (
        f"HTTP/1.1 {status} {status.phrase}",
        f"content-type: {MEDIA_TYPE}",
        f"content-length: {len(refusal.body)}",
        f"{HEADER}: {_NO_ID.decode()}",
        "connection: close",
        *(() if after is None else (f"retry-after: {after}",)),
        "",
        "",
    )
    return "\r\n".join(lines).encode("ascii") + bytes(refusal.body)


_NO_ID: Final = b"0" * len(new_request_id())
_ANSWERS: Final[Mapping[type[EdgeError], bytes]] = {
    type(error): _answer(error)
    for error in (HeadersTooLarge(), AddressTooLong(), TooManyConnections(), Overloaded())
}
