"""One server process over its lines to the world, as production builds it."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from holdfast.adapters.bus.lossy import LossyBus
from holdfast.adapters.bus.options import BusOptions
from holdfast.bootstrap.adapters import Adapters
from holdfast.bootstrap.server import Server, assemble
from holdfast.domain.errors import Unavailable
from holdfast.ports.leases import Leases
from holdfast.stream.hub import Hub
from holdfast.telemetry.metrics import Metrics
from holdfast.worker.heartbeat import on_this_loop
from tests.simulation import checks
from tests.simulation.actors import RandomModels, counted_tools
from tests.simulation.loop import Process
from tests.simulation.people import PATIENCE_S
from tests.simulation.weather import Engine, Line, Ported
from tests.support.doubles import SeededIds

if TYPE_CHECKING:
    from tests.simulation.world import World

METRICS = Metrics()  # their making would be a third of a seed's time; nobody reads them here


class Replica:
    """One server process, from its start to its end."""

    def __init__(self, world: "World", name: str) -> None:
        self.world = world
        self.process = Process(name)
        self.line = Line(self.process, world.weather, world.see)
        self.server: Server = self._assemble(name)
        self.up = False
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self.task: asyncio.Task[None] | None = None

    def _assemble(self, name: str) -> Server:
        world = self.world
        port: Any = Ported(self.line, checks.FencedStore(world.store, world.problems))
        self.engine = Engine(world.bus, self.line)
        self.bus = LossyBus(self.engine, BusOptions())
        models = RandomModels(world.outside, self.line, world.chance)

        @asynccontextmanager
        async def open_leases() -> AsyncGenerator[Leases]:
            yield port

        adapters = Adapters(
            store=port,
            history=port,
            leases=port,
            bus=self.bus,
            models=models,
            tools=counted_tools(world.outside, self.line, world.chance),
            clock=world.clock,
            ids=SeededIds(1),
            open_leases=open_leases,
        )
        server = assemble(
            adapters,
            world.options(name),
            METRICS,
            chance=world.chance.random,
            beat_beside=on_this_loop,
        )
        worker = server.worker
        assert worker is not None
        models.worker_id = lambda: worker.worker_id
        return server

    @property
    def hub(self) -> Hub:
        assert self.server.hub is not None
        return self.server.hub

    @property
    def speaks(self) -> bool:
        """Whether a hint that it publishes is sent at once: its sender is connected, and no send
        that stalled in the storm is in front of the hint."""
        return self.engine.is_clear and self.bus._sending  # pyright: ignore[reportPrivateUsage]

    @property
    def polls(self) -> bool:
        """As often as it should: after a failure it does so less often for a while."""
        return self.hub.counters.failed_reads == 0

    def start(self) -> None:
        live = self._live()
        group = self.world.group
        self.task = group.create_task(live, name=self.process.name, context=self.process.context)

    async def _live(self) -> None:
        try:
            async with self.bus, self.server:
                self.up = True
                await self.server.run()
        finally:
            self.up = False
            self.hang_up()

    def crash(self) -> None:
        """No last words: whatever it does from here on reaches nobody."""
        self.process.dead = True
        self.up = False
        if self.process.frozen:
            self.process.wake()
        assert self.task is not None
        self.task.cancel()
        self.hang_up()

    async def do(self, doing: Callable[[], Awaitable[Any]]) -> Any:
        """A request that comes in here; who asked waits only so long, the request goes on."""
        task = self._begin(self._guarded(doing))
        _, pending = await asyncio.wait({task}, timeout=PATIENCE_S)
        if pending or task.cancelled() or self.process.dead:
            raise Unavailable("no answer")
        result = task.result()
        if isinstance(result, Exception):
            raise result
        return result

    async def _guarded(self, doing: Callable[[], Awaitable[Any]]) -> Any:
        try:
            return await doing()
        except Exception as error:  # noqa: BLE001 - for who asked
            return error

    async def serve(
        self,
        follow: Callable[["Replica", Callable[[], bool]], Any],
        for_s: float,
    ) -> None:
        """A reader's connection, until one of both hangs up."""
        there = True
        task = self._begin(follow(self, lambda: there))
        ends_s = asyncio.get_running_loop().time() + for_s
        while not task.done() and asyncio.get_running_loop().time() < ends_s:
            await asyncio.wait(
                {task}, timeout=min(2.5, max(0.0, ends_s - asyncio.get_running_loop().time()))
            )
            if self.process.frozen:
                break  # a ping is overdue
            if self.world.over:
                break
        there = False
        task.cancel()

    def hang_up(self) -> None:
        for task in list(self._tasks):
            task.cancel()

    def _begin(self, work: Any) -> "asyncio.Task[Any]":
        task: asyncio.Task[Any] = self.world.group.create_task(work, context=self.process.context)
        self._tasks[task] = None
        task.add_done_callback(lambda task: self._tasks.pop(task, None))
        return task
