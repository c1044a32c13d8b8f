"""Where fault tests are played: actors (worker processes), a simulator, a recorder of effects."""

import asyncio
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import orjson

from holdfast.db.migrate import migrate
from holdfast.prove.stage.private_postgres import PrivatePostgres, private_postgres
from holdfast.prove.stage.recorder import Recorder, recording
from holdfast.prove.stage.simulator import simulator_process

WAIT_S = 60.0


@dataclass
class Heard:
    """What an actor said, and when, by this process's monotonic clock."""

    what: dict[str, Any]
    at: float


@dataclass(eq=False)
class Actor:
    name: str
    pid: int = 0
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
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


class Theatre:
    def __init__(
        self,
        nursery: asyncio.subprocess.Process,
        database: PrivatePostgres,
        simulator: str,
        recorder: Recorder,
    ) -> None:
        self._nursery = nursery
        self.postgres = database
        self._asking = asyncio.Lock()
        self._joined: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._actors: dict[str, Actor] = {}
        self._numbers = iter(range(1, 1_000_000))
        self.simulator = simulator
        self.recorder = recorder
        self.port = 0

    async def engage(self, name: str, settings: dict[str, Any], **part: Any) -> Actor:
        """A new process, ready to drive."""
        actor = Actor(f"{name}-{next(self._numbers)}")
        self._actors[actor.name] = actor
        given = {
            "name": actor.name,
            "control": self.port,
            "settings": settings,
            "recorder": self.recorder.url,
            **part,
        }
        assert self._nursery.stdin is not None
        assert self._nursery.stdout is not None
        async with self._asking:
            self._nursery.stdin.write(orjson.dumps(given) + b"\n")
            actor.pid = int(await self._nursery.stdout.readline())
        await actor.says("ready")
        return actor

    async def new_database(self) -> str:
        """The URL of a migrated database of its own; it goes with the theatre."""
        name = f"scene_{next(self._numbers)}"
        connection = await asyncpg.connect(at(self.postgres, "template1"))
        try:
            await connection.execute(f"create database {name} template migrated")
        finally:
            await connection.close()
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


def at(server: PrivatePostgres, name: str) -> str:
    """The URL of a database on that server."""
    return f"{server.url.rsplit('/', 1)[0]}/{name}"


async def _migrate(database: PrivatePostgres) -> None:
    connection = await asyncpg.connect(database.url)
    await connection.execute("create database migrated")
    await connection.close()
    await migrate(at(database, "migrated"))


@asynccontextmanager
async def theatre(*simulator_options: str) -> AsyncGenerator[Theatre]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "holdfast.prove.stage.nursery"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        async with (
            simulator_process(*simulator_options) as simulator,
            recording() as recorder,
            # Of its own: dozens of processes need more connections than a shared server spares.
            private_postgres({"max_connections": "400"}) as database,
        ):
            await _migrate(database)
            stage = Theatre(process, database, simulator, recorder)
            server = await asyncio.start_server(stage.connected, "127.0.0.1", 0)
            stage.port = server.sockets[0].getsockname()[1]
            try:
                yield stage
            finally:
                await stage.close()
                server.close()
    finally:
        process.kill()
        await process.wait()
