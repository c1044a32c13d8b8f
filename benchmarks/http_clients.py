"""Clients as cheap as Python allows: readers that count events, senders that count answers."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass
class Counted:
    """Of all readers together. `parts` are the events of live words."""

    parts: int = 0
    bytes: int = 0
    ready: int = 0
    lost: int = 0

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not holds():  # noqa: ASYNC110 - it is asked seldom, and counts often
                await asyncio.sleep(0.05)


class Reader(asyncio.Protocol):
    def __init__(self, request: bytes, counted: Counted) -> None:
        self._request = request
        self._counted = counted
        self._began = False
        self.closing = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:  # pyright: ignore[reportImplicitOverride]
        assert isinstance(transport, asyncio.Transport)
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:  # pyright: ignore[reportImplicitOverride]
        if not self._began:
            assert data.startswith(b"HTTP/1.1 200"), data
            self._began = True
            self._counted.ready += 1
        self._counted.parts += data.count(b"event: preview.delta\n")
        self._counted.bytes += len(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # pyright: ignore[reportImplicitOverride]
        self._counted.lost += not self.closing


@asynccontextmanager
async def reading(url: str, requests: Sequence[bytes]) -> AsyncGenerator[Counted]:
    """So many readers, all of which have been answered."""
    loop, address, counted = asyncio.get_running_loop(), urlsplit(url), Counted()
    made: list[tuple[asyncio.Transport, Reader]] = []
    try:
        for request in requests:
            connecting = loop.create_connection(
                lambda r=request: Reader(r, counted), address.hostname or "", address.port or 0
            )
            made.append(await connecting)
        await counted.until(lambda: counted.ready >= len(requests))
        yield counted
    finally:
        for transport, reader in made:
            reader.closing = True
            transport.close()


def get(path: str, key: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\r\n".encode()


def post(path: str, key: str, body: bytes) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def send_all(url: str, requests: Sequence[bytes], connections: int) -> list[bytes]:
    """Each once, over so many connections that are kept; the answers' bodies."""
    address, waiting, answers = urlsplit(url), iter(requests), list[bytes]()

    async def work() -> None:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        for request in waiting:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith((b"HTTP/1.1 202", b"HTTP/1.1 201")), head
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            answers.append(await reader.readexactly(length))
        writer.close()

    async with asyncio.TaskGroup() as tasks:
        for _ in range(connections):
            tasks.create_task(work())
    return answers
