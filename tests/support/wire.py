"""Count statements where they cannot hide: on the wire between driver and server."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit, urlunsplit


class StatementCounter:
    """Reads the frontend half of PostgreSQL's protocol: a type byte and a length each."""

    def __init__(self) -> None:
        self.executed = 0
        self._rest = b""
        self._started = False

    def feed(self, data: bytes) -> None:
        self._rest += data
        while True:
            # The first message of a connection has no type byte.
            head = 5 if self._started else 4
            if len(self._rest) < head:
                return
            length = int.from_bytes(self._rest[head - 4 : head], "big") + head - 4
            if len(self._rest) < length:
                return
            if self._started and self._rest[:1] in {b"E", b"Q"}:  # Execute, simple Query
                self.executed += 1
            self._rest = self._rest[length:]
            self._started = True


class WireTap:
    def __init__(self) -> None:
        self._counters: list[StatementCounter] = []
        self.url = ""

    @property
    def statements(self) -> int:
        return sum(counter.executed for counter in self._counters)

    def open_counter(self) -> StatementCounter:
        self._counters.append(StatementCounter())
        return self._counters[-1]


@asynccontextmanager
async def tapped(url: str) -> AsyncGenerator[WireTap]:
    """A proxy in front of a PostgreSQL server that counts what passes."""
    parts = urlsplit(url)
    tap = WireTap()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream = await asyncio.open_connection(parts.hostname, parts.port or 5432)
        with suppress(ConnectionError):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_pump(reader, upstream[1], tap.open_counter()))
                tasks.create_task(_pump(upstream[0], writer, None))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    place = f"{parts.username}@127.0.0.1:{port}" if parts.username else f"127.0.0.1:{port}"
    tap.url = urlunsplit((parts.scheme, place, parts.path, "sslmode=disable", ""))
    try:
        yield tap
    finally:
        server.close()


async def _pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, counter: StatementCounter | None
) -> None:
    try:
        while data := await reader.read(65536):
            if counter is not None:
                counter.feed(data)
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()
