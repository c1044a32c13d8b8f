"""The client of the bench: what it asks at once, and what it hears."""

import asyncio
from contextlib import suppress

from holdfast_lab.bench.wire import OPENING_AT_ONCE, EventStream, open_streams
from tests.support.buses import until
from tests.support.waits import HANG_S

ANSWER = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
EVENT = b'event: chat.state\nid: 1\ndata: {"status":"idle"}\n\n'
REQUEST = b"GET / HTTP/1.1\r\n\r\n"
PROBE = b"GET /probe HTTP/1.1\r\n\r\n"


class Holding:
    """A server that holds its answers back until its gate is open."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.gate = asyncio.Event()
        self.ended = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append(await reader.readuntil(b"\r\n\r\n"))
        await self.gate.wait()
        writer.write(ANSWER + b"%x\r\n%b\r\n" % (len(EVENT), EVENT))
        with suppress(ConnectionError):  # a client may vanish
            await reader.read()
        writer.close()
        self.ended += 1


class Heard:
    def __init__(self) -> None:
        self.kinds: list[bytes] = []
        self.reason = ""

    def event(self, kind: bytes, data: bytes) -> None:
        self.kinds.append(kind)

    def cut(self, reason: str) -> None:
        self.reason = reason


async def test_no_more_streams_are_asked_for_at_once_than_a_server_takes_on() -> None:
    server = Holding()
    readers = [Heard() for _ in range(3 * OPENING_AT_ONCE)]
    async with (
        asyncio.timeout(HANG_S),
        await asyncio.start_server(server.serve, "127.0.0.1") as at,
        asyncio.TaskGroup() as tasks,
    ):
        port = at.sockets[0].getsockname()[1]
        asked = [(f"http://127.0.0.1:{port}", REQUEST, reader) for reader in readers]
        opening = tasks.create_task(open_streams(asked))
        await until(lambda: len(server.requests) >= OPENING_AT_ONCE)
        # Connections are accepted in order: a request that was sent before comes before this one.
        _, probe = await asyncio.open_connection("127.0.0.1", port)
        probe.write(PROBE)
        await until(lambda: PROBE in server.requests)
        assert server.requests.index(PROBE) == OPENING_AT_ONCE

        server.gate.set()
        opened = await opening
        await until(lambda: all(reader.kinds for reader in readers))
        for stream in opened:
            stream.close()
        probe.close()
        await until(lambda: server.ended == len(readers) + 1)

    assert len(opened) == len(readers)
    assert {reader.reason for reader in readers} == {""}


async def test_who_vanishes_is_not_told_that_the_stream_was_cut() -> None:
    server, heard = Holding(), Heard()
    server.gate.set()
    async with (
        asyncio.timeout(HANG_S),
        await asyncio.start_server(server.serve, "127.0.0.1") as at,
    ):
        url = f"http://127.0.0.1:{at.sockets[0].getsockname()[1]}"
        (stream,) = await open_streams([(url, REQUEST, heard)])
        stream.vanish()
        await until(lambda: server.ended == 1)

    assert heard.reason == ""


async def test_who_leaves_in_the_middle_hears_no_more_of_what_came_with_it() -> None:
    class Leaving(Heard):
        def event(self, kind: bytes, data: bytes) -> None:  # pyright: ignore[reportImplicitOverride]
            super().event(kind, data)
            stream.vanish()

    leaving = Leaving()
    stream = EventStream(b"", leaving)
    stream.data_received(ANSWER + b"%x\r\n%b\r\n" % (3 * len(EVENT), 3 * EVENT))

    assert leaving.kinds == [b"chat.state"]
    assert leaving.reason == ""
