"""How much bus one PostgreSQL carries beside the ledger's work: rates rise until something gives.

Meanwhile the ledger does a steady number of turns on the same server, from this process. Further
replicas are played by connections that listen to chats of their own: PostgreSQL shows every note to
every listening connection of the database, and each looks through its list of channels.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from statistics import median
from typing import Final
from uuid import UUID

import asyncpg

from benchmarks.bus_ours import BusLane, on_postgres
from benchmarks.ledger import SAID, USERS, Bench, drive
from holdfast.adapters.postgres.clock import DatabaseClock
from holdfast.adapters.postgres.history import PostgresHistory
from holdfast.adapters.postgres.leases import PostgresLeases
from holdfast.adapters.postgres.pool import PoolOptions, open_pool
from holdfast.adapters.postgres.store import PostgresStore
from holdfast.chats.changes import Actor
from holdfast.chats.ledger import Ledger
from holdfast.chats.send import send
from holdfast_lab.bench.engine import ORG, NoHints, owner, prepare, worker_id
from holdfast_lab.bench.engine import chat_id as ledger_chat_id
from holdfast_lab.bench.lanes import LaneFailed, Load, Run, run
from holdfast_lab.bench.processes import machine_ticks, server_cpu_s
from holdfast_lab.chaos.harness.private_postgres import PrivatePostgres

TURNS_PER_S: Final = 50
DELAY_MS_MAX: Final = 100.0
CHATS: Final = 1_000
ALONE: Final = (5_000, 10_000, 20_000, 30_000, 40_000)
WITH_OTHERS: Final = (5_000, 10_000, 20_000)
OTHERS: Final = 3


@dataclass(frozen=True)
class Step:
    """What the machine did at one rate; no run if it could not."""

    events_per_s: int
    others: int
    run: Run | None
    turn_ms: float
    busy: float
    """How much of the machine was in use, by whomever."""

    @property
    def holds(self) -> bool:
        return (
            self.run is not None
            and self.run.p99_ms <= DELAY_MS_MAX
            and self.run.events_per_s > 0.9 * self.events_per_s
        )


async def saturate(server: PrivatePostgres, seconds: float, *, quick: bool) -> list[Step]:
    async with open_pool(server.url, PoolOptions(connections_max=4)) as pool:
        ledger = Ledger(PostgresStore(pool), NoHints(), await DatabaseClock.open(pool))
        bench = Bench(server, pool, ledger, PostgresLeases(pool), PostgresHistory(pool))
        await prepare(pool, ledger, bench.leases, clients=USERS)
        steps = [await step(bench, 0, 0, seconds)]
        for others, rates in ((0, ALONE), (OTHERS, WITH_OTHERS)):
            async with other_replicas(server.url, others):
                for rate in rates[:1] if quick else rates:
                    steps.append(await step(bench, rate, others, seconds))
                    if not steps[-1].holds:
                        break
    return steps


async def step(bench: Bench, rate: int, others: int, seconds: float) -> Step:
    took_ms: list[float] = []
    stop, before = asyncio.Event(), machine_ticks()
    found: Run | None = None
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(steady_turns(bench, took_ms, stop))
        try:
            found = await _carry(bench, rate, seconds)
        except LaneFailed as failure:
            print(f"{rate} events/s: {failure}")
        finally:
            stop.set()
    idle, ticks = (now - then for now, then in zip(machine_ticks(), before, strict=True))
    return Step(rate, others, found, median(took_ms), 1 - idle / ticks)


async def _carry(bench: Bench, rate: int, seconds: float) -> Run | None:
    if not rate:
        await asyncio.sleep(seconds)
        return None
    load = Load(CHATS, rate, seconds)
    await empty(bench.server.url)
    before, started = server_cpu_s(bench.server.data), time.monotonic()
    await asyncio.sleep(0.5)  # the ledger alone, to tell its share from the bus's
    ledgers = (server_cpu_s(bench.server.data) - before) / (time.monotonic() - started)
    origin = time.monotonic()

    def bus_cpu_s() -> float:
        return server_cpu_s(bench.server.data) - ledgers * (time.monotonic() - origin)

    lane = BusLane(on_postgres)
    return await asyncio.to_thread(run, lane, bench.server.url, load, bus_cpu_s)


async def steady_turns(bench: Bench, took_ms: list[float], stop: asyncio.Event) -> None:
    dice = random.Random(1)
    actor, due, number = Actor(ORG, owner(0)), time.monotonic(), 0
    while not stop.is_set():
        number += 1
        due = max(due + 1 / TURNS_PER_S, time.monotonic() - 1)
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        started = time.perf_counter()
        await send(bench.ledger, actor, ledger_chat_id(0, number % 60), SAID)
        ring = UUID(int=dice.getrandbits(128))
        acquired = await bench.leases.acquire(worker_id(0), limit=1, ring_start=ring)
        for chat in acquired.chats:
            await drive(bench, chat)
        took_ms.append((time.perf_counter() - started) * 1000)


@asynccontextmanager
async def other_replicas(url: str, count: int) -> AsyncGenerator[None]:
    async with AsyncExitStack() as stack:
        for replica in range(count):
            connection = await asyncpg.connect(url)
            stack.push_async_callback(connection.close)
            chats = [UUID(int=(0x7000_9000 + replica << 48) + n) for n in range(CHATS)]
            await connection.execute(";".join(f'listen "holdfast:{chat.hex}"' for chat in chats))
        yield


async def empty(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("truncate live_parts")
    finally:
        await connection.close()


def highest(steps: Sequence[Step], others: int) -> Step:
    """The last rate that held."""
    return [each for each in steps if each.run and each.holds and each.others == others][-1]


def engine_us(steps: Sequence[Step], others: int) -> float:
    """What an event costs the server, at rates at which that can be told from the clock's ticks."""
    runs = [each.run for each in steps if each.run and each.others == others]
    return median(run.engine for run in runs[1:] or runs)
