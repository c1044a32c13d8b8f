"""Chats that keep losing their workers are driven by processes of their own.

A chat that kills its process costs each chat driven beside it an attempt. After a few takeovers in
a row it is therefore no longer acquired with others. The count does not tell which chat kills:
those that were driven beside it were taken over as often. So the suspects are divided among a few
processes. Those that lose their process are divided again, until the one that kills is alone and
spends its attempts there.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol, TypeAlias

from holdfast.domain.ids import ChatId
from holdfast.ports.leases import Suspect
from holdfast.worker.lease_context import Chance, log_failure, now_s
from holdfast.worker.options import WorkerCounters

QUARANTINE_AFTER: Final = 3
"""From this takeover in a row on a chat is a suspect."""
PROCESSES_MAX: Final = 3
"""Started at once by one worker; and so many groups the suspects are divided into."""
PROVEN_S: Final = 60.0
"""A process that has lived so long takes no place of the next ones: a chat that kills does so soon,
and suspects must not wait for the end of long turns."""
ALIVE_MAX: Final = 12
"""Processes of one worker, proven ones included."""
PAUSE_S: Final = 0.5
PAUSE_S_MAX: Final = 60.0
"""Up to so long for each takeover before suspects are driven: not every replica that finds them
should start processes, and a chat that kills without an end should not do so without a pause."""
IN_VAIN_MAX: Final = 3
CLOSED_S: Final = 600.0
"""After so many rounds in which no process acquired what it was started for, suspects are acquired
as all others for a while: a runnable chat must be driven, also where no process can start (S7)."""
TOLD_MAX: Final = 10
"""Chats of one process that the log names."""
_LOG: Final = logging.getLogger(__name__)


class AloneProcess(Protocol):
    """A process that drives some chats, and ends with them, or with us."""

    async def ended(self) -> int:
        """Until it has; its exit code, below zero the signal that killed it."""
        ...

    def drain(self) -> None:
        """Hand over what is driven, and end. Returns at once."""
        ...

    def kill(self) -> None: ...


StartAlone: TypeAlias = Callable[[Sequence[ChatId]], Awaitable[AloneProcess]]
"""Start a process that drives these chats, and none else."""


class Quarantine:
    """Of one worker; outlives its leases."""

    def __init__(
        self,
        start: StartAlone,
        group: asyncio.TaskGroup,
        chance: Chance,
        counters: WorkerCounters,
    ) -> None:
        self._start = start
        self._group = group
        self._chance = chance
        self._counters = counters
        self._processes: dict[AloneProcess, None] = {}
        self._tasks: dict[asyncio.Task[None], float] = {}
        """When each began."""
        self._driven: set[ChatId] = set()
        self._tried: dict[ChatId, int] = {}
        """The takeover for which a process was started last."""
        self._due_s: float | None = None
        self._in_vain = 0
        self._closed_until_s = 0.0
        self._draining_since_s: float | None = None

    @property
    def alone_from(self) -> int | None:
        """The takeover from which on a chat is left to us; None: acquire it."""
        return None if now_s() < self._closed_until_s else QUARANTINE_AFTER

    def found(self, suspects: Sequence[Suspect]) -> None:
        """Suspects that no live worker drives. Processes are started for them if it is time."""
        waiting = [each for each in suspects if each.chat_id not in self._driven]
        if not waiting:
            self._due_s = None  # another replica drives them: the next pause is a whole one
            return
        free = self._free
        if free <= 0 or self._draining_since_s is not None:
            return
        level = min(each.takeovers for each in waiting)
        if self._due_s is None:
            pause_s = min(PAUSE_S * level, PAUSE_S_MAX)
            self._due_s = now_s() + pause_s * self._chance()
        if now_s() < self._due_s:
            return
        self._due_s = None
        if self._is_in_vain(waiting):
            return
        # Those that were taken over more often are not mixed with the others: one of them kills.
        same = [each for each in waiting if each.takeovers == level]
        for group in divided(same)[:free]:
            self._begin(group)

    @property
    def _free(self) -> int:
        unproven = sum(now_s() - began_s < PROVEN_S for began_s in self._tasks.values())
        return min(PROCESSES_MAX - unproven, ALIVE_MAX - len(self._tasks))

    def drain(self) -> None:
        """Start no more; the processes hand over and end."""
        if self._draining_since_s is None:
            self._draining_since_s = now_s()
        for process in self._processes:
            process.drain()

    async def finished(self, within_s: float) -> None:
        """Until all have ended, or this time has passed since they were drained."""
        since_s = self._draining_since_s
        if not self._tasks or since_s is None:
            return
        left_s = max(0.0, since_s + within_s - now_s())
        await asyncio.wait(list(self._tasks), timeout=left_s)
        self.stop()

    def stop(self) -> None:
        """At once; no process is started afterwards."""
        if self._draining_since_s is None:
            self._draining_since_s = now_s()
        for task in self._tasks:
            task.cancel()

    def _is_in_vain(self, waiting: Sequence[Suspect]) -> bool:
        """Whether processes are of no use here: they end before they acquire anything."""
        tried = [each for each in waiting if each.chat_id in self._tried]
        if any(each.takeovers == self._tried[each.chat_id] for each in tried):
            self._in_vain += 1
        elif tried:
            self._in_vain = 0
        # What neither waits nor is driven needs no memory.
        kept = self._driven.union(each.chat_id for each in waiting)
        self._tried = {chat_id: at for chat_id, at in self._tried.items() if chat_id in kept}
        if self._in_vain < IN_VAIN_MAX:
            return False
        _LOG.error(
            "worker: isolated processes end before they acquire a chat; chats that were taken over"
            " often are driven by ordinary workers for %d s",
            CLOSED_S,
        )
        self._in_vain, self._closed_until_s = 0, now_s() + CLOSED_S
        return True

    def _begin(self, suspects: Sequence[Suspect]) -> None:
        for each in suspects[:TOLD_MAX]:
            _LOG.warning(
                "worker: chat %s was taken over %d times in a row; an isolated process drives it%s",
                each.chat_id,
                each.takeovers,
                "" if len(suspects) == 1 else f", with {len(suspects) - 1} such chats",
            )
        for each in suspects:
            self._tried[each.chat_id] = each.takeovers
            self._driven.add(each.chat_id)
        self._counters.alone_started += 1
        chat_ids = [each.chat_id for each in suspects]
        task = self._group.create_task(self._run(chat_ids), name="worker alone")
        self._tasks[task] = now_s()
        task.add_done_callback(lambda _: self._forget(task, chat_ids))

    def _forget(self, task: "asyncio.Task[None]", chat_ids: Sequence[ChatId]) -> None:
        """Also if it was cancelled before its first step."""
        self._tasks.pop(task, None)
        self._driven.difference_update(chat_ids)

    async def _run(self, chat_ids: Sequence[ChatId]) -> None:
        try:
            process = await self._start(chat_ids)
        except OSError as error:
            self._counters.alone_died += 1
            log_failure(_LOG, "worker: an isolated process could not be started", error)
            return
        self._processes[process] = None
        try:
            if self._draining_since_s is not None:
                process.drain()
            code = await process.ended()
        except asyncio.CancelledError:
            process.kill()
            raise
        finally:
            del self._processes[process]
        if code != 0:
            self._counters.alone_died += 1
            _LOG.warning(
                "worker: the isolated process of chat %s ended with code %d",
                ", ".join(str(each) for each in chat_ids[:TOLD_MAX]),
                code,
            )


def divided(suspects: Sequence[Suspect]) -> list[Sequence[Suspect]]:
    """Into at most `PROCESSES_MAX` groups of nearly the same size."""
    size = -(-len(suspects) // PROCESSES_MAX)
    return [suspects[at : at + size] for at in range(0, len(suspects), size)]
