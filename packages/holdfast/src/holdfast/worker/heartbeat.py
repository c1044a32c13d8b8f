"""Keeps a lease alive, and knows when it must be taken for lost.

The beat itself is one path; where it runs is chosen by who runs it: `in_own_thread` has an event
loop and a connection of its own, so that neither a busy main loop nor a tool that blocks it can
starve the lease (only code that never gives up the interpreter's lock could);
`on_this_loop` is for simulations in virtual time.
"""

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeAlias

from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import WorkerId
from holdfast.ports.leases import Leases
from holdfast.worker.options import LeaseTimings, WorkerCounters
from holdfast.worker.tenure import log_failure, now_s, wait_at_most

Beat: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
Beside: TypeAlias = Callable[[Beat], AbstractAsyncContextManager[None]]
"""Runs a beat beside the block that is entered, and stops it with the block."""
OpenLeases: TypeAlias = Callable[[], AbstractAsyncContextManager[Leases]]

THREAD_STOP_S: Final = 3.0
_LOG: Final = logging.getLogger(__name__)


class Lease:
    """By our own reckoning: it ends `ttl_s` after the last renewal that succeeded was *sent*.

    The database counts from when it got it, which is later; so we stop first, whatever the
    journey took, and no clock but the monotonic one of this machine is asked (S5). Both the loop
    of the worker and that of the heartbeat count by it.
    """

    def __init__(self, worker_id: WorkerId, sent_s: float, ttl_s: float) -> None:
        self.worker_id = worker_id
        self._ttl_s = ttl_s
        self._ends_s = sent_s + ttl_s
        self._loop = asyncio.get_running_loop()
        self._lost = asyncio.Event()

    @property
    def ends_s(self) -> float:
        return self._ends_s

    def renewed(self, sent_s: float) -> None:
        self._ends_s = sent_s + self._ttl_s

    def lose(self) -> None:
        """From any thread. The worker may be gone already, and its loop with it."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._lost.set)

    async def until_lost(self) -> None:
        """Watched by the worker itself: a heartbeat that hangs or died cannot tell (S4)."""
        while not self._lost.is_set() and (left_s := self._ends_s - now_s()) > 0:
            await wait_at_most(left_s, self._lost)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """How a worker keeps its leases. `open_leases` is entered where the beat runs."""

    open_leases: OpenLeases
    beside: Beside

    def keep(
        self, lease: Lease, timings: LeaseTimings, counters: WorkerCounters
    ) -> AbstractAsyncContextManager[None]:
        return self.beside(_Beating(lease, self.open_leases, timings, counters).run)


class _Beating:
    def __init__(
        self,
        lease: Lease,
        open_leases: OpenLeases,
        timings: LeaseTimings,
        counters: WorkerCounters,
    ) -> None:
        self._lease = lease
        self._open_leases = open_leases
        self._timings = timings
        self._counters = counters

    async def run(self) -> None:
        """Until the lease is lost; then the worker is told."""
        while now_s() < self._lease.ends_s:
            try:
                async with self._open_leases() as leases:
                    await self._renew_until_lost(leases)
                    self._lease.lose()  # before closing, which may take its time
                    return
            except Exception as error:  # noqa: BLE001 - as good as no answer
                self._counters.heartbeats_failed += 1
                log_failure(_LOG, "worker: the heartbeat has no connection", error)
                await asyncio.sleep(self._timings.retry_s)
        self._lease.lose()

    async def _renew_until_lost(self, leases: Leases) -> None:
        while (sent_s := now_s()) < self._lease.ends_s:
            pause_s = self._timings.retry_s  # quickly: the lease is running out
            try:
                async with asyncio.timeout(self._timings.heartbeat_timeout_s):
                    until = await leases.heartbeat(
                        self._lease.worker_id, ttl=timedelta(seconds=self._timings.ttl_s)
                    )
            except (Unavailable, TimeoutError) as error:
                self._counters.heartbeats_failed += 1
                log_failure(_LOG, "worker: a heartbeat was not answered", error)
            else:
                if until is None:
                    return  # lapsed: whatever we reckoned, others may drive
                self._lease.renewed(sent_s)
                self._counters.heartbeats += 1
                pause_s = max(0.0, sent_s + self._timings.heartbeat_every_s - now_s())
            await asyncio.sleep(pause_s)


@asynccontextmanager
async def on_this_loop(beat: Beat) -> AsyncGenerator[None]:
    async with asyncio.TaskGroup() as tasks:
        beating = tasks.create_task(beat(), name="heartbeat")
        try:
            yield
        finally:
            beating.cancel()


@asynccontextmanager
async def in_own_thread(beat: Beat) -> AsyncGenerator[None]:
    here, loop = asyncio.get_running_loop(), asyncio.new_event_loop()
    stopping, stopped = asyncio.Event(), asyncio.Event()

    def run() -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                runner.run(_until(stopping, beat))
        except Exception:  # noqa: BLE001 - the lease runs out, and the worker watches that
            _LOG.exception("worker: heartbeat thread failed")
        finally:
            with suppress(RuntimeError):
                here.call_soon_threadsafe(stopped.set)

    # A daemon: a beat that hangs in a dead connection must not keep the process alive.
    thread = threading.Thread(target=run, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        with suppress(RuntimeError):  # closed: it has ended by itself
            loop.call_soon_threadsafe(stopping.set)
        await wait_at_most(THREAD_STOP_S, stopped)
        if not stopped.is_set():
            _LOG.error("worker: heartbeat thread did not stop within %s s", THREAD_STOP_S)


async def _until(stopping: asyncio.Event, beat: Beat) -> None:
    async with asyncio.TaskGroup() as tasks:
        beating = tasks.create_task(beat(), name="heartbeat")
        await stopping.wait()
        beating.cancel()
