"""Hundreds of turns, most of them disturbed, leave nothing behind.

What is held is counted exactly, however many turns there were. Memory is not: what each turn might
leave behind shows in `just churn`, which makes thousands.
"""

import asyncio
import gc
import os
import random
import threading
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from holdfast.adapters.bus.options import BusOptions
from holdfast.adapters.bus.postgres import open_postgres_bus
from holdfast.adapters.bus.redis import open_redis_bus
from holdfast.adapters.bus.redis_nodes import READERS_AT_ONCE
from holdfast.bootstrap import Adapters, Server
from holdfast.domain.chat import Status
from holdfast_lab.chaos.harness.private_redis import PrivateRedis, private_redis
from tests.support.churn import TOGETHER_MAX, Churn
from tests.support.replica import replicas_apart

SEED = 4
TURNS = int(os.environ.get("HOLDFAST_CHURN_TURNS", "600"))
WARM_UP = 150
SHORT = BusOptions(live_ttl_s=1.0, ping_every_s=0.25)
RSS_BYTES_MAX = 24 * 2**20
SETTLES_S = 60
LINKS = 2
"""To Redis: one that publishes, one that listens."""


@dataclass(frozen=True)
class Held:
    """What a server holds when nobody speaks to it."""

    tasks: int
    threads: int
    descriptors: int
    """Sockets among them, but for those to the model and to Redis."""
    to_model: int
    """Connections that are kept for the next turn, for a while: as many as there were turns at
    once, which is chance."""
    to_redis: int
    """Those for questions are kept, too: as many as were asked at once, up to a bound."""
    connections: int
    feeds: int
    watching: int
    driven: int
    entries: int
    """Of the live log, in the database or on Redis."""
    rss_bytes: int

    def beyond(self, other: "Held") -> list[str]:
        """What is more than another held, but for memory."""
        names = ("tasks", "threads", "descriptors", "connections", "feeds", "watching", "driven")
        return [
            f"{name}: {getattr(self, name)} instead of {getattr(other, name)}"
            for name in (*names, "entries")
            if getattr(self, name) > getattr(other, name)
        ]


@dataclass
class Scales:
    """Weighs this process, and what it holds on PostgreSQL and Redis."""

    database_url: str
    redis: PrivateRedis
    model_port: int

    async def weigh(self, server: Server | None = None) -> Held:
        gc.collect()
        connections, rows = await self._database()
        hub = None if server is None else server.hub
        worker = None if server is None else server.worker
        keys = await self.redis.command("KEYS", "*")
        descriptors, to_model, to_redis = _descriptors(self.model_port, self.redis.port)
        return Held(
            tasks=len(asyncio.all_tasks()),
            # Those of asyncio's executor are kept for ever, and it has a bound.
            threads=sum(not each.name.startswith("asyncio_") for each in threading.enumerate()),
            descriptors=descriptors,
            to_model=to_model,
            to_redis=to_redis,
            connections=connections,
            feeds=0 if hub is None else hub.counters.feeds,
            watching=0 if server is None else server.adapters.bus.counters.watching,
            driven=0 if worker is None else worker.counters.driven,
            entries=rows + len(keys),
            rss_bytes=_resident_bytes(),
        )

    async def _database(self) -> tuple[int, int]:
        connection = await asyncpg.connect(self.database_url)
        try:
            row = await connection.fetchrow(
                "select (select count(*) from pg_stat_activity where datname = current_database()"
                " and pid <> pg_backend_pid()) as others, (select count(*) from live_parts) as rows"
            )
            assert row is not None
            return row["others"], row["rows"]
        finally:
            await connection.close()

    async def settled(
        self, weigh: Callable[[], Awaitable[Held]], until: Callable[[Held], bool]
    ) -> Held:
        """Feeds linger, entries expire and connections are kept for a while: wait for that."""
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + SETTLES_S
        while True:
            held = await weigh()
            if until(held) or loop.time() > ends_s:
                return held
            await asyncio.sleep(0.25)


def _descriptors(*ports: int) -> list[int]:
    """All that are open but the connections to these ports; and those, port by port."""
    lines = Path("/proc/self/net/tcp").read_text(encoding="utf-8").splitlines()[1:]
    ends = {
        f"socket:[{fields[9]}]": int(fields[2].rpartition(":")[2], 16)
        for fields in map(str.split, lines)
    }
    links: list[str] = []
    for each in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the one by which we look
            links.append(str(each.readlink()))
    kept = [sum(ends.get(link) == port for link in links) for port in ports]
    return [len(links) - sum(kept), *kept]


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.nightly
@pytest.mark.timeout(500)
@pytest.mark.parametrize(("bus", "turns"), [("postgres", TURNS), ("redis", TURNS // 2)])
async def test_disturbed_turns_leave_nothing_behind(template: str, bus: str, turns: int) -> None:
    async with private_redis() as redis, replicas_apart(template) as cell:
        model_port = urlsplit(cell.simulator.url).port
        assert model_port is not None
        scales = Scales(cell.database_url, redis, model_port)
        before = await scales.weigh()
        async with AsyncExitStack() as stack:
            # As production opens it, but that its live log is forgotten soon.
            ours = await stack.enter_async_context(
                open_redis_bus(redis.url, prefix="mine", options=SHORT)
                if bus == "redis"
                else open_postgres_bus(cell.database_url, SHORT)
            )

            def around(adapters: Adapters) -> Adapters:
                return replace(adapters, bus=ours)

            server = await stack.enter_async_context(
                # A lease that a busy machine does not lose: what is lost is counted below.
                cell.open(around, within_s=480, worker_capacity=64, lease_ttl_s=60.0)
            )
            churn = Churn(server, random.Random(SEED))

            async def weigh() -> Held:
                return await scales.weigh(server)

            await churn.run(WARM_UP)
            warm = await scales.settled(weigh, lambda held: not (held.feeds or held.entries))
            await churn.run(turns - WARM_UP)
            after = await scales.settled(weigh, lambda held: not held.beyond(warm))

            assert churn.turns == turns
            # A turn may end before its interrupt comes, but not one whose provider hangs.
            assert churn.ways["hangs"] >= turns / 60
            assert server.metrics.value("holdfast_turn_interrupts_total") >= churn.ways["hangs"]
            assert after.beyond(warm) == []
            assert after.to_model <= TOGETHER_MAX
            assert after.to_redis <= READERS_AT_ONCE + LINKS
            assert (after.feeds, after.driven, after.entries) == (0, 0, 0)
            assert after.rss_bytes - warm.rss_bytes < RSS_BYTES_MAX
            assert churn.ends.keys() == {Status.IDLE}, churn.ends
            for name in (
                "turn_bugs",
                "worker_crashed",
                "worker_lost",
                "worker_stuck",
                "tool_stuck",
            ):
                assert server.metrics.value(f"holdfast_{name}_total") == 0, name
        gone = await scales.settled(scales.weigh, lambda held: not held.beyond(before))
        assert gone.beyond(before) == []
        assert (gone.to_model, gone.to_redis) == (0, 0)
