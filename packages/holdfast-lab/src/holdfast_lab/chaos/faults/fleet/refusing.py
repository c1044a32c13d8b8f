"""A line to PostgreSQL that answers statements with errors of its own.

It reads both directions message by message. A statement that is to fail never reaches the server:
the line answers for it, as the server would.
"""

import asyncio
import re
import struct
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from holdfast_lab.chaos.harness.proxy import HERE, listening

SSL_REQUEST: Final = 80877103
PROTOCOL_3: Final = 196608
CLOSING: Final = frozenset({"08", "57", "28", "3D"})
"""Classes after which the server closes the connection."""
NEVER: Final = re.compile(r"(?i)(commit|rollback|begin|start transaction|listen|unlisten)\b")
"""What ends a transaction must reach the server: a line cannot end it in the server's stead."""
CONNECTING: Final = "connecting"
COMMITS: Final = "insert into messages"
"""In the text of every commit of a chat."""
SQL_COMMENT: Final = re.compile(r"--[^\n]*\n|\s+")


@dataclass(eq=False)
class Refusing:
    """While it has a `code`, every statement fails so often as `each` says, then it passes."""

    to_host: str
    to_port: int
    port: int = 0
    code: str = ""
    each: int = 1
    only: str = ""
    """Refuse only statements with this word in them, however often they come."""
    refused: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """How often, by code and statement."""
    seen: set[str] = field(default_factory=set[str])

    def instead_of(self, url: str) -> str:
        parts = urlsplit(url)
        place = f"{parts.username}@{HERE}:{self.port}"
        return urlunsplit((parts.scheme, place, parts.path, parts.query, ""))

    def begin(self, code: str) -> None:
        self.code = code

    def end(self) -> None:
        self.code = ""

    def refuses(self, statement: str) -> bool:
        """Whether this statement is to fail now; it is counted."""
        self.seen.add(statement)
        if not self.code or NEVER.match(statement):
            return False
        key = (self.code, statement)
        due = self.only in statement if self.only else self.refused[key] < self.each
        self.refused[key] += due
        return due

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            to, from_ = await asyncio.open_connection(self.to_host, self.to_port)
            try:
                await _Passing(self, reader, writer, to, from_).run()
            finally:
                from_.transport.abort()
        writer.transport.abort()


@dataclass(eq=False)
class _Passing:
    line: Refusing
    asks: asyncio.StreamReader
    told: asyncio.StreamWriter
    answers: asyncio.StreamReader
    server: asyncio.StreamWriter
    statements: dict[bytes, str] = field(default_factory=dict[bytes, str])
    state: bytes = b"I"
    """Of the transaction, as the server said it last."""

    async def run(self) -> None:
        if not await self._started():
            return
        async with asyncio.TaskGroup() as ways:
            back = ways.create_task(self._pass_answers())
            with suppress(OSError, asyncio.IncompleteReadError):  # one of both has hung up
                await self._pass_asks()
            back.cancel()

    async def _started(self) -> bool:
        while True:
            head = await self.asks.readexactly(8)
            length, code = struct.unpack("!II", head)
            rest = await self.asks.readexactly(length - 8)
            if code == SSL_REQUEST:
                self.told.write(b"N")
                continue
            if code == PROTOCOL_3 and self.line.refuses(CONNECTING):
                self.told.write(error(self.line.code))
                await self.told.drain()
                self.told.close()
                return False
            self.server.write(head + rest)
            return True

    async def _pass_answers(self) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                kind, message = await _message(self.answers)
                if kind == b"Z":
                    self.state = message[-1:]
                self.told.write(message)
                await self.told.drain()
        self.told.transport.abort()

    async def _pass_asks(self) -> None:
        while True:
            kind, message = await _message(self.asks)
            statement = self._statement_of(kind, message)
            if statement is not None and self.line.refuses(statement):
                while kind not in (b"S", b"Q"):  # nothing of it reaches the server
                    kind, _ = await _message(self.asks)
                if not await self._refuse():
                    return
                continue
            self.server.write(message)
            await self.server.drain()

    def _statement_of(self, kind: bytes, message: bytes) -> str | None:
        """The text of the statement that this message runs."""
        if kind == b"Q":
            return _in_one_line(message[5:-1])
        if kind == b"P":
            name, text = message[5:].split(b"\0")[:2]
            self.statements[name] = _in_one_line(text)
        if kind == b"B":
            name = message[5:].split(b"\0")[1]
            text = self.statements.get(name, "unknown")
            return f"{text} [{nulls(message)}]" if COMMITS in text else text
        return None

    async def _refuse(self) -> bool:
        """False: the connection is closed, too."""
        code = self.line.code
        self.told.write(error(code))
        if code[:2] in CLOSING:
            await self.told.drain()
            self.told.close()
            return False
        state = b"I" if self.state == b"I" else b"E"
        self.told.write(b"Z" + struct.pack("!I", 5) + state)
        await self.told.drain()
        return True


def nulls(bind: bytes) -> str:
    """Which parameters of a Bind message are null, a digit for each: a commit with a key, one of a
    runner and one that says nothing have the same text."""
    at = bind.index(b"\0", bind.index(b"\0", 5) + 1) + 1
    (formats,) = struct.unpack_from("!H", bind, at)
    at += 2 + 2 * formats
    (count,) = struct.unpack_from("!H", bind, at)
    at += 2
    found = ""
    for _ in range(count):
        (length,) = struct.unpack_from("!i", bind, at)
        found += "1" if length < 0 else "0"
        at += 4 + max(0, length)
    return found


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readexactly(5)
    (length,) = struct.unpack("!I", head[1:])
    return head[:1], head + await reader.readexactly(length - 4)


def error(code: str) -> bytes:
    said = ("SERROR", "VERROR", f"C{code}", f"Mholdfast prove refuses this with {code}")
    body = b"".join(each.encode() + b"\0" for each in said) + b"\0"
    return b"E" + struct.pack("!I", len(body) + 4) + body


def _in_one_line(text: bytes) -> str:
    return SQL_COMMENT.sub(" ", text.decode()).strip()


@asynccontextmanager
async def refusing_line(url: str, each: int = 1) -> AsyncGenerator[Refusing]:
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    line = Refusing(parts.hostname, parts.port, each=each)
    async with listening(line.serve) as line.port:
        yield line
