"""The worker: one lease after another, and under each the loops that drive chats.

A lease that is lost takes everything down that was begun under it; only then the next one begins,
under a new name. So one process never drives under two identities (S4).
"""

import asyncio
import logging
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Final, Self

from holdfast.chats.changes import ChatWriter
from holdfast.domain.ids import WorkerId
from holdfast.ports.bus import Bus
from holdfast.ports.history import History
from holdfast.ports.leases import Leases
from holdfast.tasks import Crew
from holdfast.worker.health import CommitHealth
from holdfast.worker.heartbeat import Heartbeat, Lease
from holdfast.worker.lease_context import (
    Chance,
    LeaseContext,
    chance_uuid,
    jittered,
    log_failure,
    now_s,
    wait_at_most,
)
from holdfast.worker.lease_scope import LeaseScope
from holdfast.worker.options import WorkerCounters, WorkerOptions
from holdfast.worker.quarantine import Quarantine, StartAlone
from holdfast.worker.reconcile import Reconciler, Sweeper
from holdfast.worker.releases import Releases
from holdfast.worker.runners import Drive, Runners
from holdfast.worker.slots import OfferedSlots

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ports:
    """What a worker needs from outside."""

    leases: Leases
    history: History
    bus: Bus
    ledger: ChatWriter


class Worker:
    """Entered with `async with`, and driving from then on; leaving the block stops it at once.

    `drain` hands everything over; `run` returns when that is done.
    """

    def __init__(
        self,
        drive: Drive,
        ports: Ports,
        heartbeat: Heartbeat,
        chance: Chance,
        options: WorkerOptions = WorkerOptions(),  # noqa: B008 - frozen
        slots: OfferedSlots | None = None,
        health: CommitHealth | None = None,
        start_alone: StartAlone | None = None,
    ) -> None:
        """`slots`: where to offer room to the commits of this process. `health`: told of every
        commit of this process. `start_alone`: how a process is started for chats that keep losing
        their workers; without it they are acquired as all others."""
        self._health = health or CommitHealth()
        self._drive = drive
        self._ports = ports
        self._heartbeat = heartbeat
        self._chance = chance
        self._options = options
        self._slots = slots or OfferedSlots()
        self.counters = WorkerCounters()
        self._worker_id: WorkerId | None = None
        self._draining = asyncio.Event()
        self._group = Crew()
        self._living: asyncio.Task[None] | None = None
        self._quarantine = (
            None
            if start_alone is None
            else Quarantine(start_alone, self._group, chance, self.counters)
        )

    @property
    def worker_id(self) -> WorkerId | None:
        """None between two leases."""
        return self._worker_id

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._living = self._group.keep_up(self._live, name="worker")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._living is not None
        self._living.cancel()
        if self._quarantine is not None:
            self._quarantine.stop()
        await self._group.__aexit__(kind, error, traceback)

    async def run(self) -> None:
        """Until drained."""
        assert self._living is not None, "entered first"
        await asyncio.wait({self._living})

    def drain(self) -> None:
        """Acquire nothing more, hand over what is driven, leave (F30). Returns at once."""
        self._draining.set()
        if self._quarantine is not None:
            self._quarantine.drain()

    async def _live(self) -> None:
        while not self._draining.is_set():
            try:
                if await self._hold(await self._join()):
                    # Commits fail here, and a lease can be had: a healthy worker comes first.
                    await self._pause(self._options.lease.ttl_s)
            except Exception as error:  # noqa: BLE001 - begun anew
                log_failure(_LOG, "worker: failed and starts again", error)
                await self._pause(self._options.retry_s)
        if self._quarantine is not None:
            # If this process ended before them, a container would end them with it.
            await self._quarantine.finished(self._options.drain_s + self._options.leave_s)

    async def _pause(self, pause_s: float) -> None:
        await wait_at_most(jittered(pause_s, self._chance), self._draining)

    async def _join(self) -> Lease:
        # A new name each time: if the answer to this gets lost, the name lapses by itself.
        worker_id = WorkerId(chance_uuid(self._chance))
        ttl_s, sent_s = self._options.lease.ttl_s, now_s()
        async with asyncio.timeout(self._options.statement_timeout_s):
            await self._ports.leases.join(
                worker_id, name=self._options.name, ttl=timedelta(seconds=ttl_s)
            )
        self.counters.leases += 1
        return Lease(worker_id, sent_s, ttl_s)

    async def _hold(self, lease: Lease) -> bool:
        """Drive under a lease until it is lost, or everything is handed over; whether it was given
        up for other workers."""
        ports = self._ports
        tenure = LeaseContext(
            lease.worker_id, ports.leases, ports.bus, self._options, self._chance, self.counters
        )
        releases = Releases(tenure)
        runners = Runners(tenure, self._drive, releases, self._group)
        holding = LeaseScope(tenure, lease, runners, releases, self._health, self._quarantine)
        sync, sweeper = Reconciler(tenure, ports.history, runners), Sweeper(tenure, ports.ledger)
        # Subscribed before the first acquire: what becomes runnable between the two is heard, and
        # what did before is found (L82).
        async with (
            self._heartbeat.keep(lease, self._options.lease, self.counters),
            ports.bus.subscribe_work(lease.worker_id) as news,
        ):
            self._worker_id = lease.worker_id
            try:
                with self._slots.offered(holding.reserve):
                    await holding.run(news, sync, sweeper, self._draining)
            finally:
                self._worker_id = None
        return holding.stands_back
