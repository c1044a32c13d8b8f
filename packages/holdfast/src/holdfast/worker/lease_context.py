"""What all parts of a worker share while one lease lasts, and how they pause."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from uuid import UUID

from holdfast.domain.errors import HoldfastError
from holdfast.domain.ids import WorkerId
from holdfast.ports.bus import Bus
from holdfast.ports.leases import Leases, Unreadable
from holdfast.worker.options import WorkerCounters, WorkerOptions

Chance: TypeAlias = Callable[[], float]
"""Uniform in [0, 1); passed in, so that a simulation repeats."""

JITTER: Final = 0.2
_LOG: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class LeaseContext:
    """From joining until the lease is lost or given up. A worker has one at a time.

    `owning`: statements that change what we own go one at a time. A release that overtakes the
    answer of an acquire would otherwise give away what we have just been given.
    `roused`: there may be room, or a reason to acquire.
    `doubtful_until_s`: an acquire was not answered; until then chats may turn out to be ours.
    `gives_back`: a statement is under way that releases.
    """

    worker_id: WorkerId
    leases: Leases
    bus: Bus
    options: WorkerOptions
    chance: Chance
    counters: WorkerCounters
    owning: asyncio.Lock = field(default_factory=asyncio.Lock)
    roused: asyncio.Event = field(default_factory=asyncio.Event)
    doubtful_until_s: float = 0.0
    gives_back: bool = False

    @asynccontextmanager
    async def giving_back(self) -> AsyncGenerator[None]:
        async with self.owning:
            self.gives_back = True
            try:
                yield
            finally:
                self.gives_back = False


async def set_aside(tenure: LeaseContext, unreadable: Sequence[Unreadable]) -> None:
    """Leave chats to a newer version. The caller holds `tenure.owning`."""
    async with asyncio.timeout(tenure.options.statement_timeout_s):
        done = set(await tenure.leases.set_aside(tenure.worker_id, unreadable))
    tenure.counters.set_aside += len(done)
    for each in unreadable:
        if each.chat_id in done:
            _LOG.error("worker: chat %s set aside: %s", each.chat_id, each.why)


def now_s() -> float:
    return asyncio.get_running_loop().time()


def jittered(pause_s: float, chance: Chance) -> float:
    """Give or take a fifth, so that fifty replicas do not ask in step."""
    return pause_s * (1 - JITTER + 2 * JITTER * chance())


def chance_uuid(chance: Chance) -> UUID:
    return UUID(int=int(chance() * 2**64) << 64 | int(chance() * 2**64), version=4)


async def wait_at_most(pause_s: float, event: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(pause_s):
            await event.wait()


def log_failure(log: logging.Logger, what: str, error: Exception) -> None:
    """What an outage makes fail in a line, seldom repeated; with a traceback what we did not
    expect."""
    if isinstance(error, HoldfastError | TimeoutError):
        log.warning("%s: %r", what, error, extra={"seldom": what})
    else:
        log.warning("%s: %r", what, error, exc_info=error)


async def every(
    pause_s: float, chance: Chance, name: str, each: Callable[[], Awaitable[None]]
) -> None:
    """Until cancelled. What goes wrong is told and tried again: a worker dies of nothing (L55)."""
    while True:
        await asyncio.sleep(jittered(pause_s, chance))
        try:
            await each()
        except Exception as error:  # noqa: BLE001 - tried again
            log_failure(_LOG, f"worker: {name} failed and will be tried again", error)
