"""A line that can be bad: between a server and its database or bus, or a reader and its server."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from urllib.parse import urlsplit, urlunsplit

Serve: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
READ_MAX: Final = 64 * 1024
HERE: Final = "127.0.0.1"


@dataclass(eq=False)
class Line:
    """Passes on what is said on it, as well as it is told to."""

    to_host: str
    to_port: int
    host: str = HERE
    port: int = 0
    delay_s: float = 0.0
    """For every piece, either way."""
    slices_bytes: int | None = None
    """However much is said, it comes in pieces of this size."""
    connections: int = 0
    cuts: int = 0
    """Connections that were cut."""
    _answers_left: int | None = None
    _refuses: bool = False
    _passes: asyncio.Event = field(default_factory=asyncio.Event)
    _ends: set[asyncio.StreamWriter] = field(default_factory=set[asyncio.StreamWriter])

    def __post_init__(self) -> None:
        self._passes.set()

    def cut(self) -> None:
        """Every connection, now. The next ones pass."""
        self.cuts += len(self._ends)
        for end in self._ends:
            end.transport.abort()

    def hang_up(self) -> None:
        """As `cut`, and refuse new connections until it is mended."""
        self._refuses = True
        self.cut()

    def cut_after(self, answer_bytes: int) -> None:
        """In the middle of an answer: who is told more than this is cut off."""
        self._answers_left = answer_bytes

    def stall(self) -> None:
        """A black hole: connections are accepted and never answered."""
        self._passes.clear()

    def mend(self) -> None:
        """What was said into the black hole arrives now, as the kernel repeats it."""
        self.delay_s, self.slices_bytes, self._answers_left = 0.0, None, None
        self._refuses = False
        self._passes.set()

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def instead_of(self, url: str) -> str:
        """The same address by way of this line."""
        parts = urlsplit(url)
        user = f"{parts.username}@" if parts.username else ""
        place = f"{user}{self.host}:{self.port}"
        return urlunsplit((parts.scheme, place, parts.path, parts.query, ""))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refuses:
            writer.transport.abort()
            return
        self.connections += 1
        self._ends.add(writer)
        try:
            with suppress(OSError):
                await self._passes.wait()
                await self._connect(reader, writer)
        finally:
            self._ends.discard(writer)
            writer.transport.abort()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, asks = await asyncio.open_connection(self.to_host, self.to_port)
        try:
            ways = {
                asyncio.create_task(self._pass(reader, asks)),
                asyncio.create_task(self._pass(answers, writer, counted=True)),
            }
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        finally:
            asks.transport.abort()

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, counted: bool = False
    ) -> None:
        while data := await reader.read(self.slices_bytes or READ_MAX):
            if self.delay_s:
                await asyncio.sleep(self.delay_s)
            await self._passes.wait()
            if counted and self._answers_left is not None:
                self._answers_left -= len(data)
                if self._answers_left < 0:
                    writer.write(data[: self._answers_left])
                    self._answers_left = None
                    self.cut()
                    return
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def a_line(to: str | int, host: str = HERE, port: int = 0) -> AsyncGenerator[Line]:
    """To a URL, or to a port of this machine; gone afterwards."""
    parts = urlsplit(to) if isinstance(to, str) else None
    to_host, to_port = (HERE, to) if parts is None else (parts.hostname, parts.port)
    assert isinstance(to_host, str)
    assert isinstance(to_port, int)
    line = Line(to_host, to_port, host)
    async with listening(line.serve, host, port) as line.port:
        yield line


@asynccontextmanager
async def listening(serve: Serve, host: str = HERE, port: int = 0) -> AsyncGenerator[int]:
    """Listens at the port that it yields; open connections are closed at the end."""
    running: set[asyncio.Task[None]] = set()

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            await serve(reader, writer)
        except asyncio.CancelledError:
            pass  # it is over; a server of asyncio's would call it an error
        finally:
            running.discard(task)

    server = await asyncio.start_server(served, host, port)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tuple(running):
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
