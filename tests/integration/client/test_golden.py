"""What any server may send, from the fixtures that clients in all languages share.

The server here plays recordings; what the SDK gives on, and makes of it, must be what they say.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from holdfast_client.aio.follow import Transport
from holdfast_client.view import EMPTY, as_json
from tests.support.sdk import Half, sdk_client

FIXTURES = sorted((Path(__file__).parents[2] / "golden" / "stream").glob("*.json"))


def sse(event: dict[str, Any]) -> bytes:
    cursor = f"id: {event['cursor']}\n" if event["cursor"] is not None else ""
    return f"event: {event['type']}\n{cursor}data: ".encode() + orjson.dumps(event) + b"\n\n"


def of_no_commit(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "cursor": None, "version": None, "final": True, "data": data}


@asynccontextmanager
async def playing(events: list[dict[str, Any]]) -> AsyncGenerator[str]:
    """Pings between the events, as on a quiet stream, and something that nobody knows."""
    over = asyncio.Event()
    ping = of_no_commit("ping")

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for event in events:
            await response.write(sse(ping) + sse(event))
        await over.wait()
        return response

    async def socket(request: web.Request) -> web.WebSocketResponse:
        response = web.WebSocketResponse()
        await response.prepare(request)
        for event in events:
            await response.send_str(orjson.dumps(ping).decode())
            await response.ping()
            await response.send_str(orjson.dumps(event).decode())
        await over.wait()
        return response

    async def either(request: web.Request) -> web.StreamResponse:
        return await (socket if "upgrade" in request.headers else stream)(request)

    app = web.Application()
    app.router.add_get("/api/v1/chats/{chat}/events", either)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        over.set()
        await runner.cleanup()


@pytest.mark.parametrize("transport", ["sse", "websocket"])
async def test_events_are_given_on_as_they_came_and_the_view_is_that_of_the_fixture(
    half: Half, transport: Transport
) -> None:
    for fixture in FIXTURES:
        recorded = orjson.loads(fixture.read_bytes())
        told = [step["event"] for step in recorded["steps"]]
        strange = of_no_commit("of.tomorrow", new=[1])
        connection = ("ping", "closed")
        events = [*(event for event in told if event["type"] not in connection), strange]
        seen: list[dict[str, Any]] = []
        async with playing(events) as url, sdk_client(half, url, "hfst_any") as client:
            chat = client.chat("a-chat")
            async with asyncio.timeout(60):
                async for event in chat.events(transport=transport):
                    seen.append(event.raw)
                    assert event.type in (event.raw["type"], "unknown")
                    if len(seen) == len(events):
                        break
        assert seen == events
        assert as_json(chat.view.raw) == as_json(EMPTY) | recorded["view"], fixture.name
