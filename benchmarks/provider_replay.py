"""The server of `benchmarks.providers`: replays recorded bytes, and does nothing else.

The simulator itself would need more than a core for 600 streams at 50 deltas per second; these are
its bytes. One event is one HTTP chunk. A held stream stops after its first delta until `go`, so
that a client's clock runs for deltas alone.

    python -m benchmarks.provider_replay RECORDINGS CORE
"""

import asyncio
import gc
import os
import re
import subprocess
import sys
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias, cast

import orjson
import uvloop

HEAD: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)
LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)

Recording: TypeAlias = tuple[list[bytes], list[bytes], list[bytes]]
"""Events before the second delta, the other deltas, and what follows them; each an HTTP chunk."""


@dataclass
class Stage:
    """The streams that wait for the signal, and how they are to go on."""

    recordings: dict[str, Recording]
    deltas: int = 0
    rate: float = 0.0
    held: bool = False
    waiting: list[tuple[asyncio.Transport, deque[bytes]]] = field(
        default_factory=list[tuple[asyncio.Transport, deque[bytes]]]
    )

    def enter(self, transport: asyncio.Transport, path: bytes) -> None:
        before, deltas, after = self.recordings[f"{_wire_at(path)}-{self.deltas}"]
        head = b"".join((HEAD, *before))
        end = b"".join((*deltas[-1:], *after, b"0\r\n\r\n"))
        if not self.held:
            transport.write(b"".join((head, *deltas[:-1], end)))
            return
        transport.write(head)
        self.waiting.append((transport, deque((*deltas[:-1], end))))

    def go(self) -> None:
        waiting, self.waiting = self.waiting, []
        if not self.rate:
            for transport, pieces in waiting:
                transport.write(b"".join(pieces))
            return
        loop, every_s = asyncio.get_running_loop(), 1 / self.rate
        for number, (transport, pieces) in enumerate(waiting):
            due = loop.time() + every_s * (1 + number / len(waiting))
            loop.call_at(due, _step, loop, transport, pieces, due, every_s)


def _step(
    loop: asyncio.AbstractEventLoop,
    transport: asyncio.Transport,
    pieces: deque[bytes],
    due: float,
    every_s: float,
) -> None:
    if transport.is_closing():
        return
    transport.write(pieces.popleft())
    if pieces:
        due += every_s
        loop.call_at(due, _step, loop, transport, pieces, due, every_s)


def _wire_at(path: bytes) -> str:
    known = {b"messages": "anthropic", b"responses": "responses", b"completions": "chat"}
    return known.get(path.rpartition(b"/")[2].partition(b"?")[0], "gemini")


class Replay(asyncio.Protocol):
    """Just enough HTTP: a request with a length, kept-alive connections."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._held = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:  # pyright: ignore[reportImplicitOverride]
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass

    def data_received(self, data: bytes) -> None:  # pyright: ignore[reportImplicitOverride]
        self._held += data
        end = self._held.find(b"\r\n\r\n")
        if end < 0:
            return
        found = LENGTH.search(self._held, 0, end)
        total = end + 4 + (int(found[1]) if found else 0)
        if len(self._held) < total:
            return
        path = bytes(self._held[: self._held.index(b"\r\n")]).split(b" ")[1]
        del self._held[:total]
        assert self._transport is not None
        self._stage.enter(self._transport, path)


async def serve(recordings: bytes, core: int) -> None:
    """Commands on standard input: a plan as JSON (answered), or `go`. Ends when the input ends."""
    os.sched_setaffinity(0, {core})
    loop = asyncio.get_running_loop()
    raw = orjson.loads(recordings)
    stage = Stage({key: _from_json(parts) for key, parts in raw.items()})
    server = await loop.create_server(lambda: Replay(stage), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    commands = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    gc.freeze()
    while line := await commands.readline():
        if line == b"go\n":
            stage.go()
        else:
            plan = orjson.loads(line)
            stage.deltas, stage.rate, stage.held = plan["deltas"], plan["rate"], plan["held"]
            stage.waiting.clear()
            print("ok", flush=True)
    server.close()


def _from_json(parts: list[list[str]]) -> Recording:
    before, deltas, after = ([_chunk(event.encode()) for event in part] for part in parts)
    return before, deltas, after


def _chunk(event: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(event), event)


@dataclass(frozen=True)
class Server:
    """The replaying process, from outside."""

    process: subprocess.Popen[bytes]
    url: str

    def plan(self, deltas: int, *, rate: float = 0.0, held: bool) -> None:
        self.say(orjson.dumps({"deltas": deltas, "rate": rate, "held": held}) + b"\n")
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"ok\n"

    def say(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()


@contextmanager
def started(*arguments: str) -> Generator[tuple[subprocess.Popen[bytes], str]]:
    """A process of ours and the first line it says."""
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, *arguments], stdin=pipe, stdout=pipe)
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().decode().strip()
    finally:
        process.terminate()
        process.communicate()


if __name__ == "__main__":
    uvloop.run(serve(Path(sys.argv[1]).read_bytes(), int(sys.argv[2])))
