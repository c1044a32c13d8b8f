"""A server that counts effects: every request is one line, with the call that caused it."""

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.support.servers import Peer, answer, serving


@dataclass
class Recorder:
    url: str = ""
    effects: Counter[str] = field(default_factory=Counter[str])
    """How often each call id took effect."""


@asynccontextmanager
async def recording() -> AsyncGenerator[Recorder]:
    recorder = Recorder()

    async def handle(peer: Peer) -> None:
        tool, call_id = peer.body.decode().split()
        # A keyed effect happens once however often it is asked for: that is what a key is for.
        if not (tool.endswith("keyed") and recorder.effects[call_id]):
            recorder.effects[call_id] += 1
        await peer.send(answer("200 OK", b'{"recorded":true}', "content-type: application/json"))

    async with serving(handle) as server:
        recorder.url = server.url
        yield recorder
