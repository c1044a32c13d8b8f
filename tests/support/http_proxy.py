"""A small HTTP proxy on loopback: CONNECT and absolute addresses, with or without a password."""

import asyncio
import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.support.waits import HANG_S

_HEAD_END = b"\r\n\r\n"


@dataclass
class HttpProxy:
    credentials: str | None = None
    """`user:password`; None: any client may use it."""
    refuses: str | None = None
    """A status line with which every request is refused."""
    port: int = 0
    asked: list[str] = field(default_factory=list[str])
    """The request lines of those it served, and of those it refused."""
    open: int = 0
    idle: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            head = await reader.readuntil(_HEAD_END)
            line, _, headers = head.partition(b"\r\n")
            self.asked.append(line.decode())
            refusal = self.refuses or self._unauthorised(headers)
            if refusal is not None:
                writer.write(f"HTTP/1.1 {refusal}\r\ncontent-length: 0\r\n\r\n".encode())
                await writer.drain()
                return
            await self._connect(line, headers, reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            self.open -= 1
            self.idle.set()

    def _unauthorised(self, headers: bytes) -> str | None:
        if self.credentials is None:
            return None
        word = b"proxy-authorization: basic " + base64.b64encode(self.credentials.encode()).lower()
        return None if word in headers.lower() else "407 Proxy Authentication Required"

    async def _connect(
        self,
        line: bytes,
        headers: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        method, target, _ = line.decode().split(" ")
        url = urlsplit(f"//{target}" if method == "CONNECT" else target)
        there, to = await asyncio.open_connection("127.0.0.1", url.port)
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            else:
                kept = [h for h in headers.split(b"\r\n") if not h.lower().startswith(b"proxy-")]
                to.write(f"{method} {url.path}?{url.query} HTTP/1.1\r\n".encode())
                to.write(b"\r\n".join(kept))
            async with asyncio.TaskGroup() as group:
                group.create_task(_copy(reader, to))
                group.create_task(_copy(there, writer))
        finally:
            to.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def http_proxy(
    credentials: str | None = None, refuses: str | None = None
) -> AsyncGenerator[HttpProxy]:
    proxy = HttpProxy(credentials, refuses)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        async with asyncio.timeout(HANG_S):
            while proxy.open:
                proxy.idle.clear()
                await proxy.idle.wait()
