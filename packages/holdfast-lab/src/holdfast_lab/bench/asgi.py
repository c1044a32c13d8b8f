"""A bare ASGI app on the same server as ours: takes a message and writes the events of a turn to
its one reader, and nothing else. It knows no users, no rights, no cursor, no bounds, no database.

`python -m holdfast_lab.bench.asgi PARTS`: so many live parts in each turn.
"""

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, cast

import orjson
import uvloop

from holdfast.api.serving import ServingOptions, bind, serving

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]

ASKED: Final = re.compile(r"count=(\w+):(\d+)")
LOOKS_S: Final = 0.02


class Bare:
    def __init__(self, parts: int) -> None:
        self._parts = parts
        self._readers: dict[str, asyncio.Queue[bytes]] = {}
        self._seqs: dict[str, int] = {}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        _, _, _, _, *place = scope["path"].split("/")
        if not place:
            chat_id = str(len(self._seqs))
            self._seqs[chat_id], self._readers[chat_id] = 0, asyncio.Queue()
            await _answer(send, 201, {"chat_id": chat_id})
        elif scope["method"] == "GET":
            await self._tell(place[0], send)
        else:
            await self._take(place[0], receive, send)

    async def _take(self, chat_id: str, receive: Receive, send: Send) -> None:
        body = b""
        more = True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        await _answer(send, 202, {"version": 1, "seq": 1})
        text = orjson.loads(body)["text"]
        for event in self._turn(chat_id, text):
            self._readers[chat_id].put_nowait(event)

    def _turn(self, chat_id: str, text: str) -> list[bytes]:
        found = ASKED.search(text)
        assert found is not None, text
        words = [f"{found[1]}:{number}" for number in range(1, int(found[2]) + 1)]
        first = self._seqs[chat_id] + 1
        self._seqs[chat_id] += 2
        said = [(first, "user", text), (first + 1, "assistant", " ".join(words))]
        user, reply = (_event("message.created", _message(*each)) for each in said)
        return [user, _status("running"), *self._told(words), reply, _status("idle")]

    def _told(self, words: list[str]) -> list[bytes]:
        each = -(-len(words) // self._parts)
        cuts = [words[at : at + each] for at in range(0, len(words), each)]
        texts = [" ".join(cut) + (" " if cut[-1] != words[-1] else "") for cut in cuts]
        return [
            _event(
                "preview.delta",
                {
                    "attempt": 1,
                    "index": index,
                    "deltas": [{"type": "text", "index": 0, "text": text}],
                },
            )
            for index, text in enumerate(texts, start=1)
        ]

    async def _tell(self, chat_id: str, send: Send) -> None:
        events = self._readers[chat_id]
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        body = _status("idle")
        while True:
            await send({"type": "http.response.body", "body": body, "more_body": True})
            body = await events.get()


def _message(seq: int, role: str, text: str) -> dict[str, Any]:
    parts = [{"type": "text", "text": text}]
    return {"seq": seq, "role": role, "finish_reason": "stop", "parts": parts}


def _status(status: str) -> bytes:
    state: dict[str, Any] = dict.fromkeys(("model", "effort", "retry", "error", "action_required"))
    return _event("chat.state", {"status": status, "attempt": 1, "archived": False, **state})


def _event(kind: str, data: dict[str, Any]) -> bytes:
    json = orjson.dumps({"type": kind, "cursor": "1", "version": 1, "final": True, "data": data})
    return b"event: %b\nid: 1\ndata: %b\n\n" % (kind.encode(), json)


async def _answer(send: Send, status: int, data: dict[str, Any]) -> None:
    body = orjson.dumps(data)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def serve(parts: int) -> None:
    with bind(ServingOptions(port=0)) as bound:
        http = serving(cast(Any, Bare(parts)), ServingOptions())
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(http.serve(sockets=[bound]))
            while not http.started:  # noqa: ASYNC110 - uvicorn has no event for it
                await asyncio.sleep(LOOKS_S)
            sys.stdout.write(f"ready at http://127.0.0.1:{bound.getsockname()[1]}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
