"""One turn through a general workflow engine (DBOS), beside the same turn through the ledger.

    uv run --with dbos python benchmarks/workflow_engine.py

Needs PostgreSQL on localhost (or HOLDFAST_TEST_SERVER_URL); makes and drops a database per kind of
turn. Rounds alternate, so that a noisy neighbour meets every kind. Method and findings stand in
`workflow-engine.md`. DBOS is no dependency of ours, hence its import by name.
"""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import import_module
from importlib.metadata import version
from statistics import median
from typing import Any, Final
from uuid import uuid4

import asyncpg
import uvloop

from holdfast.adapters.postgres.clock import DatabaseClock
from holdfast.adapters.postgres.leases import PostgresLeases
from holdfast.adapters.postgres.migrate import migrate
from holdfast.adapters.postgres.pool import Pool, PoolOptions, open_pool
from holdfast.adapters.postgres.store import PostgresStore
from holdfast.chats.changes import Actor, ChangeRequest
from holdfast.chats.ledger import Ledger
from holdfast.chats.send import send
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import BeginAttempt, CommitStep, Create, FinishTurn, FromWorker
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId, OrgId, UserId, WorkerId
from holdfast.domain.messages import MessageBody, Role
from holdfast.domain.parts import Text
from holdfast.ports.bus import Hint

SERVER_URL: Final = os.environ.get("HOLDFAST_TEST_SERVER_URL", "postgresql://127.0.0.1:5432")
TURNS: Final = 500
LANES: Final = 16
ROUNDS: Final = 3
WARM: Final = 3
POOL: Final = PoolOptions(connections_max=LANES)
ASKED: Final = "What holds a ship to the ground when the wind turns? " * 4
REPLY: Final = "An anchor, and enough chain. " * 20
A_USER: Final = """with org as (insert into organisations values ($1, 'bench'))
    insert into users values ($2, $1, 'bench')"""
LAST: Final = (CommitStep((MessageBody(role=Role.ASSISTANT, parts=(Text(REPLY),)),)), FinishTurn())

Bundle = tuple[FromWorker, ...]
Turn = Callable[[int], Awaitable[None]]  # in a lane; returns when the reply is stored


@dataclass
class Kind:
    name: str
    open: Callable[[str], AbstractAsyncContextManager[Turn]]
    rounds: list[tuple[float, float, float]] = field(default_factory=list[Any])


async def on_server(statement: str) -> int:
    async with asyncpg.create_pool(f"{SERVER_URL}/postgres", min_size=1, max_size=1) as server:
        return await server.fetchval(statement) or 0


async def committed_in(database: str) -> int:
    await asyncio.sleep(0.2)  # backends hand in their counts when they end
    return await on_server(f"select xact_commit from pg_stat_database where datname='{database}'")


async def all_lanes(turn: Turn, count: int) -> None:
    async def one_lane(lane: int) -> None:
        for _ in range(count):
            await turn(lane)

    async with asyncio.TaskGroup() as lanes:
        for lane in range(LANES):
            lanes.create_task(one_lane(lane))


async def one_round(kind: Kind, database: str, turns: int) -> None:
    """The lanes side by side; each begins its next turn when its last one is stored."""
    committed = await committed_in(database)
    async with kind.open(f"{SERVER_URL}/{database}") as turn:
        await all_lanes(turn, WARM)
        cpu, wall = time.process_time(), time.perf_counter()
        await all_lanes(turn, turns)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    commits = (await committed_in(database) - committed) / (turns + WARM)
    kind.rounds.append((turns * LANES / wall, 1000 * cpu / turns / LANES, commits / LANES))


class Nerve:
    """Hints within the process: they wake the acquirer, and whoever waits for a chat to be idle."""

    def __init__(self) -> None:
        self.runnable = asyncio.Event()
        self.idle: dict[ChatId, asyncio.Event] = {}

    async def publish(self, hints: Sequence[Hint]) -> None:
        for hint in hints:
            (self.idle[hint.chat_id] if hint.status is Status.IDLE else self.runnable).set()


