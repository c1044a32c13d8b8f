"""Asks for chats: on a hint, on a timer, after a gap, and when room comes while more may wait.

At most one acquire is under way. Hints that come meanwhile add up to one more.
"""

import asyncio
import logging
from typing import Final

from holdfast.chats.hints import hint_of_acquiring
from holdfast.domain.chat import Status
from holdfast.domain.driving import begun_by_acquiring
from holdfast.ports.bus import Hint
from holdfast.ports.leases import Acquired
from holdfast.worker.fair_start import FairStart
from holdfast.worker.lease_context import (
    LeaseContext,
    jittered,
    log_failure,
    now_s,
    set_aside,
    wait_at_most,
)
from holdfast.worker.quarantine import Quarantine
from holdfast.worker.runners import Runners

_LOG: Final = logging.getLogger(__name__)


class Acquirer:
    def __init__(
        self, tenure: LeaseContext, runners: Runners, quarantine: Quarantine | None = None
    ) -> None:
        """`quarantine`: where chats go that keep losing their workers; without it they are
        acquired as all others."""
        self.is_answered = False
        """An acquire was, and what it brought is driven."""
        self._tenure = tenure
        self._runners = runners
        self._quarantine = quarantine
        self._ring = FairStart(tenure.chance)
        self._wanted = True  # what became runnable before we subscribed is found at once (L82)
        self._urgent = True
        self._stopped = False
        self._asked_s = 0.0
        self._batch_max = tenure.options.acquire_batch_max
        self._failed = False

    @property
    def wanted(self) -> bool:
        """Chats may be waiting for a worker, as far as we know."""
        return self._wanted

    def hear(self, hint: Hint) -> None:
        """A chat waits. While there is no room only an interrupt is worth a statement (L80); the
        others are remembered as a wish, and wait for room."""
        self._wanted = True
        self._urgent = self._urgent or hint.status is Status.INTERRUPTING
        self._tenure.roused.set()

    def doubt(self) -> None:
        """Something may have been missed."""
        self._wanted = self._urgent = True
        self._tenure.roused.set()

    def stop(self) -> None:
        """Ask no more. An acquire under way ends first: its chats are ours, answer or not."""
        self._stopped = True
        self._tenure.roused.set()

    async def run(self) -> None:
        """Until stopped."""
        options = self._tenure.options
        while not self._stopped:
            await self._until_due(jittered(options.acquire_every_s, self._tenure.chance))
            if self._stopped:
                return
            try:
                await self._acquire()
            except Exception as error:  # noqa: BLE001 - tried again
                self._tenure.counters.acquires_failed += 1
                # Maybe it was too much for the time: half of it next time, after the interrupts.
                self._batch_max, self._failed = max(1, self._batch_max // 2), True
                log_failure(_LOG, "worker: acquiring failed", error)
                # Asked and not answered: chats may be ours without our knowing (see Sync).
                self._tenure.doubtful_until_s = now_s() + options.lost_answer_s
                self._wanted = True
                await asyncio.sleep(jittered(options.retry_s, self._tenure.chance))

    async def _until_due(self, pause_s: float) -> None:
        roused, timer_s = self._tenure.roused, now_s() + pause_s
        while not self._stopped and (left_s := self._due_s(timer_s) - now_s()) > 0:
            roused.clear()
            await wait_at_most(left_s, roused)

    def _due_s(self, timer_s: float) -> float:
        if self._wanted and self._runners.room > 0:
            return 0.0
        if self._urgent:
            # Full, so that a crowd of hints could ask for nothing many times a second (L81).
            return min(timer_s, self._asked_s + self._tenure.options.acquire_full_every_s)
        return timer_s

    async def _acquire(self) -> None:
        tenure = self._tenure
        async with tenure.owning:
            if self._failed:
                # In a statement of its own: what is slow to acquire does not hold up Stop (L80).
                await self._ask(0)
            limit = min(max(self._runners.room, 0), self._batch_max)
            # A wish stays one if there is no room for it; a hint from here on is a new one.
            self._wanted, self._urgent = self._wanted and not limit, False
            self._asked_s = now_s()
            acquired = await self._ask(limit)
            self._failed, self.is_answered = False, True
            self._batch_max = min(self._batch_max * 2, tenure.options.acquire_batch_max)
        if limit and len(acquired.chats) + len(acquired.unreadable) >= limit:
            self._wanted = True  # there may be more

    async def _ask(self, limit: int) -> Acquired:
        """Interrupts, and at most so many chats beside them."""
        tenure, quarantine = self._tenure, self._quarantine
        tenure.counters.acquires += 1
        with self._runners.expecting(limit):
            async with asyncio.timeout(tenure.options.statement_timeout_s):
                acquired = await tenure.leases.acquire(
                    tenure.worker_id,
                    limit=limit,
                    ring_start=self._ring.start(),
                    alone_from=None if quarantine is None else quarantine.alone_from,
                    only=tenure.options.only,
                )
            await self._take(acquired)
        if quarantine is not None:
            quarantine.found(acquired.suspects)
        return acquired

    async def _take(self, acquired: Acquired) -> None:
        tenure, chats = self._tenure, acquired.chats
        tenure.counters.acquired += len(chats)
        # Told before anything is driven: what is said of a chat keeps its order.
        await tenure.bus.publish([hint_of_acquiring(c) for c in chats if begun_by_acquiring(c)])
        for chat in chats:
            self._ring.met(chat.owner_id)
            self._runners.start(chat)
        if acquired.unreadable:
            await set_aside(tenure, acquired.unreadable)
