"""Tiny raw HTTP servers that misbehave exactly as told, and count who is still connected."""

import asyncio
import socket
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.support.waits import HANG_S

OK = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data) if data else b""


def answer(status: str, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass
class Peer:
    """One connection, from the server's side."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    head: bytes = b""
    body: bytes = b""

    async def read_request(self) -> bool:
        try:
            self.head = await self.reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return False
        for line in self.head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                self.body = await self.reader.readexactly(int(line.split(b":")[1]))
        return True

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def gone(self) -> None:
        """Until the client has hung up."""
        while await self.reader.read(65536):
            pass

    def reset(self) -> None:
        """Cut the line so that the client sees a TCP reset."""
        raw: socket.socket = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Handler = Callable[[Peer], Awaitable[None]]


@dataclass
class RawServer:
    port: int = 0
    connections: int = 0
    open: int = 0
    requests: list[Peer] = field(default_factory=list[Peer])
    idle: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def serving(handler: Handler) -> AsyncGenerator[RawServer]:
    """A server that reads requests and leaves the rest to `handler`."""
    server = RawServer()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        server.open += 1
        server.idle.clear()
        try:
            peer = Peer(reader, writer)
            while await peer.read_request():
                server.requests.append(peer)
                await handler(peer)
                if writer.is_closing():
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            server.open -= 1
            if not server.open:
                server.idle.set()

    listener = await asyncio.start_server(connected, "127.0.0.1", 0)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        async with asyncio.timeout(HANG_S):
            if server.open:
                await server.idle.wait()


async def nothing_left() -> None:
    """No task but the caller's is alive."""
    async with asyncio.timeout(HANG_S):
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others, timeout=0.05)
