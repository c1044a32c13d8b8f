"""A bare ASGI app on the same server as ours: the same bytes to as many readers, and nothing else.

`python -m benchmarks.http_bare EVENT_BYTES EVENTS_PER_S CHATS ANSWER_BYTES`
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, cast

import uvloop
from fastapi import FastAPI

from holdfast.api.serving import ServingOptions, bind, serving

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]


class Pulse:
    """What is new in a chat: everybody who waits is woken at once."""

    def __init__(self) -> None:
        self._news = asyncio.Event()

    def beat(self) -> None:
        self._news.set()
        self._news.clear()

    async def wait(self) -> None:
        await self._news.wait()


class Bare:
    def __init__(self, event_bytes: int, answer_bytes: int, pulses: list[Pulse]) -> None:
        head = b"event: preview.delta\nid: 1\ndata: "
        self._event = head + b"x" * max(0, event_bytes - len(head) - 2) + b"\n\n"
        self._answer = b"x" * answer_bytes
        self._pulses = pulses

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            await self._take(receive, send)
        else:
            await self._tell(int(scope["path"].rsplit("/", 1)[1]), send)

    async def _take(self, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        await _start(send, 202, b"application/json", len(self._answer))
        await send({"type": "http.response.body", "body": self._answer})

    async def _tell(self, chat: int, send: Send) -> None:
        await _start(send, 200, b"text/event-stream", None)
        while True:
            await self._pulses[chat % len(self._pulses)].wait()
            await send({"type": "http.response.body", "body": self._event, "more_body": True})


async def _start(send: Send, status: int, media: bytes, length: int | None) -> None:
    headers = [(b"content-type", media)]
    if length is not None:
        headers.append((b"content-length", b"%d" % length))
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def beat(pulse: Pulse, every_s: float) -> None:
    now = asyncio.get_running_loop().time
    due = now()
    while True:
        due += every_s
        await asyncio.sleep(max(0.0, due - now()))
        pulse.beat()


async def main(event_bytes: int, per_s: float, chats: int, answer_bytes: int) -> None:
    pulses = [Pulse() for _ in range(chats)]
    with bind(ServingOptions(port=0)) as bound:
        app = cast(FastAPI, Bare(event_bytes, answer_bytes, pulses))
        http = serving(app, ServingOptions())
        async with asyncio.TaskGroup() as tasks:
            for pulse in pulses:
                tasks.create_task(beat(pulse, 1 / per_s))
            tasks.create_task(http.serve(sockets=[bound]))
            while not http.started:  # noqa: ASYNC110 - uvicorn has no event for it
                await asyncio.sleep(0.02)
            print(f"ready at http://127.0.0.1:{bound.getsockname()[1]}", flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    uvloop.run(main(int(given[0]), float(given[1]), int(given[2]), int(given[3])))
