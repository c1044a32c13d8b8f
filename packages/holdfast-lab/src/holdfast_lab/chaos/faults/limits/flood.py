"""One person floods a replica with searches and streams while nine others work.

The flooding person has more chats than one search looks at, and searches for a word that is
nowhere, with many clients at once. The others list their chats and talk. What is bounded is
counted: how many statements of the flooding person the database has at once, and how many streams
stay open. What the others wait for is compared with the same lists and turns before the flood.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import asyncpg

from holdfast.chats.listing import SEARCH_LOOKS_MAX
from holdfast_lab.chaos.attack import Found, Order
from holdfast_lab.chaos.faults.limits.beside import Waits
from holdfast_lab.chaos.faults.limits.flooder import Flooder
from holdfast_lab.chaos.faults.streams.cell import QUICK
from holdfast_lab.chaos.faults.workers.trials import settings_for
from holdfast_lab.chaos.harness.client import Client, add_member
from holdfast_lab.chaos.harness.cluster import theatre
from holdfast_lab.chaos.harness.replica import Door, open_door

OTHERS: Final = 9
CHATS: Final = SEARCH_LOOKS_MAX + 5_000
EACH_MAX: Final = 3
STREAMS_MAX: Final = 20
STREAMS_OPENED: Final = 30
ROUNDS_IDLE: Final = 3
LISTS: Final = 5
"""Of each of the others in a round, one after the other."""
LOOKS_S: Final = 0.02
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
    """The flooding person, and how many statements of that person the database had at once."""

    flooder: Flooder
    database_url: str
    at_once_max: int = 0

    @asynccontextmanager
    async def going_on(self) -> AsyncGenerator[None]:
        """Until the block ends."""
        done = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._watch(done))
            try:
                async with self.flooder.searching():
                    await self._until_begun()
                    yield
            finally:
                done.set()

    async def _until_begun(self) -> None:
        async with asyncio.timeout(60):
            while not self.at_once_max:  # noqa: ASYNC110
                await asyncio.sleep(LOOKS_S)

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
            who = await _with_many_chats(door)
            flooding = Flood(Flooder(who), url)
            found = Found(0)
            lists, turns = Waits(), Waits()
            await _all_work(others, found, [], [])  # the first one warms what it uses
            for _ in range(ROUNDS_IDLE):
                await _all_work(others, found, lists.alone_s, turns.alone_s)
            async with flooding.going_on():
                for _ in range(order.count):
                    await _all_work(others, found, lists.beside_s, turns.beside_s)
                    found.count += 1
                    order.say(f"round {found.count}: {flooding.at_once_max} statements at once")
            order.say(f"a list takes others {lists.told()}; a turn {turns.told()}")
            found.violations += flooding.flooder.wrong
            found.violations += lists.wrong("a list", order.patience)
            found.violations += turns.wrong("a turn", order.patience)
            if flooding.at_once_max > EACH_MAX:
                said = (
                    f"{flooding.at_once_max} statements of one person at once, {EACH_MAX} at most"
                )
                found.violations.append(said)
            await _open_too_many(who, others[0], door, found)
            found.figures |= {
                "list_ratio": lists.ratio,
                "turn_ratio": turns.ratio,
                "searches": flooding.flooder.asked,
                "searches_refused": flooding.flooder.refused,
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


async def _all_work(
    others: list[Client], found: Found, lists_s: list[float], turns_s: list[float]
) -> None:
    """Each of them lists, says something, and is answered; adds what that took."""

    async def work(who: Client) -> None:
        lists_s.extend([await _list(who, found) for _ in range(LISTS)])
        began_s = time.monotonic()
        chat = await who.until(await who.new_chat("hello"), "idle", "failed")
        turns_s.append(time.monotonic() - began_s)
        if chat["status"] != "idle":
            found.violations.append("a turn of another person failed")

    async with asyncio.TaskGroup() as tasks:
        for other in others:
            tasks.create_task(work(other))


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
        if event["type"] != "chat.updated":
            found.violations.append(f"the stream of another person was told {event['type']}")


@asynccontextmanager
async def _stream(who: Client, chat_id: str) -> AsyncGenerator[aiohttp.ClientResponse]:
    where = f"{who.url}/api/v1/chats/{chat_id}/events"
    async with who.http.get(where, headers=who.headers) as response:
        assert response.status == 200, await response.read()
        yield response
