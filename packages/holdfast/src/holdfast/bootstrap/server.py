"""The graph of a server over its ports, and the server as tests and commands have it."""

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from types import TracebackType
from typing import Final, Self

from holdfast.bootstrap.adapters import Adapters, open_adapters
from holdfast.bootstrap.observed import Watch
from holdfast.bootstrap.options import ServerOptions, server_options
from holdfast.chats.changes import ChatWriter
from holdfast.chats.ledger import Ledger
from holdfast.domain.ids import ChatId
from holdfast.settings import Settings
from holdfast.stream.hub import Hub
from holdfast.stream.list_watchers import ListWatchers
from holdfast.tasks import FAILURES
from holdfast.telemetry.logs import bound
from holdfast.telemetry.metrics import Metrics, numbers_of
from holdfast.turn.driver import Driver
from holdfast.turn.history_cache import HistoryCache
from holdfast.turn.reading import TurnReader
from holdfast.turn.step_policy import StepPolicy
from holdfast.turn.texts.choice import title_model_for
from holdfast.turn.texts.maker import ChatTextMaker
from holdfast.worker.health import CommitHealth
from holdfast.worker.heartbeat import Beside, Heartbeat, in_own_thread
from holdfast.worker.idle_cache import IdleCache, NotingStore
from holdfast.worker.lease_context import Chance
from holdfast.worker.local_dispatch import LocalDispatch
from holdfast.worker.quarantine import StartAlone
from holdfast.worker.slots import OfferedSlots
from holdfast.worker.worker import Ports, Worker

READY_LOOKS_S: Final = 0.02
_LOG: Final = logging.getLogger(__name__)
SYSTEM_CHANCE: Final[Chance] = secrets.SystemRandom().random


class Server:
    """One replica. Entered with `async with`; `hub`, `watching` and `worker` are there as its role
    says."""

    def __init__(
        self,
        adapters: Adapters,
        ledger: ChatWriter,
        metrics: Metrics,
        *,
        name: str,
        hub: Hub | None,
        watching: ListWatchers | None,
        worker: Worker | None,
        texts: ChatTextMaker | None = None,
    ) -> None:
        self.adapters = adapters
        self.ledger = ledger
        self.metrics = metrics
        self.name = name
        self.hub = hub
        self.watching = watching
        self.worker = worker
        self.texts = texts
        self._drained = asyncio.Event()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self.metrics.bind(
            "loop",
            lambda: {"tasks": len(asyncio.all_tasks(loop)), "failures": dict(FAILURES)},
        )
        async with AsyncExitStack() as stack:
            stack.enter_context(bound(worker=self.name))
            if self.hub is not None:
                await stack.enter_async_context(self.hub)
            if self.watching is not None:
                await stack.enter_async_context(self.watching)
            if self.texts is not None:
                await stack.enter_async_context(self.texts)
            if self.worker is not None:
                await stack.enter_async_context(self.worker)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self._stack.__aexit__(kind, error, traceback)
        finally:
            _LOG.info("server: stopped", extra={"server": self.name})

    async def ready(self) -> None:
        """Until the worker holds a lease and hears of work. Looks now and then: it happens once."""
        while self.worker is not None and self.worker.worker_id is None:  # noqa: ASYNC110
            await asyncio.sleep(READY_LOOKS_S)

    async def run(self) -> None:
        """Until drained."""
        if self.worker is not None:
            await self.worker.run()
        else:
            await self._drained.wait()

    def drain(self) -> None:
        """End what is followed, hand over what is driven; `run` returns when that is done."""
        if not self._drained.is_set():
            readers = 0 if self.hub is None else self.hub.counters.readers
            _LOG.info("server: draining", extra={"readers": readers})
        self._drained.set()
        if self.hub is not None:
            self.hub.stop()
        if self.watching is not None:
            self.watching.stop()
        if self.worker is not None:
            self.worker.drain()


