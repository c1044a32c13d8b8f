"""The wire between a browser and its server, which a test may cut."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from tests.support.servers import Peer


@dataclass
class Cable:
    """Whatever is said on it passes, until somebody cuts it."""

    port: int
    to_port: int
    is_cut: bool = False
    """Who calls is hung up on."""
    ends: set[asyncio.StreamWriter] = field(default_factory=set[asyncio.StreamWriter])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def reset(self) -> None:
        """Every connection ends as if a proxy had died; the next ones pass."""
        for end in self.ends:
            Peer(asyncio.StreamReader(), end).reset()

    def cut(self) -> None:
        self.is_cut = True
        self.reset()

    def mend(self) -> None:
        self.is_cut = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_cut:
            return Peer(reader, writer).reset()
        self.ends.add(writer)
        try:
            await self._connect(reader, writer)
        except OSError:
            pass  # nobody is there
        finally:
            self.ends.discard(writer)
            writer.transport.abort()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, asks = await asyncio.open_connection("127.0.0.1", self.to_port)
        try:
            ways = [
                asyncio.create_task(_pass(reader, asks)),
                asyncio.create_task(_pass(answers, writer)),
            ]
            _, left = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in left:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        finally:
            asks.transport.abort()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def a_cable(port: int, to_port: int) -> AsyncGenerator[Cable]:
    cable = Cable(port, to_port)
    server = await asyncio.start_server(cable.serve, "127.0.0.1", port)
    try:
        yield cable
    finally:
        server.close()
        cable.cut()
