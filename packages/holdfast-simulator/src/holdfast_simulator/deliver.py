"""Send items over a real connection: pacing, chunking, gzip, and the faults that need a socket."""

import asyncio
import socket
import struct
import zlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Final, Protocol, assert_never

from aiohttp import web

from holdfast_simulator.clock import Clock
from holdfast_simulator.inject import Act, Huge, Item, Raw
from holdfast_simulator.options import Options
from holdfast_simulator.record import Entry
from holdfast_simulator.sse import Encoder
from holdfast_simulator.usage import InputUsage
from holdfast_simulator.wires.base import Frame, Mark

HUGE_PIECE: Final = b"x" * 65_536
HELD_BYTES_MAX: Final = 16_384
"""Of an answer without a pace, before it is written: a word at a time, half of the simulator's work
would be system calls."""
PING_EVERY_S: Final = 0.1
PAUSE_PING_S: Final = 15.0
SETTLE_S: Final = 0.02
"""Time for the bytes before a reset to leave: a reset may overtake what is still queued."""
GZIP_WBITS: Final = 31


class Sink(Protocol):
    async def write(self, data: bytes) -> None: ...


class Codec(Protocol):
    """What zlib's compressor can do; its own type is private."""

    def compress(self, data: bytes, /) -> bytes: ...
    def flush(self, mode: int, /) -> bytes: ...


@dataclass(slots=True)
class Gzipped:
    """Compresses what passes, so that every event can be read as soon as it was sent."""

    sink: Sink
    codec: Codec

    async def write(self, data: bytes) -> None:
        await self.sink.write(self.codec.compress(data) + self.codec.flush(zlib.Z_SYNC_FLUSH))

    async def finish(self) -> None:
        await self.sink.write(self.codec.flush(zlib.Z_FINISH))


def gzipped(sink: Sink) -> Gzipped:
    return Gzipped(sink, zlib.compressobj(wbits=GZIP_WBITS))


