"""An HTTP client that sees what is on the wire: bytes, HTTP chunks, and how it all ended."""

import asyncio
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, cast
from urllib.parse import urlsplit

import orjson

Json = dict[str, Any]


class Ending(StrEnum):
    CLEAN = "clean"
    """The last HTTP chunk, or all bytes of the announced length."""
    CLOSED = "closed"
    """The connection was closed before that."""
    RESET = "reset"
    SILENT = "silent"
    """Nothing more came within the time that we waited."""


@dataclass
class Outcome:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict[str, str])
    chunks: list[bytes] = field(default_factory=list[bytes])
    ending: Ending = Ending.CLOSED

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    def json(self) -> Json:
        return cast(Json, orjson.loads(self.body))

    def events(self) -> list[tuple[str, str]]:
        """Finished events as (name, data), read as the SSE standard says."""
        text = self.body.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")
        found: list[tuple[str, str]] = []
        for block in text.split("\n\n")[:-1]:
            name, data = "", list[str]()
            for line in block.split("\n"):
                key, _, value = line.partition(":")
                value = value.removeprefix(" ")
                if key == "event":
                    name = value
                elif key == "data":
                    data.append(value)
            if data:
                found.append((name, "\n".join(data)))
        return found

    def data(self) -> list[Json]:
        """The events whose data is a JSON object."""
        found: list[Json] = []
        for _, text in self.events():
            try:
                value: object = orjson.loads(text)
            except ValueError:
                continue
            if isinstance(value, dict):
                found.append(cast(Json, value))
        return found


async def post(
    url: str,
    path: str,
    body: object,
    headers: dict[str, str],
    *,
    silence_s: float = 10.0,
    bytes_max: int = 1_000_000,
) -> Outcome:
    """Send one request and read until it ends, falls silent, or is more than we want."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    lines = [f"POST {path} HTTP/1.1", f"host: {parts.netloc}", f"content-length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
    outcome = Outcome()
    try:
        await _read(reader, outcome, silence_s, bytes_max)
    except TimeoutError:
        outcome.ending = Ending.SILENT
    except ConnectionResetError:
        outcome.ending = Ending.RESET
    except asyncio.IncompleteReadError as error:
        outcome.chunks.append(error.partial)
        outcome.ending = Ending.CLOSED
    finally:
        writer.close()
    return outcome


async def _read(
    reader: asyncio.StreamReader, outcome: Outcome, silence_s: float, bytes_max: int
) -> None:
    async with asyncio.timeout(silence_s):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *rest = head.strip().split("\r\n")
    outcome.status = int(first.split()[1])
    outcome.headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in rest)}
    if outcome.headers.get("transfer-encoding") != "chunked":
        async with asyncio.timeout(silence_s):
            length = int(outcome.headers.get("content-length", "0"))
            outcome.chunks.append(await reader.readexactly(length))
        outcome.ending = Ending.CLEAN
        return
    total = 0
    while total < bytes_max:
        async with asyncio.timeout(silence_s):
            size = int(await reader.readuntil(b"\r\n"), 16)
            piece = await reader.readexactly(size + 2)
        if size == 0:
            outcome.ending = Ending.CLEAN
            return
        outcome.chunks.append(piece[:-2])
        total += size
