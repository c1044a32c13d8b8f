"""The client of the bench: what it asks at once, and what it hears."""

import asyncio

from holdfast.bench.wire import OPENING_AT_ONCE, EventStream, open_streams

ANSWER = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
EVENT = b'event: status\nid: 1\ndata: {"status":"idle"}\n\n'


class Counting:
    """A server that takes a moment for each, and knows how many it had to do at once."""

    def __init__(self) -> None:
        self.under_way = 0
        self.most = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0.3)
        self.under_way -= 1
        writer.write(ANSWER + b"%x\r\n%b\r\n" % (len(EVENT), EVENT))
        await reader.read()
        writer.close()


class Heard:
    def __init__(self) -> None:
        self.kinds: list[bytes] = []
        self.reason = ""

    def event(self, kind: bytes, data: bytes) -> None:
        self.kinds.append(kind)

    def cut(self, reason: str) -> None:
        self.reason = reason


async def test_no_more_streams_are_asked_for_at_once_than_a_server_takes_on() -> None:
    counting = Counting()
    readers = [Heard() for _ in range(3 * OPENING_AT_ONCE)]
    async with asyncio.timeout(20), await asyncio.start_server(counting.serve, "127.0.0.1") as at:
        url = f"http://127.0.0.1:{at.sockets[0].getsockname()[1]}"
        request = b"GET / HTTP/1.1\r\n\r\n"
        opened = await open_streams([(url, request, reader) for reader in readers])
        while not all(reader.kinds for reader in readers):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        for stream in opened:
            stream.close()
        await asyncio.sleep(0.05)

    assert 1 < counting.most <= OPENING_AT_ONCE
    assert len(opened) == len(readers)
    assert {reader.reason for reader in readers} == {""}


async def test_who_vanishes_is_not_told_that_the_stream_was_cut() -> None:
    counting, heard = Counting(), Heard()
    async with asyncio.timeout(20), await asyncio.start_server(counting.serve, "127.0.0.1") as at:
        url = f"http://127.0.0.1:{at.sockets[0].getsockname()[1]}"
        (stream,) = await open_streams([(url, b"GET / HTTP/1.1\r\n\r\n", heard)])
        stream.vanish()
        await asyncio.sleep(0.05)

    assert heard.reason == ""


async def test_who_leaves_in_the_middle_hears_no_more_of_what_came_with_it() -> None:
    class Leaving(Heard):
        def event(self, kind: bytes, data: bytes) -> None:  # pyright: ignore[reportImplicitOverride]
            super().event(kind, data)
            stream.vanish()

    leaving = Leaving()
    stream = EventStream(b"", leaving)
    stream.data_received(ANSWER + b"%x\r\n%b\r\n" % (3 * len(EVENT), 3 * EVENT))

    assert leaving.kinds == [b"status"]
    assert leaving.reason == ""
