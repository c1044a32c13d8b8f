"""The engines that carry the bus, with what a test may do to them."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol

import asyncpg

from holdfast.adapters.bus.lossy import LossyBus
from holdfast.adapters.bus.options import BusOptions
from holdfast.adapters.bus.postgres import open_postgres_bus
from holdfast.adapters.bus.redis import open_redis_bus
from holdfast.adapters.postgres.migrate import migrate
from holdfast.domain.chat import Status
from holdfast.domain.ids import ChatId, Seq, Version
from holdfast.ports.bus import GAP, Episode, Gap, Hint, LivePart, News
from holdfast_lab.chaos.harness.private_postgres import PrivatePostgres, private_postgres
from holdfast_lab.chaos.harness.private_redis import (
    PrivateCluster,
    PrivateRedis,
    private_cluster,
    private_redis,
)
from tests.support.builders import CHAT
from tests.support.database import on_server, temporary_database
from tests.support.fake_bus import FakeBusServer
from tests.support.waits import HANG_S

EPISODE = Episode(Version(7), 1)
KEY = b"the key of a deployment, of a test"
CALM = BusOptions(
    connect_timeout_s=30.0, answer_timeout_s=30.0, ping_every_s=30.0, subscribe_wait_s=30.0
)
"""On a busy machine an engine answers late. With the bus's own timeouts it would be given up, and
readers would hear a gap where a test expects what was said."""


class BusServer(Protocol):
    def open(self, options: BusOptions | None = None) -> LossyBus:
        """A bus as one process has it."""
        ...

    async def cut(self) -> None:
        """End every connection; the server stays."""
        ...

    async def empty(self) -> None:
        """Forget every part; connections stay."""
        ...


class StoppableBusServer(BusServer, Protocol):
    async def stop(self) -> None: ...

    async def start(self) -> None: ...


class OnPostgres:
    def __init__(self, url: str, server: PrivatePostgres | None = None) -> None:
        self.url = url
        self._server = server

    def open(self, options: BusOptions | None = None) -> LossyBus:
        return open_postgres_bus(self.url, options or CALM, key=KEY)

    async def cut(self) -> None:
        name = self.url.rsplit("/", 1)[1]
        await on_server(
            f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'"
        )

    async def empty(self) -> None:
        await self.fetch("truncate live_parts")

    async def stop(self) -> None:
        assert self._server is not None
        await self._server.stop()

    async def start(self) -> None:
        assert self._server is not None
        await self._server.start()

    async def fetch(self, statement: str) -> list[asyncpg.Record]:
        connection = await asyncpg.connect(self.url)
        try:
            return await connection.fetch(statement)
        finally:
            await connection.close()


class OnRedis:
    def __init__(self, server: PrivateRedis) -> None:
        self.server = server

    def open(self, options: BusOptions | None = None) -> LossyBus:
        options = options or CALM
        return open_redis_bus(self.server.url, prefix="test", options=options, key=KEY)

    async def cut(self) -> None:
        for kind in ("normal", "pubsub"):
            await self.server.command("CLIENT", "KILL", "TYPE", kind)

    async def empty(self) -> None:
        await self.server.command("FLUSHALL")

    async def stop(self) -> None:
        await self.server.stop()

    async def start(self) -> None:
        await self.server.start()


class OnCluster:
    def __init__(self, cluster: PrivateCluster) -> None:
        self.cluster = cluster

    def open(self, options: BusOptions | None = None) -> LossyBus:
        url, options = self.cluster.nodes[0].url, options or CALM
        return open_redis_bus(url, prefix="test", options=options, key=KEY)

    async def cut(self) -> None:
        # All nodes at once: a bus that is cut off three times in a row drops what it sends.
        kill = [("CLIENT", "KILL", "TYPE", kind) for kind in ("normal", "pubsub")]
        async with asyncio.TaskGroup() as tasks:
            for node in self.cluster.nodes:
                tasks.create_task(node.commands(kill))

    async def empty(self) -> None:
        await self.cluster.command("FLUSHALL")

    async def stop(self) -> None:
        await self.cluster.stop()

    async def start(self) -> None:
        await self.cluster.start()


@asynccontextmanager
async def bus_server(
    kind: str, template: str, cluster: PrivateCluster | None = None
) -> AsyncGenerator[BusServer]:
    if kind == "fake":
        yield FakeBusServer()
    elif kind == "cluster":
        assert cluster is not None
        server = OnCluster(cluster)
        await server.empty()
        yield server
    elif kind == "redis":
        async with private_redis() as server:
            yield OnRedis(server)
    else:
        async with temporary_database(template) as url:
            yield OnPostgres(url)


@asynccontextmanager
async def stoppable_bus_server(kind: str) -> AsyncGenerator[StoppableBusServer]:
    if kind == "fake":
        yield FakeBusServer()
    elif kind == "redis":
        async with private_redis() as server:
            yield OnRedis(server)
    elif kind == "cluster":
        async with private_cluster() as cluster:
            yield OnCluster(cluster)
    else:
        async with private_postgres({}) as server:
            await migrate(server.url)
            yield OnPostgres(server.url, server)


def part(
    seq: int, payload: bytes = b"", *, chat_id: ChatId = CHAT, at: Episode = EPISODE
) -> LivePart:
    return LivePart(chat_id, at, seq, payload or b'{"text":"w\xc3\xb6rd %d"}' % seq, Seq(3))


def hint(version: int, status: Status = Status.RUNNING, **more: Any) -> Hint:
    return Hint(CHAT, Version(version), status, **more)


async def take_said(news: AsyncIterator[News], count: int) -> list[News]:
    """The next so many but for gaps."""
    said: list[News] = []
    async with asyncio.timeout(HANG_S):
        while len(said) < count:
            if (each := await anext(news)) is not GAP:
                said.append(each)
    return said


async def take(news: AsyncIterator[News], count: int) -> list[News]:
    """The next so many, in bounded time."""
    async with asyncio.timeout(HANG_S):
        return [await anext(news) for _ in range(count)]


async def take_until(news: AsyncIterator[News], enough: Callable[[list[News]], bool]) -> list[News]:
    taken: list[News] = []
    async with asyncio.timeout(HANG_S):
        while not enough(taken):
            taken.append(await anext(news))
    return taken


def seqs(news: list[News]) -> list[int]:
    return [each.seq for each in news if isinstance(each, LivePart)]


def gaps(news: list[News]) -> int:
    return sum(isinstance(each, Gap) for each in news)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG_S):
        while True:
            if true():
                return
            await asyncio.sleep(0.01)
