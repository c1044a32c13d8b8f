"""A client as cheap as Python allows: thousands of event streams and a few connections that send,
all in one process, by callbacks; no task and no object per event."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, cast
from urllib.parse import urlsplit

import httptools

OK: Final = 200
EVENT: Final = b"event: "
DATA: Final = b"\ndata: "
RETRY_S: Final = 0.5
COME_AGAIN: Final = frozenset({429, 503})
OPENING_AT_ONCE: Final = 64
"""Streams that are asked for at the same time: a listening socket's queue is finite, and so is the
number of requests that a server lets wait."""

OPENING_TRIES: Final = 60


def get(path: str, key: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {key}\r\n\r\n".encode()


def post(path: str, key: str, body: bytes, idempotency_key: str = "", more: str = "") -> bytes:
    """`more`: headers, each with its line's end."""
    if idempotency_key:
        more += f"idempotency-key: {idempotency_key}\r\n"
    head = (
        f"POST {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {key}\r\n{more}"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Reader(Protocol):
    """The reader of a stream."""

    def event(self, kind: bytes, data: bytes) -> None: ...

    def cut(self, reason: str) -> None:
        """The stream was refused, or ended before we ended it."""
        ...


class EventStream(asyncio.Protocol):
    """One stream of server-sent events."""

    def __init__(self, request: bytes, reader: Reader) -> None:
        self._request = request
        self._reader = reader
        self._parser = httptools.HttpResponseParser(self)
        self._rest = b""
        self._transport: asyncio.Transport | None = None
        self._ended = False
        self.status: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        """As answered; 0 if the connection ended before."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:  # pyright: ignore[reportImplicitOverride]
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:  # pyright: ignore[reportImplicitOverride]
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._end(f"the stream is no HTTP: {error}")

    def connection_lost(self, exc: Exception | None) -> None:  # pyright: ignore[reportImplicitOverride]
        self._end(f"the stream was cut: {exc or 'closed by the server'}")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if not self.status.done():
            self.status.set_result(status)
        elif status != OK:  # of a later answer over the same connection
            self._end(f"refused with {status}")

    def on_body(self, body: bytes) -> None:
        if self.status.result() != OK:
            return  # the code that opened it reports it
        *events, self._rest = (self._rest + body).split(b"\n\n")
        for event in events:
            if self._ended:
                return  # its reader has left at an earlier one of these
            if event.startswith(EVENT):
                at = event.find(DATA)
                self._reader.event(event[7 : event.index(b"\n")], event[at + 7 :])

    def on_message_complete(self) -> None:
        self._end("the server ended the stream")

    def _end(self, reason: str) -> None:
        if not self._ended:
            self.close()
            if self.status.result() in {0, OK}:
                self._reader.cut(reason)

    def close(self) -> None:
        self._is_over_now()
        if self._transport is not None:
            self._transport.close()

    def vanish(self) -> None:
        """Without a goodbye: what is on its way is not taken any more."""
        self._is_over_now()
        if self._transport is not None:
            self._transport.abort()

    def _is_over_now(self) -> None:
        self._ended = True
        if not self.status.done():
            self.status.set_result(0)


class AnswerStream(EventStream):
    """Streams that answer requests, one after the other over one connection."""

    def __init__(self, reader: Reader, ended: Callable[[], None]) -> None:
        super().__init__(b"", reader)
        self._is_over = ended

    def ask(self, request: bytes) -> None:
        assert self._transport is not None
        self._transport.write(request)

    def on_message_complete(self) -> None:  # pyright: ignore[reportImplicitOverride]
        self._parser = httptools.HttpResponseParser(self)
        self._rest = b""
        self._is_over()


async def open_streams(streams: Sequence[tuple[str, bytes, Reader]]) -> list[EventStream]:
    """Each at its address, asked for again where the server says so; the caller closes them."""
    opened, waiting = list[EventStream](), iter(streams)

    async def work() -> None:
        for url, request, reader in waiting:
            if (stream := await _open(url, request, reader)) is not None:
                opened.append(stream)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(OPENING_AT_ONCE):
            tasks.create_task(work())
    return opened


async def _open(url: str, request: bytes, reader: Reader) -> EventStream | None:
    """As a client would that comes again; None if the reader was told why it is not to be."""
    loop, (host, port, ssl) = asyncio.get_running_loop(), address(url)
    for _ in range(OPENING_TRIES):
        stream = EventStream(request, reader)
        try:
            await loop.create_connection(lambda each=stream: each, host, port, ssl=ssl)
        except OSError as error:
            reader.cut(f"no connection: {error}")
            return None
        status = await stream.status
        if status in {0, OK}:
            return stream  # or its reader was told that it is cut
        stream.close()
        if status not in COME_AGAIN:
            reader.cut(f"the stream was refused with {status}")
            return None
        await asyncio.sleep(RETRY_S)
    reader.cut(f"the stream was refused {OPENING_TRIES} times")
    return None


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    retry_after_s: float | None


Answered = Callable[[Answer], None]


class _Line(asyncio.Protocol):
    """A connection that is kept: one request at a time."""

    def __init__(self, owner: "Sender") -> None:
        self._owner = owner
        self._parser = httptools.HttpResponseParser(self)
        self._body = b""
        self._retry_after_s: float | None = None
        self._job: tuple[bytes, Answered] | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:  # pyright: ignore[reportImplicitOverride]
        self.transport = cast(asyncio.Transport, transport)

    def ask(self, job: tuple[bytes, Answered]) -> None:
        assert self.transport is not None
        self._job = job
        self.transport.write(job[0])

    def data_received(self, data: bytes) -> None:  # pyright: ignore[reportImplicitOverride]
        self._parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"retry-after" and value.isdigit():
            self._retry_after_s = float(value)

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        answer = Answer(self._parser.get_status_code(), self._body, self._retry_after_s)
        self._parser = httptools.HttpResponseParser(self)
        self._body, self._retry_after_s = b"", None
        job, self._job = self._job, None
        assert job is not None, "an answer to nothing"
        self._owner.free(self)
        job[1](answer)

    def connection_lost(self, exc: Exception | None) -> None:  # pyright: ignore[reportImplicitOverride]  # noqa: ARG002
        self._owner.lost(self, self._job)


class Sender:
    """A few connections to one server; requests wait for one that is free.

    What got no answer is sent again: requests here are such that twice is once.
    """

    def __init__(self, url: str, connections: int) -> None:
        self._address = address(url)
        self._connections = connections
        self._free: list[_Line] = []
        self._waiting: deque[tuple[bytes, Answered]] = deque()
        self._lines: set[_Line] = set()
        self._lost = asyncio.Event()
        self._tried: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._closing = False
        self.sent_again = 0

    async def run(self) -> None:
        """Keeps the connections there; until cancelled."""
        try:
            while True:
                self._lost.clear()
                try:
                    await self._connect()
                except OSError as error:
                    self._try_ended(str(error))
                    await asyncio.sleep(RETRY_S)
                    continue
                self._try_ended(None)
                await self._lost.wait()
        finally:
            self._closing = True
            for line in self._lines:
                assert line.transport is not None
                line.transport.close()

    async def _connect(self) -> None:
        loop, (host, port, ssl) = asyncio.get_running_loop(), self._address
        while len(self._lines) < self._connections:
            line = _Line(self)
            await loop.create_connection(lambda each=line: each, host, port, ssl=ssl)
            self._lines.add(line)
            self.free(line)

    async def reached(self) -> str | None:
        """Why the server cannot be reached; None if it was, at the first try."""
        return await self._tried

    def _try_ended(self, why: str | None) -> None:
        if not self._tried.done():
            self._tried.set_result(why)

    def send(self, request: bytes, answered: Answered) -> None:
        if self._free:
            self._free.pop().ask((request, answered))
        else:
            self._waiting.append((request, answered))

    def free(self, line: _Line) -> None:
        if self._waiting:
            line.ask(self._waiting.popleft())
        else:
            self._free.append(line)

    def lost(self, line: _Line, job: tuple[bytes, Answered] | None) -> None:
        if self._closing:
            return
        self._lines.discard(line)
        if line in self._free:
            self._free.remove(line)
        if job is not None:
            self.sent_again += 1
            self._waiting.appendleft(job)
        self._lost.set()


def address(url: str) -> tuple[str, int, bool | None]:
    """Host, port, and whether it speaks TLS (None, not False: that is how asyncio wants it)."""
    parts = urlsplit(url)
    assert parts.hostname is not None, url
    secure = parts.scheme == "https"
    return parts.hostname, parts.port or (443 if secure else 80), secure or None
