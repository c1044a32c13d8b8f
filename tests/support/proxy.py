"""What stands between a client and its replicas, and breaks connections where a test says so.

Each connection is for one request and goes to the next replica. Of a stream, what a replica sends
is taken apart into what it wrote at a time, an event each, so that a cut can be exact.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from holdfast_lab.chaos.harness.proxy import listening

_HEAD_END: Final = b"\r\n\r\n"
PING: Final = b'"type":"ping"'


@dataclass(frozen=True)
class Cut:
    """Let so many events through, then so many bytes of the next (-2: all but 2), then `end`."""

    events: int
    more: int = 0
    end: str = "reset"
    """`reset`, `close`, or `silent`: the connection stands, and nothing comes any more."""


Plan = Callable[[int], Cut | None]
"""What is done to the stream of this number; None: nothing."""


@dataclass
class Proxy:
    urls: Sequence[str]
    plan: Plan = lambda _number: None
    swallow: int = 0
    """Of answers to changes: so many are heard by the replica, and never by the client."""
    requests: list[str] = field(default_factory=list[str])
    streams: int = 0
    reached: set[str] = field(default_factory=set[str])
    """Replicas that streams went to."""
    url: str = ""
    _connections: int = 0
    _frozen: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(_HEAD_END)
            await self._pass(head, reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    async def _pass(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        first = head.partition(b"\r\n")[0].decode()
        self.requests.append(first)
        url = self.urls[self._connections % len(self.urls)]
        self._connections += 1
        address = urlsplit(url)
        answers, asks = await asyncio.open_connection(address.hostname, address.port)
        try:
            asks.write(_for_one_request(head))
            asks.write(await reader.readexactly(_length(head)))
            path = first.split(" ")[1].partition("?")[0]
            if path.endswith("/events"):
                self.reached.add(url)
                await self._stream(answers, writer)
            elif self.swallow and not first.startswith("GET"):
                self.swallow -= 1
                await answers.read()
            else:
                writer.write(await answers.read())
                await writer.drain()
        finally:
            asks.transport.abort()

    async def _stream(self, answers: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await answers.readuntil(_HEAD_END)
        writer.write(head)
        if head.split(b" ")[1] not in (b"200", b"101"):
            writer.write(await answers.read())
            await writer.drain()
            return
        cut = self.plan(self.streams)
        self.streams += 1
        passed = 0
        async for event in _written(answers, by_socket=head.startswith(b"HTTP/1.1 101")):
            if PING in event:  # a resume without news begins with one; a cut is for what is told
                writer.write(event)
                await writer.drain()
                continue
            if cut is not None and passed == cut.events:
                writer.write(event[: cut.more])
                break
            writer.write(event)
            await writer.drain()
            passed += 1
        with suppress(OSError):
            await writer.drain()
        if cut is None or cut.end == "close":
            writer.close()
            await writer.wait_closed()
        elif cut.end == "silent":
            await self._frozen.wait()
        # else it is reset by whoever called


def _for_one_request(head: bytes) -> bytes:
    lines = [line for line in head.split(b"\r\n") if line]
    if any(line.lower().startswith(b"upgrade:") for line in lines):
        return head
    kept = [line for line in lines if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*kept, b"connection: close"]) + _HEAD_END


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


async def _written(answers: asyncio.StreamReader, *, by_socket: bool) -> AsyncIterator[bytes]:
    """One HTTP chunk, or one frame, after the other, as they are on the wire."""
    with suppress(asyncio.IncompleteReadError):
        while True:
            piece = await (_frame(answers) if by_socket else _http_chunk(answers))
            yield piece
            if piece == b"0\r\n\r\n":
                return


async def _http_chunk(answers: asyncio.StreamReader) -> bytes:
    size = await answers.readuntil(b"\r\n")
    return size + await answers.readexactly(int(size, 16) + 2)


async def _frame(answers: asyncio.StreamReader) -> bytes:
    head = await answers.readexactly(2)
    extended = {126: 2, 127: 8}.get(head[1], 0)
    length = await answers.readexactly(extended)
    size = int.from_bytes(length, "big") if extended else head[1]
    return head + length + await answers.readexactly(size)


@asynccontextmanager
async def a_proxy(urls: Sequence[str], plan: Plan = lambda _number: None) -> AsyncGenerator[Proxy]:
    proxy = Proxy(urls, plan)
    async with listening(proxy.serve) as port:
        proxy.url = f"http://127.0.0.1:{port}"
        yield proxy
