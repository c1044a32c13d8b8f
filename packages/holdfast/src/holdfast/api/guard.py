"""Around the whole app: requests are bounded in number, bodies in size and time, and nothing
unforeseen gets out."""

import asyncio
import logging
from collections.abc import Iterable
from typing import Any, Final, Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.api.errors import BodyTooLarge, BodyTooSlow, InternalError, Overloaded
from holdfast.api.problems import problem_of
from holdfast.api.request_ids import HEADER, KEY, new_request_id

AFTER: Final = "holdfast.after"
"""In a request's scope: what to do when all layers have returned that look only at how an answer
begins. A stream goes on there for hours. Within them, each would cost every event of every reader,
and together they would hold more memory for a reader that only waits than all the rest does."""
_LOG: Final = logging.getLogger(__name__)
_PROBES: Final = frozenset({"/healthz", "/readyz"})
_OF_THE_WIRE: Final = frozenset(
    {
        *("type", "asgi", "http_version", "server", "client", "scheme", "method", "root_path"),
        *("path", "raw_path", "query_string", "headers", "state", "extensions"),
    }
)
"""In a scope: what the server put there, and looks at to the end."""
_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
VERSION_HEADER: Final = b"holdfast-version"
_HANDSHAKES: Final = frozenset({"websocket.accept", "websocket.http.response.start"})
_UNLESS_SAID: Final = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)


class After(Protocol):
    """An answer that has begun, and goes on."""

    async def go_on(self, receive: Receive, send: Send) -> None: ...

    async def let_go(self) -> None:
        """Of what it holds, whether it went on or not."""
        ...


class Guard:
    def __init__(
        self,
        app: ASGIApp,
        *,
        body_bytes_max: int,
        body_s_max: float,
        requests_max: int,
        version: str,
    ) -> None:
        self._app = app
        self._bytes_max = body_bytes_max
        self._s_max = body_s_max
        self._requests_max = requests_max
        self.under_way = 0
        self._headers = (*_HEADERS, (VERSION_HEADER, version.encode()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = new_request_id()
        scope[KEY] = request_id
        if scope["type"] != "http":
            await self._app(scope, receive, self._completing(send, request_id))
            return
        after: list[After] = []
        scope[AFTER] = after
        started = False
        # Probes are not counted: a process that is asked for much must not be taken for dead.
        counted = scope["path"] not in _PROBES

        async def sending(message: Message) -> None:
            nonlocal started, counted
            if message["type"] == "http.response.start":
                started = True
                if counted and _is_stream(message):
                    counted = False  # open for hours, and costs nothing while nothing happens
                    self.under_way -= 1
                self._complete(message, request_id)
            await send(message)

        if counted and self.under_way >= self._requests_max:
            refusal = problem_of(Overloaded(), request_id)
            await refusal(scope, receive, sending)  # the request is not read
            return
        self.under_way += counted
        try:
            await self._app(scope, self._bounded(scope, receive), sending)
            for each in after:
                _forget_layers(scope)
                await each.go_on(receive, send)
        except Exception:
            fields = {"request_id": request_id, "path": scope["path"]}
            _LOG.exception("api: internal error", extra=fields)
            if started:
                raise  # the connection breaks: half an answer must not look like a whole one
            await problem_of(InternalError(), request_id)(scope, receive, sending)
        finally:
            self.under_way -= counted
            for each in after:
                await each.let_go()

    def _completing(self, send: Send, request_id: str) -> Send:
        """For a WebSocket: the answer to its handshake, accepted or refused."""

        async def sending(message: Message) -> None:
            if message["type"] in _HANDSHAKES:
                self._complete(message, request_id)
            await send(message)

        return sending

    def _complete(self, start: Message, request_id: str) -> None:
        headers: list[tuple[bytes, bytes]] = list(start.get("headers", ()))
        names = {name.lower() for name, _ in headers}
        unless_said = (*_UNLESS_SAID, (HEADER.encode(), request_id.encode()))
        headers += [(name, value) for name, value in unless_said if name not in names]
        start["headers"] = [*headers, *self._headers]

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        """The body's bytes, counted as they come: a length that was announced may be a lie."""
        announced = _content_length(scope["headers"])
        taken = 0
        whole = False
        deadline: float | None = None

        async def receiving() -> Message:
            nonlocal taken, whole, deadline
            if whole:
                return await receive()  # only waits for the client to go
            if announced > self._bytes_max:
                raise self._too_large()
            now = asyncio.get_running_loop().time()
            deadline = now + self._s_max if deadline is None else deadline
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                reason = f"The body must arrive within {self._s_max:g} s."
                raise BodyTooSlow(reason) from None
            taken += len(message.get("body", b""))
            if taken > self._bytes_max:
                raise self._too_large()
            whole = message["type"] != "http.request" or not message.get("more_body", False)
            return message

        return receiving

    def _too_large(self) -> BodyTooLarge:
        return BodyTooLarge(f"A body may have at most {self._bytes_max} bytes.")


def _forget_layers(scope: Scope) -> None:
    """What they left in it would stay for as long as the stream goes on."""
    for name in [name for name in scope if name not in _OF_THE_WIRE]:
        del scope[name]


def _is_stream(start: Message) -> bool:
    headers: Iterable[tuple[bytes, bytes]] = start.get("headers", ())
    return any(
        name.lower() == b"content-type" and value.startswith(b"text/event-stream")
        for name, value in headers
    )


def _content_length(headers: Iterable[tuple[bytes, bytes]]) -> int:
    said: Any = dict(headers).get(b"content-length", b"0")
    return int(said) if said.isdigit() else 0
