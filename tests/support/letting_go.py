"""A user is disabled while the user's chats work: when the last action of the user ended.

Two replicas as production builds them, on one database. The user's key is known to both, so that
both would answer from memory. On each replica the user has streams open and chats that run, with
messages in their queues; one chat waits for a client's tool.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final

import asyncpg

from holdfast.bootstrap import open_server
from holdfast.bootstrap.edge import open_served
from holdfast.settings import Settings
from holdfast_lab.chaos.faults.workers.trials import settings_for
from holdfast_lab.chaos.harness.client import OUR_ORIGIN, Client, add_member, uuid_of
from holdfast_lab.chaos.harness.cluster import theatre
from holdfast_lab.chaos.harness.replica import UNBOUNDED, open_door

RUNS_ON: Final = "[[sim: words=4000 | rate=25]]"
WAITS: Final = '[[sim: call look_up {"term": "kelp"} | then | say "so"]]'
LOOK_UP: Final = {
    "name": "look_up",
    "description": "Looks a term up.",
    "input_schema": {"type": "object", "properties": {"term": {"type": "string"}}},
}
QUEUED: Final = 2
GUARD_S: Final = 60.0
AT_REST: Final = "select status from chats where id = $1"


@dataclass
class LetGo:
    """Seconds since the request that disabled the user was answered."""

    has_ended: bool = False
    """Everything did."""
    chats_s: list[float] = field(default_factory=list[float])
    """Of each chat: until no turn of it ran or waited."""
    streams_s: list[float] = field(default_factory=list[float])
    refused_s: list[float] = field(default_factory=list[float])
    """Of each replica: until the user's key was refused."""
    said: list[str] = field(default_factory=list[str])
    """Why each stream ended, as its last event said."""
    queued_ran: int = 0
    """Messages that began after the user was disabled."""
    paused: int = 0
    """Chats whose queue is paused."""
    audited: int = 0
    """Chats of which the audit log says that they were stopped."""

    @property
    def longest_s(self) -> float:
        return max([*self.chats_s, *self.streams_s, *self.refused_s])


@dataclass
class _Stream:
    """A reader of the user's; `opened` once the first event has come."""

    client: Client
    chat_id: str
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    reason: str = "cut off"
    ended_at: float = 0.0

    async def read(self) -> None:
        async with self.client.stream(self.chat_id) as events:
            async for event in events:
                self.opened.set()
                if event["type"] == "closed":
                    self.reason = event["data"]["reason"]
        self.ended_at = monotonic()


@asynccontextmanager
async def _second(given: dict[str, Any]) -> AsyncGenerator[str]:
    """The URL of another replica on the same database."""
    settings = Settings.model_validate({**UNBOUNDED, **given, "port": 0, "origins": OUR_ORIGIN})
    async with (
        open_server(settings) as server,
        open_served(server, settings) as served,
        asyncio.TaskGroup() as tasks,
    ):
        tasks.create_task(served.run())
        await served.ready()
        yield served.url
        served.drain()


async def _busy(client: Client) -> str:
    """A chat that runs and has messages in its queue."""
    chat_id = await client.new_chat(RUNS_ON)
    for _ in range(QUEUED):
        sent = await client.post(f"chats/{chat_id}/messages", {"text": RUNS_ON})
        assert sent.json["queued_id"] is not None, sent.raw
    return chat_id


async def _waiting(client: Client) -> str:
    begun = await client.post("chats", {"tools": [LOOK_UP], "message": {"text": WAITS}})
    assert begun.status == 201, begun.raw
    await client.until(begun.json["chat_id"], "awaiting")
    return begun.json["chat_id"]


async def let_go(*, chats: int, guard_s: float = GUARD_S) -> LetGo:
    """`chats`: how many run on each replica. `guard_s`: how long to watch what does not end."""
    async with theatre() as stage:
        given = settings_for(stage, await stage.new_database(), "postgres", role="all")
        async with open_door(given) as door, _second(given) as other:
            bob = await add_member(door.admin, "Bob", ("read", "write"))
            replicas = [bob, bob.at(other)]
            ids = [await _busy(each) for each in replicas for _ in range(chats)]
            ids.append(await _waiting(bob))
            streams = [_Stream(each, chat) for each in replicas for chat in ("", ids[0], ids[-1])]
            database = await asyncpg.connect(given["database_url"])
            try:
                found, disabled_at = LetGo(), 0.0
                with suppress(TimeoutError):
                    async with asyncio.timeout(guard_s), asyncio.TaskGroup() as tasks:
                        reading = [tasks.create_task(each.read()) for each in streams]
                        for each in streams:
                            await each.opened.wait()
                        disabled_at = await _disable(door.admin, bob)
                        await _watch(found, disabled_at, database, replicas, ids)
                        await asyncio.wait(reading)
                        found.has_ended = True
                found.streams_s = [each.ended_at - disabled_at for each in streams]
                found.said = [each.reason for each in streams]
                await _look_back(found, database, ids)
                return found
            finally:
                await database.close()


async def _disable(admin: Client, user: Client) -> float:
    """When it was answered."""
    user_id = (await user.get("me")).json["user"]["id"]
    changed = await admin.ask("PATCH", f"users/{user_id}", {"disabled": True})
    assert changed.status == 200, changed.raw
    return monotonic()


async def _watch(
    found: LetGo,
    since: float,
    database: "asyncpg.Connection[Any]",
    replicas: list[Client],
    ids: list[str],
) -> None:
    """Until every chat is at rest and every replica refuses the key."""

    async def refused(client: Client) -> None:
        while (await client.get("me")).status != 401:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        found.refused_s.append(monotonic() - since)

    async with asyncio.TaskGroup() as tasks:
        for each in replicas:
            tasks.create_task(refused(each))
        going = list(ids)
        while going:
            for chat_id in list(going):
                if await database.fetchval(AT_REST, uuid_of(chat_id)) in ("idle", "failed"):
                    going.remove(chat_id)
                    found.chats_s.append(monotonic() - since)
            await asyncio.sleep(0.02)


async def _look_back(found: LetGo, database: "asyncpg.Connection[Any]", ids: list[str]) -> None:
    named = [uuid_of(each) for each in ids]
    found.queued_ran = await database.fetchval(
        "select count(*) from queued_messages where chat_id = any($1) and promoted_seq is not null",
        named,
    )
    found.paused = await database.fetchval(
        "select count(*) from chats where id = any($1) and queue_paused", named
    )
    found.audited = await database.fetchval(
        "select count(distinct entry::json ->> 'target_id') from audit_log"
        " where action = 'chat.stopped' and actor_id is null"
    )
