"""Count statements where they cannot hide: on the wire between driver and server."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit, urlunsplit

Hear: TypeAlias = Callable[[str, bytes], None]
"""Is told the application of a connection, and bytes that passed on it in either direction."""


@dataclass(frozen=True, slots=True)
class Executed:
    """A statement that passed: its text, on which connection of which application, and when."""

    text: str
    application: str
    connection: int
    at_s: float


class StatementCounter:
    """Reads the frontend half of PostgreSQL's protocol: a type byte and a length each.

    What Parse names, Bind puts into a portal and Execute runs; a simple Query has its own text.
    """

    def __init__(self, connection: int = 0) -> None:
        self.seen: list[Executed] = []
        self._connection = connection
        self._application = ""
        self._rest = b""
        self._started = False
        self._parsed: dict[bytes, str] = {}
        self._portals: dict[bytes, bytes] = {}

    @property
    def executed(self) -> int:
        return len(self.seen)

    @property
    def application(self) -> str:
        return self._application

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
            kind, body = self._rest[: head - 4], self._rest[head:length]
            if self._started:
                self._take(kind, body)
            else:
                self._start(body)
            self._rest = self._rest[length:]
            self._started = True

    def _start(self, body: bytes) -> None:
        words = body[4:].split(b"\0")  # behind the version: names and values in turn
        given = dict(zip(words[::2], words[1::2], strict=False))
        self._application = given.get(b"application_name", b"").decode()

    def _take(self, kind: bytes, body: bytes) -> None:
        first, _, rest = body.partition(b"\0")
        match kind:
            case b"P":
                self._parsed[first] = rest.partition(b"\0")[0].decode()
            case b"B":
                self._portals[first] = rest.partition(b"\0")[0]
            case b"E":
                self._ran(self._parsed[self._portals[first]])
            case b"Q":
                self._ran(first.decode())
            case _:
                pass

    def _ran(self, text: str) -> None:
        at_s = asyncio.get_running_loop().time()
        self.seen.append(Executed(text, self._application, self._connection, at_s))


class WireTap:
    def __init__(self) -> None:
        self._counters: list[StatementCounter] = []
        self.url = ""

    @property
    def statements(self) -> int:
        return sum(counter.executed for counter in self._counters)

    def seen(self) -> list[Executed]:
        """Everything that passed, in order."""
        every = [executed for counter in self._counters for executed in counter.seen]
        return sorted(every, key=lambda executed: executed.at_s)

    def open_counter(self) -> StatementCounter:
        self._counters.append(StatementCounter(len(self._counters)))
        return self._counters[-1]


@asynccontextmanager
async def tapped(url: str, hear: Hear = lambda _, __: None) -> AsyncGenerator[WireTap]:
    """A proxy in front of a PostgreSQL server that counts what passes."""
    parts = urlsplit(url)
    tap = WireTap()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream = await asyncio.open_connection(parts.hostname, parts.port or 5432)
        counter = tap.open_counter()

        def asked(data: bytes) -> None:
            counter.feed(data)
            hear(counter.application, data)

        def answered(data: bytes) -> None:
            hear(counter.application, data)

        with suppress(ConnectionError):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_pump(reader, upstream[1], asked))
                tasks.create_task(_pump(upstream[0], writer, answered))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    place = f"{parts.username}@127.0.0.1:{port}" if parts.username else f"127.0.0.1:{port}"
    tap.url = urlunsplit((parts.scheme, place, parts.path, "sslmode=disable", ""))
    try:
        yield tap
    finally:
        server.close()


async def _pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, passed: Callable[[bytes], None]
) -> None:
    try:
        while data := await reader.read(65536):
            passed(data)
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()