class Delivery:
    """One answer on its way out. The entry knows at every moment what went out and its cost."""

    def __init__(
        self,
        *,
        entry: Entry,
        options: Options,
        encoder: Encoder,
        cost: InputUsage,
        clock: Clock,
        hang_max_s: float,
    ) -> None:
        self._entry = entry
        self._options = options
        self._encoder = encoder
        self._cost = cost
        self._clock = clock
        self._hang_max_s = hang_max_s
        self._due_s = 0.0
        self._deltas = 0
        self._held = b""

    async def send(self, items: list[Item], sink: Sink, request: web.Request) -> None:
        """Returns when everything is out or an act ended it."""
        if self._options.latency_s:
            await asyncio.sleep(self._options.latency_s)
        self._due_s = self._clock.mono_s()
        plain = not (self._options.one_piece or self._options.piece_bytes or self._options.pings)
        for item in items:
            if isinstance(item, Frame) and item.pause_s:
                await self._flush(sink)
                await self._pause(item.pause_s, sink)
            if plain and isinstance(item, Frame):
                # The path of almost every delta; the one below says the same, slower.
                await self._pace(item)
                data = self._encoder.frame(item)
                self._entry.note(item.name or str(item.mark), data)
                if self._options.rate or len(self._held) > HELD_BYTES_MAX:
                    await sink.write(self._held + data)
                    self._held = b""
                else:
                    self._held += data  # nothing waits between this one and the next
                self._bill(item)
                continue
            if isinstance(item, Act):
                await self._flush(sink)
                await self._act(item, sink, request)
                return
            await self._send(item, sink)
        await self._flush(sink)
        self._entry.completed = True

    async def _send(self, item: Frame | Raw | Huge, sink: Sink) -> None:
        match item:
            case Frame():
                await self._pace(item)
                await self._write(self._encoder.frame(item), item.name or item.mark, sink)
                self._bill(item)
                await self._extra_ping(item, sink)
            case Raw(data=data, name=name):
                await self._write(data, name, sink)
            case Huge():
                await self._flush(sink)
                self._entry.note("huge", item.head)
                for piece in _huge_pieces(item):
                    self._entry.bytes_sent += len(piece)
                    await sink.write(piece)
            case _:
                assert_never(item)

    async def _pause(self, pause_s: float, sink: Sink) -> None:
        """Silence; a wire with pings of its own sends them."""
        ends_s = self._clock.mono_s() + pause_s
        every_s = (self._options.every_s or PAUSE_PING_S) if self._encoder.pings else pause_s
        while (left_s := ends_s - self._clock.mono_s()) > 0:
            await asyncio.sleep(min(left_s, every_s))
            if self._encoder.pings:
                await self._out(self._encoder.ping(), sink)
        self._due_s = self._clock.mono_s()

    async def _pace(self, frame: Frame) -> None:
        if not self._options.rate or not frame.tokens:
            return
        # Against a schedule, not from sleep to sleep: errors of the timer must not add up.
        self._due_s += frame.tokens / self._options.rate
        wait_s = self._due_s - self._clock.mono_s()
        if wait_s > 0:
            await asyncio.sleep(wait_s)

    def _bill(self, frame: Frame) -> None:
        self._entry.entry = self._cost
        self._entry.output += frame.tokens
        self._entry.reasoning += frame.reasoning
        self._entry.searches += frame.searches

    async def _extra_ping(self, frame: Frame, sink: Sink) -> None:
        self._deltas += frame.mark is Mark.DELTA
        every = self._options.pings
        if every and frame.mark is Mark.DELTA and self._deltas % every == 0:
            await self._write(self._encoder.ping(), "ping", sink)

    async def _write(self, data: bytes, name: str, sink: Sink) -> None:
        self._entry.note(str(name), data)
        if self._options.one_piece:
            self._held += data
            return
        await self._flush(sink)
        await self._out(data, sink)

    async def _flush(self, sink: Sink) -> None:
        if self._held:
            held, self._held = self._held, b""
            await self._out(held, sink)

    async def _out(self, data: bytes, sink: Sink) -> None:
        size = self._options.piece_bytes
        if not size:
            await sink.write(data)
            return
        async for piece in self._pieces(data, size):
            await sink.write(piece)

    async def _pieces(self, data: bytes, size: int) -> AsyncIterator[bytes]:
        for at in range(0, len(data), size):
            yield data[at : at + size]
            # Let the piece leave, so that small pieces are small reads on the other side.
            await asyncio.sleep(self._options.every_s or 0)

    async def _act(self, act: Act, sink: Sink, request: web.Request) -> None:
        match act:
            case Act.END:
                return
            case Act.HANG:
                await asyncio.sleep(self._hang_max_s)
            case Act.PINGS:
                await self._pings(sink)
            case Act.CLOSE:
                close(request)
            case Act.RESET:
                await asyncio.sleep(SETTLE_S)
                reset(request)
            case _:
                assert_never(act)

    async def _pings(self, sink: Sink) -> None:
        every_s = self._options.every_s or PING_EVERY_S
        for _ in range(max(1, int(self._hang_max_s / every_s))):
            data = self._encoder.ping()
            self._entry.note("ping", data)
            await sink.write(data)
            await asyncio.sleep(every_s)


def _huge_pieces(item: Huge) -> Iterator[bytes]:
    yield item.head
    for _ in range(item.size // len(HUGE_PIECE)):
        yield HUGE_PIECE
    yield HUGE_PIECE[: item.size % len(HUGE_PIECE)] + item.tail


def close(request: web.Request) -> None:
    """Close the socket after what was written, without the last HTTP chunk."""
    if request.transport is not None:
        request.transport.close()


def reset(request: web.Request) -> None:
    """Close the socket so that the peer sees a TCP reset."""
    transport = request.transport
    if transport is None:
        return
    sock = transport.get_extra_info("socket")
    # Lingering for zero seconds is how a reset is asked for.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