def assemble(
    adapters: Adapters,
    options: ServerOptions,
    metrics: Metrics | None = None,
    *,
    chance: Chance = SYSTEM_CHANCE,
    beat_beside: Beside = in_own_thread,
    start_alone: StartAlone | None = None,
) -> Server:
    """The graph over these ports. Does no I/O and starts nothing: a simulation in virtual time is
    built by it, too, with a seeded chance and `on_this_loop` for the heartbeat. `start_alone`: see
    `Worker`."""
    metrics = metrics or Metrics()
    watch, health = Watch(metrics), CommitHealth()
    seen = replace(
        adapters,
        store=watch.store(adapters.store, health),
        models=watch.models(adapters.models),
        tools=watch.tools(adapters.tools),
    )
    # Local dispatch and the caches help only a process that both serves requests and drives turns.
    both = options.serves and options.drives
    slots, idle = OfferedSlots(), IdleCache()
    memory = HistoryCache() if both else HistoryCache(bytes_max=0)
    metrics.bind("remembered", lambda: {"chats": len(idle), "bytes": memory.bytes})
    ledger = _dispatch(seen, slots, idle) if both else Ledger(seen.store, seen.bus, seen.clock)
    metrics.bind("bus", lambda: numbers_of(seen.bus.counters))
    hub = watching = worker = None
    if options.serves:
        hub = Hub(seen.store, seen.history, seen.bus, options.hub)
        metrics.bind("stream", lambda: numbers_of(hub.counters))
        if adapters.people is not None:
            watching = ListWatchers(adapters.people.listing, seen.bus, options.watch)
            metrics.bind("watch", lambda: numbers_of(watching.counters))
    texts = _texts(adapters, options, metrics)
    if options.drives:
        driver = _driver(seen, ledger, options, chance, memory, texts)
        worker = Worker(
            watch.drive(driver.drive),
            Ports(seen.leases, seen.history, seen.bus, ledger),
            Heartbeat(seen.open_leases, beat_beside),
            chance,
            options.worker,
            slots,
            health,
            start_alone,
        )
        metrics.bind("turn", lambda: numbers_of(driver.counters))
        metrics.bind("worker", lambda: numbers_of(worker.counters))
        metrics.bind("server", lambda: {"capacity": options.worker.capacity})
    return Server(
        adapters,
        ledger,
        metrics,
        name=options.worker.name,
        hub=hub,
        watching=watching,
        worker=worker,
        texts=texts,
    )


def _dispatch(seen: Adapters, slots: OfferedSlots, idle: IdleCache) -> LocalDispatch:
    """A ledger with the worker of this process in front of it."""
    ledger = Ledger(NotingStore(seen.store, idle), seen.bus, seen.clock)
    return LocalDispatch(ledger, slots, idle)


def _texts(adapters: Adapters, options: ServerOptions, metrics: Metrics) -> ChatTextMaker | None:
    """Also in a process that drives no turns: a user may take a title away there. Over the models
    as they are: how fast they name chats says nothing of turns."""
    if adapters.texts is None:
        return None
    rules = StepPolicy(options.turn, adapters.settings, adapters.added)
    texts = ChatTextMaker(
        adapters.texts,
        adapters.history,
        TurnReader(adapters.store, adapters.history),
        adapters.models,
        adapters.bus,
        title_model_for(rules, adapters.models, options.texts.model),
        options.texts,
    )
    metrics.bind("texts", lambda: numbers_of(texts.counters))
    return texts


def _driver(
    seen: Adapters,
    ledger: ChatWriter,
    options: ServerOptions,
    chance: Chance,
    memory: HistoryCache | None,
    texts: ChatTextMaker | None,
) -> Driver:
    return Driver(
        ledger,
        TurnReader(seen.store, seen.history),
        seen.bus,
        seen.models,
        seen.tools,
        options.turn,
        clock=seen.clock,
        chance=chance,
        settings=seen.settings,
        generation=seen.generation,
        added=seen.added,
        memory=memory,
        observer=texts,
    )


def as_they_are(adapters: Adapters) -> Adapters:
    return adapters


@asynccontextmanager
async def open_server(
    settings: Settings,
    around: Callable[[Adapters], Adapters] = as_they_are,
    *,
    start_alone: StartAlone | None = None,
    only: tuple[ChatId, ...] | None = None,
) -> AsyncGenerator[Server]:
    """A server, serving and driving as its role says. Leaving stops everything, in reverse.

    `around`: tests put something between the server and the world. `start_alone`: see `Worker`;
    `only`: the chats that such a process drives. Raises `WrongSettings`, `NoDatabase`,
    `UnsafeDatabase` or `SchemaBehind`, each with a sentence for the operator.
    """
    options, metrics = server_options(settings), Metrics()
    if only is not None:
        worker = replace(options.worker, only=only, capacity=len(only))
        options = replace(options, worker=worker)
    async with (
        open_adapters(settings, metrics) as adapters,
        assemble(around(adapters), options, metrics, start_alone=start_alone) as server,
    ):
        yield server
