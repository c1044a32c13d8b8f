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
    cursor = f"id: {event['id']}\n" if "id" in event else ""
    return (
        f"event: {event['event']}\n{cursor}data: ".encode() + orjson.dumps(event["data"]) + b"\n\n"
    )


@asynccontextmanager
async def playing(events: list[dict[str, Any]]) -> AsyncGenerator[str]:
    """Pings between the events, as on a quiet stream, and something that nobody knows."""
    over = asyncio.Event()
    ping: dict[str, Any] = {"event": "ping", "data": {}}

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

    app = web.Application()
    app.router.add_get("/api/v1/chats/{chat}/stream", stream)
    app.router.add_get("/api/v1/chats/{chat}/socket", socket)
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
        strange: dict[str, Any] = {"event": "of_tomorrow", "data": {"new": [1]}}
        events = [*(event for event in told if event["event"] != "ping"), strange]
        seen: list[dict[str, Any]] = []
        async with playing(events) as url, sdk_client(half, url, "hf_any") as client:
            chat = client.chats.handle("a-chat")
            async with asyncio.timeout(60):
                async for event in chat.stream(transport=transport):
                    seen.append(event.raw)
                    assert event.kind in (event.raw["event"], "other")
                    if len(seen) == len(events):
                        break
        assert seen == events
        assert as_json(chat.view) == as_json(EMPTY) | recorded["view"], fixture.name
