"""A stream that is cut everywhere and moved between replicas tells what an uncut one tells."""

import asyncio
from collections import Counter
from collections.abc import Callable

import orjson
import pytest

from holdfast_client import AsyncChat
from holdfast_client.aio.follow import Transport
from holdfast_client.errors import APIStatusError
from holdfast_client.events import Event
from holdfast_client.view import EMPTY, WireEvent, reduce
from tests.support.buses import until
from tests.support.proxy import Cut, a_proxy
from tests.support.sdk import Half, sdk_client
from tests.support.web import Cell

SAID = " ".join(f"wörd-{number}" for number in range(40))
INSIDE = (1, 40, -1, -3, -4)
"""Bytes of an event that still come: its first, some, all but the end of its frame or itself."""


def at_boundaries(number: int) -> Cut:
    return Cut(1, 0, ("reset", "close")[number % 2])


def inside_events(number: int) -> Cut:
    if number % 6 == 5:
        return Cut(0, 0, "close")  # nothing at all
    return Cut(1, INSIDE[number % 6], ("reset", "close")[number % 2])


async def collect(chat: AsyncChat, transport: Transport) -> tuple[list[Event], int]:
    reconnects = 0

    def count() -> None:
        nonlocal reconnects
        reconnects += 1

    following = chat.events(until="settled", transport=transport, on_reconnect=count)
    async with asyncio.timeout(90):
        events = [event async for event in following]
    return events, reconnects


@pytest.mark.parametrize(
    ("transport", "cuts"),
    [
        ("sse", inside_events),
        pytest.param("sse", at_boundaries, marks=pytest.mark.nightly),
        pytest.param("websocket", at_boundaries, marks=pytest.mark.nightly),
        pytest.param("websocket", inside_events, marks=pytest.mark.nightly),
    ],
)
async def test_cut_at_every_event_and_moved_between_replicas_nothing_is_lost_or_doubled(
    cell: Cell, half: Half, token: str, transport: Transport, cuts: Callable[[int], Cut]
) -> None:
    await cell.another(role="api")
    async with a_proxy(cell.urls, cuts) as proxy, sdk_client(half, proxy.url, token) as client:
        chat = await client.chats.create(f'[[sim: say "{SAID}" | rate=10]]')
        events, reconnects = await collect(chat, transport)
        view = chat.view.raw

    ids = Counter(event.cursor for event in events if event.cursor is not None)
    assert set(ids.values()) == {1}, [e.raw for e in events if e.cursor and ids[e.cursor] > 1]
    parts = [e.data.index for e in events if e.type == "preview.delta"]
    assert parts == list(range(1, len(parts) + 1))
    assert len(parts) >= 3, "the turn was over before anything was seen of it"
    assert [e.data.role for e in events if e.type == "message.created"] == ["user", "assistant"]

    page = (await cell.admin.get(f"chats/{chat.id}/messages")).json
    assert orjson.dumps(list(view.messages)) == orjson.dumps(page["data"])
    assert page["data"][1]["parts"][0]["text"] == SAID
    again = EMPTY
    for event in events:
        again = reduce(again, WireEvent.from_json(event.raw))
    assert again == view

    # A cut in the frame around an event leaves the event whole: then a stream brought two.
    least = len(events) if cuts is at_boundaries else len(events) // 2
    assert proxy.streams >= least
    assert reconnects >= least - 1
    assert proxy.reached == set(cell.urls)


async def test_a_silent_stream_is_left_for_another(cell: Cell, half: Half, token: str) -> None:
    def freeze_the_first(number: int) -> Cut | None:
        return Cut(1, 5, "silent") if number == 0 else None

    async with (
        a_proxy(cell.urls, freeze_the_first) as proxy,
        sdk_client(half, proxy.url, token, silence_timeout=0.5) as client,
    ):
        chat = await client.chats.create('[[sim: say "hello"]]')
        events, reconnects = await collect(chat, "sse")

    assert reconnects >= 1
    assert [e.data.text for e in events if e.type == "message.created"][-1] == "hello"


@pytest.mark.parametrize("transport", ["sse", "websocket"])
async def test_an_edit_reaches_who_follows_and_the_view_forgets_what_is_hidden(
    cell: Cell, half: Half, token: str, transport: Transport
) -> None:
    async with (
        a_proxy(cell.urls, at_boundaries) as proxy,
        sdk_client(half, proxy.url, token) as client,
    ):
        chat = await client.chats.create('[[sim: say "first"]]')
        await chat.wait()
        edited = False
        kinds: list[str] = []
        async with asyncio.timeout(60):
            async for event in chat.events(transport=transport):
                kinds.append(event.type)
                if event.type == "chat.state" and event.data.status == "idle" and not edited:
                    edited = True
                    await chat.edit(1, '[[sim: say "second"]]')
                if event.type == "message.created" and event.data.text == "second":
                    break

    assert kinds.count("history.reset") == 2
    assert [message.text for message in chat.view.messages][1:] == ["second"]


@pytest.mark.parametrize("transport", ["sse", "websocket"])
async def test_what_no_trying_again_can_mend_is_raised(
    cell: Cell, half: Half, token: str, transport: Transport
) -> None:
    chat_id = await cell.admin.new_chat()
    for given, wanted, expected in [
        (token, "chat_00000000000000000000000000000000", 404),
        ("hfst_wrong", chat_id, 401),
    ]:
        async with sdk_client(half, cell.urls[0], given) as client:
            events = client.chat(wanted).events(transport=transport)
            with pytest.raises(APIStatusError) as raised:
                await asyncio.wait_for(anext(events), 30)
        assert raised.value.status == expected


async def test_a_server_that_stops_and_comes_back_is_waited_for(
    cell: Cell, half: Half, token: str
) -> None:
    """The proxy has nobody behind it for a while: connections are refused there."""
    async with (
        a_proxy(["http://127.0.0.1:9"]) as proxy,
        sdk_client(half, proxy.url, token, timeout=0.5) as client,
    ):
        chat_id = await cell.admin.new_chat('[[sim: say "hello"]]')
        chat = client.chat(chat_id)
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(collect(chat, "sse"))
            await until(lambda: len(proxy.requests) >= 4)
            proxy.urls = cell.urls

    events, _ = following.result()
    assert [e.data.role for e in events if e.type == "message.created"] == ["user", "assistant"]
