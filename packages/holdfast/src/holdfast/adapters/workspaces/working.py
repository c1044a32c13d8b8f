"""The work on workspaces in this process: one task each, shared by all that wait for it.

A task belongs to the process and not to its caller: who is interrupted while a workspace starts
leaves it starting. As long as it works it renews its claim on the row. Once it cannot, it stops: by
then others may be at it.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeAlias

from holdfast.adapters.workspaces.options import KeeperOptions
from holdfast.adapters.workspaces.probing import until_answers
from holdfast.adapters.workspaces.provisioning import Provisioner, ProvisionFailed
from holdfast.domain.errors import Unavailable
from holdfast.domain.workspaces import Workspace, WorkspaceId, WorkspaceStatus
from holdfast.ports.workspaces import WorkspaceStore
from holdfast.tasks import Crew

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    status: WorkspaceStatus
    address: str | None = None
    error: str | None = None


@dataclass(slots=True, kw_only=True)
class WorkspaceCounters:
    under_way: int = 0
    starts: int = 0
    starts_failed: int = 0
    stops: int = 0
    stops_failed: int = 0
    deletions: int = 0
    expired: int = 0
    repairs: int = 0
    passed_on: int = 0
    refused: int = 0


_Doing: TypeAlias = Callable[[Workspace, Provisioner], Awaitable[_Outcome]]


class Work:
    def __init__(
        self, store: WorkspaceStore, options: KeeperOptions, tasks: asyncio.TaskGroup
    ) -> None:
        self._store = store
        self._options = options
        self._tasks = tasks
        self.counters = WorkspaceCounters()
        self.observe_start: Callable[[float], None] = lambda _seconds: None
        """Told how long each start took, in seconds."""
        self._under_way: dict[WorkspaceId, asyncio.Task[None]] = {}
        self._all: set[asyncio.Task[None]] = set()
        """Those too that were overtaken and are not done yet."""

    def start(self, mine: Workspace, provisioner: Provisioner) -> None:
        self._begin(mine, lambda: self._to_its_end(mine, provisioner, _started))

    def stop(self, mine: Workspace, provisioner: Provisioner) -> None:
        self._begin(mine, lambda: self._to_its_end(mine, provisioner, _stopped))

    def delete(self, mine: Workspace, provisioner: Provisioner) -> None:
        self._begin(mine, lambda: self._removed(mine, provisioner))

    async def wait(self, workspace_id: WorkspaceId, within_s: float) -> bool:
        """Until it has ended, or time is up; False if there is none here."""
        task = self._under_way.get(workspace_id)
        if task is None:
            return False
        await asyncio.wait({task}, timeout=max(within_s, 0))
        return True

    def cancel(self) -> None:
        for task in self._all:
            task.cancel()

    def _begin(self, mine: Workspace, work: Callable[[], Awaitable[None]]) -> None:
        name = f"workspace {mine.workspace_id} {mine.status}"
        task = self._tasks.create_task(self._guarded(mine, work), name=name)
        self._under_way[mine.workspace_id] = task
        self._all.add(task)
        self.counters.under_way += 1
        task.add_done_callback(lambda ended: self._ended(mine.workspace_id, ended))

    def _ended(self, workspace_id: WorkspaceId, task: asyncio.Task[None]) -> None:
        self._all.discard(task)
        self.counters.under_way -= 1
        if self._under_way.get(workspace_id) is task:
            del self._under_way[workspace_id]

    async def _guarded(self, mine: Workspace, work: Callable[[], Awaitable[None]]) -> None:
        """Nothing that goes wrong with one workspace ends the work on others."""
        try:
            await work()
        except Unavailable as error:
            # The outcome is not stored. The claim lapses, and the next server repeats the work.
            _LOG.warning("workspaces: %s could not be recorded: %s", mine.workspace_id, error)
        except Exception:  # noqa: BLE001 - stored for the waiting callers, and logged
            _LOG.exception("workspaces: %s: internal error", mine.workspace_id)
            said = "An internal error; the server's log has the details. Start it again."
            with suppress(Unavailable):
                await self._store.settle(mine, WorkspaceStatus.FAILED, error=said)

    async def _to_its_end(self, mine: Workspace, provisioner: Provisioner, work: _Doing) -> None:
        began_s = asyncio.get_running_loop().time()
        outcome = await self._holding(mine, provisioner, work)
        settled = None
        if outcome is not None:
            self._count(mine, outcome, asyncio.get_running_loop().time() - began_s)
            if outcome.error is not None:
                _LOG.warning(
                    "workspaces: %s failed while %s: %s",
                    mine.workspace_id,
                    mine.status,
                    outcome.error,
                )
            settled = await self._store.settle(
                mine,
                outcome.status,
                address=outcome.address,
                stops_in=_stops_in(mine, provisioner, outcome),
                error=outcome.error,
            )
        if settled is None:
            await self._undo(mine, provisioner)

    def _count(self, mine: Workspace, outcome: _Outcome, seconds: float) -> None:
        failed = outcome.status is WorkspaceStatus.FAILED
        if mine.status is WorkspaceStatus.STOPPING:
            self.counters.stops += 1
            self.counters.stops_failed += failed
            return
        self.counters.starts += 1
        self.counters.starts_failed += failed
        if not failed:
            self.observe_start(seconds)

    async def _removed(self, mine: Workspace, provisioner: Provisioner) -> None:
        try:
            done = await self._holding(mine, provisioner, _deleted)
        except ProvisionFailed as error:
            # The row says what is left; a sweep tries again.
            _LOG.warning("workspaces: %s could not be removed: %s", mine.workspace_id, error)
            return
        if done is not None:
            self.counters.deletions += 1
            await self._store.removed(mine.workspace_id)

    async def _holding(
        self, mine: Workspace, provisioner: Provisioner, work: _Doing
    ) -> _Outcome | None:
        """What comes of the work; None, and the work ended, once the claim is no longer ours."""
        renewing: asyncio.Task[None] | None = None
        lease = asyncio.timeout(self._options.lapse_s)
        try:
            async with lease:
                renewing = self._tasks.create_task(self._renew(mine, lease), name="renew")
                return await work(mine, provisioner)
        except TimeoutError:
            if not lease.expired():
                raise
            self.counters.passed_on += 1
            _LOG.warning("workspaces: %s was taken over by another server", mine.workspace_id)
            return None
        finally:
            if renewing is not None:
                renewing.cancel()

    async def _renew(self, mine: Workspace, lease: asyncio.Timeout) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._options.renew_every_s)
            asked_at = loop.time()
            try:
                held = await self._store.renew(mine)
            except Unavailable as error:
                _LOG.warning(
                    "workspaces: claim on %s could not be renewed: %s", mine.workspace_id, error
                )
                continue
            if lease.expired():
                return
            # From before the statement: here the claim never ends later than in the database.
            lease.reschedule(asked_at + self._options.lapse_s if held else loop.time())

    async def _undo(self, mine: Workspace, provisioner: Provisioner) -> None:
        """The server that took it over may have stopped or deleted it before we started it."""
        now = await self._store.find(mine.workspace_id)
        try:
            if now is None or now.status is WorkspaceStatus.DELETED:
                await provisioner.delete(mine)
            elif now.status is WorkspaceStatus.STOPPED:
                await provisioner.stop(mine)
        except ProvisionFailed as error:
            _LOG.warning("workspaces: %s could not be rolled back: %s", mine.workspace_id, error)


async def _started(mine: Workspace, provisioner: Provisioner) -> _Outcome:
    try:
        async with asyncio.timeout(provisioner.start_s):
            address = await provisioner.start(mine)
            await until_answers(address, provisioner.token(mine))
    except ProvisionFailed as error:
        return _Outcome(status=WorkspaceStatus.FAILED, error=str(error))
    except TimeoutError:
        said = (
            f"The workspace did not start within {provisioner.start_s:g} s. Start it again; if that"
            " does not help, ask an administrator to look at its template."
        )
        return _Outcome(status=WorkspaceStatus.FAILED, error=said)
    return _Outcome(status=WorkspaceStatus.RUNNING, address=address)


async def _stopped(mine: Workspace, provisioner: Provisioner) -> _Outcome:
    try:
        await provisioner.stop(mine)
    except ProvisionFailed as error:
        return _Outcome(status=WorkspaceStatus.FAILED, error=str(error))
    return _Outcome(status=WorkspaceStatus.STOPPED)


async def _deleted(mine: Workspace, provisioner: Provisioner) -> _Outcome:
    await provisioner.delete(mine)
    return _Outcome(status=WorkspaceStatus.DELETED)


def _stops_in(mine: Workspace, provisioner: Provisioner, outcome: _Outcome) -> timedelta | None:
    ttl_s = mine.ttl_s or provisioner.template.ttl_s
    running = outcome.status is WorkspaceStatus.RUNNING
    return timedelta(seconds=ttl_s) if running and ttl_s else None


@asynccontextmanager
async def open_work(store: WorkspaceStore, options: KeeperOptions) -> AsyncGenerator[Work]:
    """Leaving ends what is under way, and leaves its rows to lapse."""
    async with Crew() as tasks:
        work = Work(store, options, tasks)
        try:
            yield work
        finally:
            work.cancel()
