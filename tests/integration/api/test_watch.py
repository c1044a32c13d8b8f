"""Watching one's list over HTTP: told at once, on any replica, and on return what was missed."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any

import aiohttp
import orjson
from pydantic import TypeAdapter

from holdfast.api.events import WatchEvent
from holdfast.bootstrap import Adapters
from holdfast.ports.bus import Bus, Hint
from tests.support.buses import until
from tests.support.replica import Replicas
from tests.support.web import Cell, Client, a_cell

EVENT: TypeAdapter[Any] = TypeAdapter(WatchEvent)
Event = dict[str, Any]


async def next_of(events: AsyncIterator[Event], wanted: Callable[[Event], bool]) -> list[Event]:
    """Events up to the one that is wanted."""
    seen: list[Event] = []
    async with asyncio.timeout(60):
        async for event in events:
            EVENT.validate_python(event)
            seen.append(event)
            if wanted(event):
                return seen
    raise AssertionError(f"the stream ended: {seen}")


def shows(chat_id: str, **facts: Any) -> Callable[[Event], bool]:
    def wanted(event: Event) -> bool:
        data = event["data"]
        same = event["type"] == "chat.updated" and data["id"] == chat_id
        return same and all(data[name] == value for name, value in facts.items())

    return wanted


def lacks(chat_id: str, reason: str) -> Callable[[Event], bool]:
    data = {"chat_id": chat_id, "reason": reason}
    return lambda event: (event["type"], event["data"]) == ("chat.removed", data)


def is_snapshot(event: Event) -> bool:
    return event["type"] == "chats.snapshot"


def named(events: list[Event]) -> set[str]:
    told = [e["data"] for e in events if e["type"] in ("chat.updated", "chat.removed")]
    listed = [chat for e in events if e["type"] == "chats.snapshot" for chat in e["data"]["chats"]]
    return {each.get("id") or each["chat_id"] for each in [*told, *listed]}


def last_id(events: list[Event]) -> str:
    return next(event["cursor"] for event in reversed(events) if event["cursor"])


async def id_of(client: Client) -> str:
    return (await client.get("me")).json["user"]["id"]


async def test_a_watcher_hears_of_everything_at_another_replica_and_on_return(cell: Cell) -> None:
    here = cell.admin
    there = here.at((await cell.another(role="api")).url)
    old = await here.new_chat()
    async with there.watch() as events:
        (snapshot,) = await next_of(events, is_snapshot)
        assert named([snapshot]) == {old}
        chat_id = await here.new_chat('[[sim: say "hello"]]')
        await next_of(events, shows(chat_id, status="idle", last_seq=2, unread=True))
        await here.ask("PATCH", f"chats/{chat_id}", {"title": "A name"})
        await next_of(events, shows(chat_id, title="A name"))
        await here.ask("PATCH", f"chats/{chat_id}", {"pinned": True})
        await next_of(events, shows(chat_id, pinned=True))
        await here.ask("PATCH", f"chats/{chat_id}", {"labels": ["work"]})
        await next_of(events, shows(chat_id, labels=["work"]))
        await here.ask("PUT", f"chats/{chat_id}/read-marker", {"seq": 2})
        await next_of(events, shows(chat_id, unread=False))
        await here.post(f"chats/{old}/archive")
        seen = await next_of(events, lacks(old, "archived"))

    # Away: all of this happens to nobody who watches.
    await here.ask("PATCH", f"chats/{chat_id}", {"title": "Another name"})
    await here.post(f"chats/{old}/unarchive")
    call = '[[sim: call look_up {"word": "kelp"}]]'
    tool = {"name": "look_up", "description": "", "input_schema": {"type": "object"}}
    begun = await here.post("chats", {"tools": [tool], "message": {"text": call}})
    asking = begun.json["chat_id"]
    await here.until(asking, "awaiting")
    for client in (here, there):
        async with client.watch(last_id(seen)) as events:
            missed = await next_of(events, lambda event: bool(event["cursor"]))
        kinds = {event["type"] for event in missed}
        assert kinds == {"chat.updated"}, "no snapshot: only what was missed"
        assert named(missed) == {chat_id, old, asking}
        entries = {event["data"]["id"]: event["data"] for event in missed}
        assert entries[chat_id]["title"] == "Another name"
        assert (entries[asking]["status"], entries[asking]["action_required"]) == (
            "awaiting",
            "result",
        )


async def test_shared_chats_come_and_go_and_others_never_appear(cell: Cell) -> None:
    admin, bob = cell.admin, await cell.member("Bob")
    bobs_id = await id_of(bob)
    mine, secret = await admin.new_chat(), await admin.new_chat()
    there = bob.at((await cell.another(role="api")).url)
    seen: list[Event] = []
    async with there.watch() as events:
        seen += await next_of(events, is_snapshot)
        await admin.ask("PATCH", f"chats/{secret}", {"title": "secret"})
        await admin.ask("PUT", f"chats/{mine}/shares/{bobs_id}")
        seen += await next_of(events, shows(mine))
        await admin.ask("PATCH", f"chats/{mine}", {"title": "ours"})
        seen += await next_of(events, shows(mine, title="ours"))
        away = last_id(seen)
        await admin.ask("DELETE", f"chats/{mine}/shares/{bobs_id}")
        seen += await next_of(events, lacks(mine, "unshared"))
        await admin.post(f"chats/{mine}/messages", {"text": '[[sim: say "hidden-words"]]'})
        await admin.until(mine, "idle")
        own = await bob.new_chat()
        seen += await next_of(events, shows(own))
    async with bob.watch(away) as events:
        returned = await next_of(events, lambda event: bool(event["cursor"]))
    assert named(returned) == {mine, own}
    assert any(lacks(mine, "unshared")(event) for event in returned)
    assert named(seen) == {mine, own}
    assert b"secret" not in orjson.dumps(seen + returned)


def shape(event: Event) -> Event:
    return {**event, "cursor": None}


async def test_a_socket_tells_the_same_as_a_stream(cell: Cell) -> None:
    admin = cell.admin
    for _ in range(3):
        await admin.new_chat()
    url = f"{admin.url}/api/v1/events"
    async with (
        asyncio.timeout(60),
        admin.watch() as events,
        admin.http.ws_connect(url, headers=admin.headers) as socket,
    ):
        by_stream = [await anext(events)]
        by_socket: list[Any] = [orjson.loads((await socket.receive()).data)]
        chat_id = await admin.new_chat()
        by_stream += await next_of(events, shows(chat_id))
        message = await socket.receive()
        assert message.type is aiohttp.WSMsgType.TEXT
        by_socket.append(orjson.loads(message.data))
    assert [shape(e) for e in by_socket] == [shape(e) for e in by_stream]
    assert all(int(event["cursor"]) > 0 for event in by_socket)


async def test_a_stopping_replica_ends_watching_with_a_hint_to_come_again(cell: Cell) -> None:
    other = await cell.another(role="api")
    async with asyncio.timeout(60), cell.admin.at(other.url).watch() as events:
        (snapshot,) = await next_of(events, is_snapshot)
        other.drain()
        rest = [event async for event in events]
    data = {"reason": "restart", "retry_after_seconds": None}
    assert [(event["type"], event["data"]) for event in rest] == [("closed", data)]
    async with cell.admin.watch(snapshot["cursor"]) as events:
        chat_id = await cell.admin.new_chat()
        await next_of(events, shows(chat_id))


async def test_a_cursor_that_nobody_gave_begins_with_a_snapshot(cell: Cell) -> None:
    for after in ("nonsense", "0", "99999999999999999"):
        async with cell.admin.watch(after) as events:
            assert (await next_of(events, is_snapshot))[0]["type"] == "chats.snapshot"


class Silent:
    """A bus that loses every hint."""

    def __init__(self, bus: Bus) -> None:
        self.append, self.read_live = bus.append, bus.read_live
        self.subscribe, self.subscribe_work = bus.subscribe, bus.subscribe_work
        self.subscribe_lists = bus.subscribe_lists
        self.counters = bus.counters

    async def publish(self, hints: Sequence[Hint]) -> None:
        pass


async def test_without_a_single_hint_the_poll_finds_it_and_idle_watchers_cost_nothing_else(
    empty: Replicas,
) -> None:
    def around(adapters: Adapters) -> Adapters:
        return replace(adapters, bus=Silent(adapters.bus))

    async with a_cell(empty, around=around) as cell:
        admin = cell.admin
        watching = cell.served[0].server.watching
        assert watching is not None
        async with admin.watch() as one, admin.watch() as two:
            for events in (one, two):
                await next_of(events, is_snapshot)
            counters = watching.counters
            polls, reads = counters.polls, counters.reads
            await until(lambda: counters.polls >= polls + 2)
            assert counters.reads == reads, "nothing changed: nobody reads"
            chat_id = await admin.new_chat()
            for events in (one, two):
                await next_of(events, shows(chat_id))
            assert counters.reads >= reads + 2
        await until(lambda: counters.watchers == 0)
