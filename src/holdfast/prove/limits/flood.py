"""One person floods a replica with searches and streams while nine others work.

The flooding person has more chats than one search looks at, and searches for a word that is
nowhere, with many clients at once. The others list their chats and talk. What is bounded is
counted: how many statements of the flooding person the database has at once, and how many streams
stay open. How much longer the others wait is told as a ratio to the same lists before the flood.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

import aiohttp
import asyncpg

from holdfast.chats.listing import SEARCH_LOOKS_MAX
from holdfast.prove.attack import Found, Order
from holdfast.prove.stage.client import Client, add_member
from holdfast.prove.stage.door import Door, open_door
from holdfast.prove.stage.theatre import theatre
from holdfast.prove.streams.cell import QUICK
from holdfast.prove.turns.trials import settings_for

OTHERS: Final = 9
CLIENTS: Final = 40
CHATS: Final = SEARCH_LOOKS_MAX + 5_000
EACH_MAX: Final = 3
STREAMS_MAX: Final = 20
STREAMS_OPENED: Final = 30
ROUNDS_IDLE: Final = 2
LOOKS_S: Final = 0.02
NOWHERE: Final = "chats?q=nowhere&limit=1"
MANY_CHATS: Final = """
    insert into chats (
        id, org_id, owner_id, status, version, history_version, queue_version, last_seq,
        last_queued_id, queue_length, owes_reply, compactable, compaction_requested, open_calls,
        epoch, attempt, attempts_forgiven, title, title_source
    )
    select gen_random_uuid(), u.org_id, u.id, 'idle', 1, 1, 0, 0, 0, 0, false, false, false, '[]',
        0, 0, 0, 'chat number ' || n, 'user'
    from users as u, generate_series(1, $2::integer) as n
    where u.name = $1
"""
SEARCHES: Final = """
    select count(*) from pg_stat_activity
    where datname = current_database() and state = 'active' and pid <> pg_backend_pid()
        and (query like '%c.touched_at, c.id) >= (%' or query like '%offset%limit 1')
"""
"""Statements that only a person with more chats than one search looks at needs."""


@dataclass
class Flood:
    """What the flooding person did and was told, and how many statements that was at once."""

    who: Client
    database_url: str
    asked: int = 0
    refused: int = 0
    at_once_max: int = 0
    wrong: list[str] = field(default_factory=list[str])

    @asynccontextmanager
    async def going_on(self) -> AsyncGenerator[None]:
        """Until the block ends."""
        done = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._watch(done))
            for _ in range(CLIENTS):
                tasks.create_task(self._search(done))
            try:
                await self._until_begun()
                yield
            finally:
                done.set()

    async def _until_begun(self) -> None:
        async with asyncio.timeout(60):
            while not (self.asked and self.at_once_max):  # noqa: ASYNC110
                await asyncio.sleep(LOOKS_S)

    async def _search(self, done: asyncio.Event) -> None:
        while not done.is_set():
            said = await self.who.get(NOWHERE)
            self.asked += 1
            if said.status == 200:
                continue
            self.refused += 1
            if said.code not in ("too_many_statements", "list_too_slow", "unavailable"):
                self.wrong.append(f"a search was refused with {said.status} {said.raw!r}")

    async def _watch(self, done: asyncio.Event) -> None:
        connection = await asyncpg.connect(self.database_url)
        try:
            while not done.is_set():
                self.at_once_max = max(self.at_once_max, await connection.fetchval(SEARCHES))
                await asyncio.sleep(LOOKS_S)
        finally:
            await connection.close()


async def flood(order: Order, **settings: Any) -> Found:
    """`order.count`: how often each of the others lists and talks beside the flood."""
    bounds = {
        "statements_per_user_max": EACH_MAX,
        "streams_per_user_max": STREAMS_MAX,
        "database_connections_max": 7,
        **settings,
    }
    async with theatre() as stage:
        url = await stage.new_database()
        given = settings_for(stage, url, "postgres", **{**QUICK, "role": "all", **bounds})
        async with open_door(given) as door:
            others = [await add_member(door.admin, f"Other{n}") for n in range(OTHERS)]
            flooding = Flood(await _with_many_chats(door), url)
            found = Found(0)
            idle_s, beside_s = list[float](), list[float]()
            for _ in range(ROUNDS_IDLE):
                idle_s += await _all_work(others, found)
            async with flooding.going_on():
                for _ in range(order.count):
                    beside_s += await _all_work(others, found)
                    found.count += 1
                    order.say(f"{flooding.asked} searches, {flooding.at_once_max} at once")
            found.violations += flooding.wrong
            if flooding.at_once_max > EACH_MAX:
                said = (
                    f"{flooding.at_once_max} statements of one person at once, {EACH_MAX} at most"
                )
                found.violations.append(said)
            await _open_too_many(flooding.who, others[0], door, found)
            found.figures |= {
                "flood_list_ratio": round(median(beside_s) / median(idle_s), 2),
                "searches": flooding.asked,
                "searches_refused": flooding.refused,
                "statements_at_once": flooding.at_once_max,
            }
    return found


async def _with_many_chats(door: Door) -> Client:
    who = await add_member(door.admin, "Flooder")
    connection = await asyncpg.connect(door.database_url)
    try:
        await connection.execute(MANY_CHATS, "Flooder", CHATS)
        await connection.execute("vacuum analyze chats")
    finally:
        await connection.close()
    return who


async def _list(who: Client, found: Found) -> float:
    began_s = time.monotonic()
    said = await who.get("chats?limit=1")
    if said.status != 200:
        found.violations.append(f"a list of another person was refused with {said.status}")
    return time.monotonic() - began_s


async def _all_work(others: list[Client], found: Found) -> list[float]:
    """Each of them lists, says something, and is answered."""

    async def work(who: Client) -> float:
        took_s = await _list(who, found)
        chat = await who.until(await who.new_chat("hello"), "idle", "failed")
        if chat["status"] != "idle":
            found.violations.append("a turn of another person failed")
        return took_s

    async with asyncio.TaskGroup() as tasks:
        works = [tasks.create_task(work(other)) for other in others]
    return [each.result() for each in works]


async def _open_too_many(who: Client, other: Client, door: Door, found: Found) -> None:
    """More streams than one may have: the oldest are ended, and none of another person."""
    metrics = door.server.metrics
    chat_id = await who.new_chat()
    async with AsyncExitStack() as stack, other.watch() as others_events:
        await anext(others_events)
        for _ in range(STREAMS_OPENED):
            await stack.enter_async_context(_stream(who, chat_id))
        still_open = metrics.value("holdfast_streams_open") - 1
        found.figures["streams_ended"] = metrics.value("holdfast_streams_ended_total")
        if still_open > STREAMS_MAX:
            said = f"{still_open:.0f} streams of one person are open, {STREAMS_MAX} at most"
            found.violations.append(said)
        await other.new_chat()
        event = await asyncio.wait_for(anext(others_events), 30)
        if event["event"] != "chat":
            found.violations.append(f"the stream of another person was told {event['event']}")


@asynccontextmanager
async def _stream(who: Client, chat_id: str) -> AsyncGenerator[aiohttp.ClientResponse]:
    where = f"{who.url}/api/v1/chats/{chat_id}/stream"
    async with who.http.get(where, headers=who.headers) as response:
        assert response.status == 200, await response.read()
        yield response
