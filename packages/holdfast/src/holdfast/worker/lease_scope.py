"""Everything that is done under one lease, from the first acquire to the last release."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Final

from holdfast.domain.ids import ChatId
from holdfast.ports.bus import Gap, Hint
from holdfast.worker.acquirer import Acquirer
from holdfast.worker.health import CommitHealth
from holdfast.worker.heartbeat import Lease
from holdfast.worker.lease_context import LeaseContext, log_failure, now_s
from holdfast.worker.quarantine import Quarantine
from holdfast.worker.reconcile import Reconciler, Sweeper
from holdfast.worker.releases import Releases
from holdfast.worker.runners import Runners
from holdfast.worker.slots import TakenSlot

DONE_LOOKS_S: Final = 0.1
_LOG: Final = logging.getLogger(__name__)


class LeaseScope:
    def __init__(
        self,
        tenure: LeaseContext,
        lease: Lease,
        runners: Runners,
        releases: Releases,
        health: CommitHealth,
        quarantine: Quarantine | None = None,
    ) -> None:
        self.stands_back = False
        """The lease was given up because commits fail, and the chats are free for other workers."""
        self._health = health
        self._gave_up = False
        self._tenure = tenure
        self._lease = lease
        self._runners = runners
        self._releases = releases
        self._acquirer = Acquirer(tenure, runners, quarantine)

    def reserve(self, chat_id: ChatId) -> TakenSlot | None:
        """While other chats may be waiting, only what their acquire would leave over."""
        options = self._tenure.options
        spare = options.acquire_batch_max if self._acquirer.wanted else 0
        if options.only is not None or not self._runners.takes(chat_id, spare=spare):
            return None
        return TakenSlot(chat_id, self._tenure, self._runners, self._releases)

    async def run(
        self,
        news: AsyncIterator[Hint | Gap],
        sync: Reconciler,
        sweeper: Sweeper,
        draining: asyncio.Event,
    ) -> None:
        """Until the lease is lost, everything is handed over, or it is cancelled; nothing that was
        begun here goes on after that."""
        lost = False
        async with asyncio.TaskGroup() as tasks:
            acquiring = tasks.create_task(self._acquirer.run(), name="acquirer")
            loops = [
                acquiring,
                tasks.create_task(self._follow(news), name="worker's news"),
                tasks.create_task(
                    self._releases.run(self._runners.is_driven, self._runners.is_coming),
                    name="releases",
                ),
                tasks.create_task(sync.run(), name="sync"),
            ]
            if self._tenure.options.only is None:
                loops.append(tasks.create_task(sweeper.expire(), name="sweep"))
                loops.append(tasks.create_task(sweeper.stop(), name="stopping"))
                loops.append(tasks.create_task(sweeper.forget(), name="forgetting"))
            else:
                loops.append(tasks.create_task(self._end_with_chats(draining), name="end"))
            try:
                lost = await self._is_lost_before_handed_over(draining, acquiring)
            finally:
                for loop in loops:
                    loop.cancel()
                await self._stop(lost=lost)

    async def _follow(self, news: AsyncIterator[Hint | Gap]) -> None:
        async for each in news:
            if isinstance(each, Gap):
                self._acquirer.doubt()
                self._runners.doubt()
                continue
            if each.worker_id == self._tenure.worker_id:
                self._runners.hear(each)
            if each.runnable and self._tenure.options.only is None:
                self._acquirer.hear(each)

    async def _end_with_chats(self, draining: asyncio.Event) -> None:
        """Who drives only some chats ends with them, and at once if it was given none."""
        while not self._acquirer.is_answered or self._runners.kept:  # noqa: ASYNC110 - seldom
            await asyncio.sleep(DONE_LOOKS_S)
        draining.set()

    async def _is_lost_before_handed_over(
        self, draining: asyncio.Event, acquiring: "asyncio.Task[None]"
    ) -> bool:
        async with asyncio.TaskGroup() as tasks:
            lost = tasks.create_task(self._lease.until_lost(), name="lease watch")
            handed = tasks.create_task(self._hand_over(draining, acquiring), name="hand-over")
            ill = tasks.create_task(self._until_commits_fail(), name="commit watch")
            ends = {lost, handed, ill}
            try:
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in ends:
                    each.cancel()
        return not lost.cancelled()

    async def _until_commits_fail(self) -> None:
        tenure = self._tenure
        await self._health.until_failed_for(tenure.options.lease.ttl_s)
        self._gave_up = True
        tenure.counters.leases_given_up += 1
        _LOG.error(
            "worker: %s gives up its lease: no commit was answered for %.1f s",
            tenure.worker_id,
            self._health.failed_for_s,
        )

    async def _hand_over(self, draining: asyncio.Event, acquiring: "asyncio.Task[None]") -> None:
        """Each chat is released the moment its driver returns, not when the last one does.

        A reply may come to its end for a while, so that a deploy cuts few of them; what is left
        then is kept as it is, and another worker goes on from there.
        """
        options = self._tenure.options
        await draining.wait()
        began_s, driven = now_s(), len(self._runners.chats)
        _LOG.info("worker: draining", extra={"chats": driven})
        self._acquirer.stop()
        self._runners.let_go(after_replies=options.finish_replies_s > 0)
        await asyncio.wait({acquiring}, timeout=options.statement_timeout_s)
        await self._runners.settled(options.statement_timeout_s)
        await self._runners.finished(options.finish_replies_s)
        self._runners.let_go()
        await self._runners.finished(options.drain_s - options.finish_replies_s)
        try:
            async with asyncio.timeout(options.statement_timeout_s):
                await self._releases.done()
        except TimeoutError:
            _LOG.warning(
                "worker: %d chats were not released in time; the end of the lease releases them",
                len(self._releases),
            )
        left = len(self._runners.chats)
        _LOG.info(
            "worker: handed over",
            extra={
                "chats": driven - left,
                "not_in_time": left,
                "seconds": round(now_s() - began_s, 3),
            },
        )

    async def _stop(self, *, lost: bool) -> None:
        known = self._releases.waiting | self._runners.chats
        if lost:
            self._tenure.counters.lease_losses += 1
            _LOG.error(
                "worker: %s lost its lease; it stops driving %d chats",
                self._tenure.worker_id,
                len(known),
            )
        await self._runners.stop()
        if lost:
            return  # the chats are no longer ours to give: other workers rescue them
        try:
            async with asyncio.timeout(self._tenure.options.leave_s):
                released = await self._tenure.leases.leave(self._tenure.worker_id)
        except Exception as error:  # noqa: BLE001 - no caller is left to handle it
            log_failure(_LOG, "worker: could not leave; the lease will run out", error)
        else:
            self.stands_back = self._gave_up
            await self._releases.tell(released, known)
