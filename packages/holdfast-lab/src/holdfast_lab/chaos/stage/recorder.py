"""A server that counts effects: every request is one line, with the call that caused it."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

_DONE = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 17\r\n\r\n"
    b'{"recorded":true}'
)


@dataclass
class Recorder:
    url: str = ""
    effects: Counter[str] = field(default_factory=Counter[str])
    """How often each call id took effect."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                body = await reader.readexactly(_length(head))
                self._count(*body.decode().split())
                writer.write(_DONE)
                await writer.drain()
        writer.close()

    def _count(self, tool: str, call_id: str) -> None:
        # A keyed effect happens once however often it is asked for: that is what a key is for.
        if not (tool.endswith("keyed") and self.effects[call_id]):
            self.effects[call_id] += 1


def _length(head: bytes) -> int:
    lines = head.lower().split(b"\r\n")
    return next((int(each[15:]) for each in lines if each.startswith(b"content-length:")), 0)


@asynccontextmanager
async def recording() -> AsyncGenerator[Recorder]:
    recorder = Recorder()
    server = await asyncio.start_server(recorder.serve, "127.0.0.1", 0)
    recorder.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield recorder
    finally:
        server.close()
