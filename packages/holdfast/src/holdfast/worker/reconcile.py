"""The safety net under the hints, and what any worker tidies up for all."""

import asyncio
import logging
from datetime import timedelta
from typing import Final

from holdfast.chats.answer import expire
from holdfast.chats.changes import ChatWriter, Sweep
from holdfast.chats.steer import stop
from holdfast.domain.audit import AuditAction, AuditEntry
from holdfast.domain.errors import ChatError, FormatUnknown, Unavailable
from holdfast.domain.ids import ChatId
from holdfast.domain.policy import TargetKind
from holdfast.ports.history import History
from holdfast.ports.leases import StoppingChat, Unreadable
from holdfast.worker.lease_context import LeaseContext, every, log_failure, now_s, set_aside
from holdfast.worker.runners import Runners

UNANSWERED_MAX: Final = 3
"""In one sweep. A chat that is locked is one chat's trouble; several are the database's."""
REFUSED_MAX: Final = 10_000
"""Chats that a sweeper remembers as refused. Beyond it a refused chat is not remembered."""
_LOG: Final = logging.getLogger(__name__)


class Reconciler:
    """One query for all driven chats, every few seconds: whatever the hints lost is found here."""

    def __init__(self, tenure: LeaseContext, history: History, runners: Runners) -> None:
        self._tenure = tenure
        self._history = history
        self._runners = runners

    async def run(self) -> None:
        await every(self._tenure.options.sync_every_s, self._tenure.chance, "sync", self._sync)

    async def _sync(self) -> None:
        self._tenure.counters.syncs += 1
        async with asyncio.timeout(self._tenure.options.statement_timeout_s):
            if asked := self._runners.asked():
                self._runners.compare(asked, await self._history.heads(list(asked)))
            if now_s() < self._tenure.doubtful_until_s:
                await self._release_strangers()

    async def _release_strangers(self) -> None:
        """An acquire, or a commit that gave us a chat, took effect and its answer was lost: the
        chats are ours, our lease is alive, and no runner drives them. Without this they would
        wait for as long as we live (S7)."""
        tenure = self._tenure
        async with tenure.giving_back():
            released = await tenure.leases.release_all_but(tenure.worker_id, self._runners.kept)
        if released:
            _LOG.warning(
                "worker: released %d chats that were acquired without an answer",
                len(released),
            )
            tenure.counters.released += len(released)


class Sweeper:
    """Fifty replicas do this, each at times of its own; the first one has done it for all."""

    def __init__(self, tenure: LeaseContext, ledger: ChatWriter) -> None:
        self._tenure = tenure
        self._ledger = ledger
        self._refused: dict[ChatId, int] = {}
        """Chats whose wait could not be ended, by the number of the sweep that last tried."""
        self._sweeps = 0

    async def expire(self) -> None:
        options = self._tenure.options
        await every(options.sweep_every_s, self._tenure.chance, "sweep", self._expire)

    async def stop(self) -> None:
        options = self._tenure.options
        await every(options.stop_every_s, self._tenure.chance, "stopping", self._stop)

    async def forget(self) -> None:
        options = self._tenure.options
        await every(options.forget_every_s, self._tenure.chance, "forgetting", self._forget)

    async def _expire(self) -> None:
        """End the waits whose deadline has passed, on the database's clock (L84). An error of one
        chat does not delay the others. A chat that cannot be read is set aside, and a chat that was
        refused comes after all others: else such chats, if their deadlines are the oldest, would
        fill every sweep."""
        unanswered = 0
        for chat_id in await self._due():
            try:
                await self._end_wait(chat_id)
            except Exception as error:
                self._refuse(chat_id)
                log_failure(_LOG, f"sweep: the wait of chat {chat_id} was not ended", error)
                unanswered += isinstance(error, Unavailable)
                if unanswered >= UNANSWERED_MAX:
                    raise  # the database is away: the next sweep asks again

    async def _due(self) -> list[ChatId]:
        """The oldest waits that were not refused so far; then those refused, the least recently
        tried first. The question is for as many more as were refused, so that there is room for
        the others in its answer."""
        options, refused = self._tenure.options, self._refused
        limit = options.sweep_max + len(refused)
        async with asyncio.timeout(options.statement_timeout_s):
            expired = await self._tenure.leases.expired_awaits(limit=limit)
        self._sweeps += 1
        for ended in refused.keys() - set(expired):
            del refused[ended]
        return sorted(expired, key=lambda chat_id: refused.get(chat_id, 0))[: options.sweep_max]

    def _refuse(self, chat_id: ChatId) -> None:
        if chat_id in self._refused or len(self._refused) < REFUSED_MAX:
            self._refused[chat_id] = self._sweeps

    async def _end_wait(self, chat_id: ChatId) -> None:
        try:
            await expire(self._ledger, chat_id)
        except ChatError as refused:
            self._refuse(chat_id)
            # The call was answered, or another worker was first.
            _LOG.info("worker: overdue call has already ended: %s", refused)
        except FormatUnknown as error:
            async with self._tenure.owning:
                await set_aside(self._tenure, [Unreadable(chat_id, str(error))])
        else:
            self._tenure.counters.expired += 1

    async def _stop(self) -> None:
        """End the turns of disabled users, whose queues are paused by that. An error of one chat
        does not delay the others."""
        options, leases = self._tenure.options, self._tenure.leases
        async with asyncio.timeout(options.statement_timeout_s):
            stopping = await leases.stopping_chats(limit=options.sweep_max)
        for chat in stopping:
            try:
                await stop(self._ledger, Sweep(), chat.chat_id, _owner_disabled(chat))
            except Exception as error:  # noqa: BLE001 - the next sweep tries again
                name = f"sweep: chat {chat.chat_id} of a disabled user was not stopped"
                log_failure(_LOG, name, error)
            else:
                self._tenure.counters.stopped += 1

    async def _forget(self) -> None:
        options = self._tenure.options
        async with asyncio.timeout(options.statement_timeout_s):
            gone = await self._tenure.leases.forget(
                lapsed_for=timedelta(seconds=options.forget_after_s)
            )
        self._tenure.counters.forgotten += len(gone)


def _owner_disabled(chat: StoppingChat) -> AuditEntry:
    return AuditEntry(
        org_id=chat.org_id,
        at=chat.seen_at,
        action=AuditAction.CHAT_STOPPED,
        actor_id=None,
        target_kind=TargetKind.CHAT,
        target_id=chat.chat_id,
        detail={"reason": "its owner was disabled"},
    )
