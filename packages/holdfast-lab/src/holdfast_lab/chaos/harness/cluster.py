"""Where fault tests are played: actors (worker processes), a simulator, a recorder of effects."""

import asyncio
import itertools
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    suppress,
)
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import orjson

from holdfast.adapters.postgres.migrate import MigrateOptions, migrate
from holdfast_lab.chaos.harness.private_postgres import PrivatePostgres, private_postgres
from holdfast_lab.chaos.harness.private_redis import private_redis
from holdfast_lab.chaos.harness.recorder import Recorder, recording
from holdfast_lab.chaos.harness.simulator import simulator_process

WAIT_S = 120.0
NOT_YET = 0
"""No pid: a signal to it would go to our whole process group."""


@dataclass
class Heard:
    """What an actor said, and when, by this process's monotonic clock."""

    what: dict[str, Any]
    at: float


@dataclass(eq=False)
class Actor:
    name: str
    pid: int = NOT_YET
    heard: list[Heard] = field(default_factory=list[Heard])
    writer: asyncio.StreamWriter | None = None
    ended_at: float | None = None
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, what: dict[str, Any]) -> None:
        self.heard.append(Heard(what, time.monotonic()))
        self._news.set()

    def end(self) -> None:
        self.ended_at = time.monotonic()
        self._news.set()

    async def until(self, matches: Callable[[dict[str, Any]], bool], after: int = 0) -> Heard:
        """The first thing it said, from number `after` on, that matches."""
        async with asyncio.timeout(WAIT_S):
            while True:
                for each in self.heard[after:]:
                    if matches(each.what):
                        return each
                assert self.ended_at is None, f"{self.name} ended; it said {self.heard[-3:]}"
                self._news.clear()
                await self._news.wait()

    async def says(self, said: str, after: int = 0) -> Heard:
        return await self.until(lambda what: what.get("said") == said, after)

    async def gone(self) -> float:
        """When its connection broke: it is dead, or as good as."""
        async with asyncio.timeout(WAIT_S):
            while self.ended_at is None:
                self._news.clear()
                await self._news.wait()
        return self.ended_at

    def tell(self, **order: Any) -> None:
        assert self.writer is not None
        self.writer.write(orjson.dumps(order) + b"\n")

    def signal(self, number: int) -> None:
        if self.pid == NOT_YET:
            return
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


@dataclass(eq=False)
class House:
    """What takes seconds to start, and may serve many theatres one after the other or at once."""

    nursery: asyncio.subprocess.Process
    postgres: PrivatePostgres
    redis: str
    simulator: str
    recorder: Recorder
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    def number(self) -> int:
        return next(self._numbers)

    async def fork(self, part: dict[str, Any]) -> int:
        """The pid of an actor that plays it."""
        assert self.nursery.stdin is not None
        assert self.nursery.stdout is not None
        async with self._asking:
            self.nursery.stdin.write(orjson.dumps(part) + b"\n")
            return int(await self.nursery.stdout.readline())

    async def execute(self, statement: str) -> None:
        connection = await asyncpg.connect(at(self.postgres, "template1"))
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


class Theatre:
    """One play in a house: its actors and databases go with it."""

    def __init__(self, house: House) -> None:
        self._house = house
        self.postgres = house.postgres
        self.simulator = house.simulator
        self.redis = house.redis
        self.recorder = house.recorder
        self._actors: dict[str, Actor] = {}
        self._databases: list[str] = []
        self.port = 0

    async def engage(self, name: str, settings: dict[str, Any], **part: Any) -> Actor:
        """A new process, ready to drive."""
        actor = Actor(f"{name}-{self._house.number()}")
        self._actors[actor.name] = actor
        given = {
            "name": actor.name,
            "control": self.port,
            "settings": settings,
            "recorder": self.recorder.url,
            **part,
        }
        actor.pid = await self._house.fork(given)
        await actor.says("ready")
        return actor

    async def new_database(self) -> str:
        """The URL of a migrated database of its own."""
        name = f"scene_{self._house.number()}"
        await self._house.execute(f"create database {name} template migrated")
        self._databases.append(name)
        return at(self.postgres, name)

    def dismiss(self, actor: Actor) -> None:
        actor.signal(signal.SIGKILL)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            hello = orjson.loads(await reader.readline())
            actor = self._actors[hello["name"]]
            if hello["way"] == "hear":
                actor.writer = writer
                return
            try:
                while line := await reader.readline():
                    actor.hear(orjson.loads(line))
            finally:
                actor.end()
                writer.close()

    async def close(self) -> None:
        for actor in self._actors.values():
            if actor.ended_at is None:
                actor.signal(signal.SIGKILL)
                await actor.gone()
            if actor.writer is not None:
                actor.writer.close()
        # Kept, they would make every crash that follows take longer to recover from.
        with suppress(OSError, asyncpg.PostgresError):  # another test has stopped the server
            for name in self._databases:
                await self._house.execute(f"drop database {name} with (force)")


def at(server: PrivatePostgres, name: str) -> str:
    """The URL of a database on that server."""
    return f"{server.url.rsplit('/', 1)[0]}/{name}"


async def _migrate(database: PrivatePostgres) -> None:
    connection = await asyncpg.connect(database.url)
    await connection.execute("create database migrated")
    await connection.close()
    await migrate(at(database, "migrated"), MigrateOptions(tells_each=False))


def many_connections(listen: str = "127.0.0.1") -> AbstractAsyncContextManager[PrivatePostgres]:
    """A server of its own: dozens of processes need more than a shared one spares."""
    return private_postgres({"max_connections": "1500"}, listen)


@asynccontextmanager
async def _house(
    *simulator_options: str,
    database: AbstractAsyncContextManager[PrivatePostgres] | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncGenerator[House]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "holdfast_lab.chaos.harness.fork_server"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **(environment or {})},
    )
    try:
        async with (
            simulator_process(*simulator_options) as simulator,
            recording() as recorder,
            database or many_connections() as postgres,
            private_redis() as redis,
        ):
            await _migrate(postgres)
            yield House(process, postgres, redis.url, simulator, recorder)
    finally:
        process.kill()
        await process.wait()


@dataclass
class _Shared:
    stack: AsyncExitStack
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    house: House | None = None

    async def get(self) -> House:
        async with self.opening:
            if self.house is None:
                self.house = await self.stack.enter_async_context(_house())
        return self.house


_shared: list[_Shared] = []


@asynccontextmanager
async def one_house() -> AsyncGenerator[None]:
    """Meanwhile, theatres that ask for nothing special play in one house, opened by the first."""
    async with AsyncExitStack() as stack:
        _shared.append(_Shared(stack))
        try:
            yield
        finally:
            _shared.pop()


@asynccontextmanager
async def theatre(
    *simulator_options: str,
    database: AbstractAsyncContextManager[PrivatePostgres] | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncGenerator[Theatre]:
    """`environment`: the actors' own."""
    async with AsyncExitStack() as stack:
        if _shared and not simulator_options and database is None and environment is None:
            house = await _shared[-1].get()
        else:
            opening = _house(*simulator_options, database=database, environment=environment)
            house = await stack.enter_async_context(opening)
        stage = Theatre(house)
        server = await asyncio.start_server(stage.connected, "127.0.0.1", 0)
        stage.port = server.sockets[0].getsockname()[1]
        try:
            yield stage
        finally:
            await stage.close()
            server.close()
