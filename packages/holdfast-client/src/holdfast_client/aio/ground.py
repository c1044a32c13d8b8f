"""What the two halves do differently, so that all else can be the same. Twin: sync/ground.py."""

import asyncio
import inspect
import ssl

from holdfast_client.models import Json


async def sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


async def finish(result: object) -> Json:
    """What a tool's function gave: of an async one, what it comes to."""
    return await result if inspect.isawaitable(result) else result


class AsyncWire:
    """Bytes both ways. Raises OSError, of which TimeoutError is one."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(
        cls, host: str, port: int, tls: ssl.SSLContext | None, timeout_s: float
    ) -> "AsyncWire":
        async with asyncio.timeout(timeout_s):
            return cls(*await asyncio.open_connection(host, port, ssl=tls))

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def receive(self, timeout_s: float) -> bytes:
        """Empty at the end."""
        async with asyncio.timeout(timeout_s):
            return await self._reader.read(65_536)

    async def close(self) -> None:
        """Close at once: the data still on its way is not needed."""
        self._writer.transport.abort()