async def a_chat(pool: Pool, ledger: Ledger, nerve: Nerve) -> tuple[Actor, ChatId]:
    org_id, user_id, chat_id = OrgId(uuid4()), UserId(uuid4()), ChatId(uuid4())
    await pool.execute(A_USER, org_id, user_id)
    nerve.idle[chat_id] = asyncio.Event()
    await ledger.create(Chat(chat_id=chat_id, org_id=org_id, owner_id=user_id), Create())
    return Actor(org_id, user_id), chat_id


async def drive(ledger: Ledger, chat: Chat, bundles: Sequence[Bundle]) -> None:
    for bundle in bundles:
        request = ChangeRequest(bundle, by=Fence.of(chat), snapshot=chat)
        chat = (await ledger.transact(chat.chat_id, request)).chat


@asynccontextmanager
async def our_ledger(url: str, bundles: Sequence[Bundle]) -> AsyncGenerator[Turn]:
    """Send; acquire, as many at once as wait; commit the bundles, the last of which goes idle."""
    await migrate(url)
    async with open_pool(url, POOL) as pool, asyncio.TaskGroup() as tasks:
        nerve, leases, worker_id = Nerve(), PostgresLeases(pool), WorkerId(uuid4())
        ledger = Ledger(PostgresStore(pool), nerve, await DatabaseClock.open(pool))
        await leases.join(worker_id, name="bench", ttl=timedelta(minutes=5))
        chats = [await a_chat(pool, ledger, nerve) for _ in range(LANES)]

        async def acquire() -> None:
            while await nerve.runnable.wait():
                nerve.runnable.clear()
                acquired = await leases.acquire(worker_id, limit=LANES, ring_start=uuid4())
                for chat in acquired.chats:
                    tasks.create_task(drive(ledger, chat, bundles))

        async def turn(lane: int) -> None:
            actor, chat_id = chats[lane]
            nerve.idle[chat_id].clear()
            await send(ledger, actor, chat_id, MessageBody(role=Role.USER, parts=(Text(ASKED),)))
            await nerve.idle[chat_id].wait()

        acquirer = tasks.create_task(acquire())
        yield turn
        acquirer.cancel()


@asynccontextmanager
async def dbos(url: str) -> AsyncGenerator[Turn]:
    """A workflow of three steps: accept, generate, store. The journal alone holds what was said."""
    engine: Any = import_module("dbos").DBOS
    engine(config={"name": "bench", "system_database_url": url, "log_level": "ERROR"})

    async def say(body: str) -> str:
        return body

    async def workflow(_lane: int) -> None:
        await step(ASKED)
        await step(await step(REPLY))

    step = engine.step()(say)
    turn: Turn = engine.workflow()(workflow)
    engine.launch()
    yield turn
    engine.destroy(destroy_registry=True)


def print_table(kinds: Sequence[Kind]) -> None:
    print("turn | turns/s: median (each round) | Python CPU ms per turn | commits per turn")
    for kind in kinds:
        rate, cpu, commits = (median(column) for column in zip(*kind.rounds, strict=True))
        each = " ".join(f"{rate:.0f}" for rate, _, _ in kind.rounds)
        print(f"{kind.name} | {rate:.0f} ({each}) | {cpu:.2f} | {commits:.1f}")
    first, *_, last = (median(rate for rate, _, _ in kind.rounds) for kind in kinds)
    print(f"{kinds[-1].name} / {kinds[0].name}: {last / first:.2f}")


async def main() -> None:
    kinds = [
        Kind("ledger", lambda url: our_ledger(url, [LAST])),
        Kind("ledger, attempt counted", lambda url: our_ledger(url, [(BeginAttempt(),), LAST])),
        Kind("DBOS", dbos),
    ]
    databases = {f"holdfast_bench_{uuid4().hex}": kind for kind in kinds}
    try:
        for database in databases:
            await on_server(f"create database {database}")
        for _ in range(ROUNDS):
            for database, kind in databases.items():
                await one_round(kind, database, TURNS // LANES)
    finally:
        for database in databases:
            await on_server(f"drop database if exists {database} with (force)")
    print(f"DBOS {version('dbos')}, {LANES} lanes, {LANES * (TURNS // LANES)} turns a round")
    print_table(kinds)


if __name__ == "__main__":
    uvloop.run(main())
