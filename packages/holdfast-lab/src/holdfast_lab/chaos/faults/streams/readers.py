"""Readers over real sockets that lose their connection all the time, and lose nothing else."""

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from holdfast.domain.ids import ChatId
from holdfast.stream.cursor import Cursor
from holdfast_client.view import WireEvent
from holdfast_lab.chaos.faults.workers.watching import Watching

READ_MAX = 8_192
WHOLE = 2**31
"""The position in a commit of a reader that has all of it."""


@dataclass
class Frames:
    """Server-sent events out of bytes, however they were cut."""

    rest: bytes = b""

    def feed(self, data: bytes) -> list[WireEvent]:
        *blocks, self.rest = (self.rest + data).split(b"\n\n")
        return [self._frame(block) for block in blocks if block and not block.startswith(b":")]

    def _frame(self, block: bytes) -> WireEvent:
        fields = dict(line.split(b": ", 1) for line in block.split(b"\n"))
        return WireEvent.from_bytes(fields[b"data"])


@dataclass
class SocketReader:
    """One reader: reconnects with its cursor, to whichever replica, until it is told to stop."""

    chat_id: ChatId
    replicas: Callable[[], Sequence[int]]
    chance: random.Random
    cut_every_bytes: int | None = 4_000
    slices_bytes: int | None = None
    back_s: float = 0.2
    """How long it stays away at most."""
    seen: Watching = field(default_factory=Watching)
    cursor: str = "-"
    events: int = 0
    connections: int = 0
    resets: int = 0
    _writer: asyncio.StreamWriter | None = None

    def cut(self) -> None:
        """Lose the connection, as with a whole fleet."""
        if self._writer is not None:
            self._writer.transport.abort()

    async def run(self) -> None:
        while True:
            with suppress(ConnectionError, OSError):
                await self._connect_and_read()
            await asyncio.sleep(self.chance.random() * self.back_s)

    async def _connect_and_read(self) -> None:
        port = self.chance.choice(list(self.replicas()))
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=READ_MAX)
        self._writer = writer
        self.connections += 1
        try:
            writer.write(f"{self.chat_id} {self.cursor}\n".encode())
            await self._read(reader)
        finally:
            self._writer = None
            writer.transport.abort()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        frames = Frames()
        budget = None
        if self.cut_every_bytes is not None:
            budget = self.chance.randrange(1, 2 * self.cut_every_bytes)
        while budget is None or budget > 0:
            size = READ_MAX if self.slices_bytes is None else self.slices_bytes
            data = await reader.read(size if budget is None else min(size, budget))
            if not data:
                return
            if budget is not None:
                budget -= len(data)
            for event in frames.feed(data):
                self._take(event)

    def _take(self, event: WireEvent) -> None:
        self.events += 1
        self.resets += event.type == "history.reset" and self.cursor != "-"
        if event.cursor is not None:
            self._go_to(event.cursor)
        if event.type == "history.reset" and self.events == 1:
            return
        self.seen.take(event.type, event.data)

    def _go_to(self, cursor: str) -> None:
        """Every identifier is after the one before, wherever it was given (R2)."""
        if self.cursor != "-" and order_of(cursor) <= order_of(self.cursor):
            self.seen.reordered += 1
            self.seen.wrong.append(f"{cursor} after {self.cursor}")
        self.cursor = cursor


def order_of(text: str) -> tuple[int, int, int, int]:
    """Identifiers of one chat in the order of what they stand for."""
    cursor = Cursor.parse(text)
    assert cursor is not None, text
    place = WHOLE if cursor.place is None else cursor.place
    return cursor.version, place, cursor.attempt, cursor.seq
