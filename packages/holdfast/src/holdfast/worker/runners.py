"""One task per driven chat: started when it is acquired, nudged when others change it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from holdfast.domain.chat import Chat
from holdfast.domain.errors import FenceStale, FormatUnknown, Unavailable
from holdfast.domain.ids import ChatId
from holdfast.ports.bus import GAP, Gap, Hint
from holdfast.ports.history import Head
from holdfast.ports.leases import Unreadable
from holdfast.turn.history_cache import Addition
from holdfast.turn.interrupts import Interrupts
from holdfast.worker.lease_context import LeaseContext, log_failure, set_aside, wait_at_most
from holdfast.worker.releases import Releases

Drive: TypeAlias = Callable[[Chat, Interrupts], Awaitable[Chat]]
"""Drives a chat just acquired until none of our runners need drive it; returns it as it then is."""

EARLY_HINTS_MAX: Final = 1000
_LOG: Final = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Runner:
    chat: Chat
    nudges: Interrupts
    strayed: bool = False
    task: "asyncio.Task[None] | None" = field(default=None, repr=False)


class Runners:
    """The tasks belong to `group`, which outlives the lease: one that will not end after it was
    cancelled is left behind with its stale fence, instead of keeping the worker from going on."""

    def __init__(
        self, tenure: LeaseContext, drive: Drive, releases: Releases, group: asyncio.TaskGroup
    ) -> None:
        self._tenure = tenure
        self._drive = drive
        self._releases = releases
        self._group = group
        self._all: dict[
            Runner, None
        ] = {}  # in order: a set of them would not repeat in a simulation
        self._driven: dict[ChatId, Runner] = {}
        self._coming: dict[ChatId, Hint | Gap | None] = {}
        """Chats that a commit under way gives us, and what was heard of each meanwhile."""
        self._early: dict[ChatId, Hint] | None = None
        self._asked_for = 0
        self._leaving = asyncio.Event()
        self._settled = asyncio.Event()
        self._settled.set()
        self._stopped = False

    @property
    def room(self) -> int:
        """Below zero if interrupts came on top."""
        held = len(self._all) + len(self._coming) + len(self._releases)
        return self._tenure.options.capacity - held

    def is_driven(self, chat_id: ChatId) -> bool:
        return chat_id in self._driven

    def is_coming(self, chat_id: ChatId) -> bool:
        return chat_id in self._coming

    @property
    def kept(self) -> list[ChatId]:
        """What is ours as far as we know, or about to be, or was driven and is to be released."""
        return [*self._driven, *self._coming, *self._releases.waiting]

    def takes(self, chat_id: ChatId, *, spare: int) -> bool:
        """Whether a commit may give us this chat now, and so many places are left for others.

        Not while we give chats back: the statement could come behind the commit, and undo it.
        """
        return (
            self.room > max(spare, self._asked_for)
            and not self._stopped
            and not self._leaving.is_set()
            and not self._tenure.gives_back
            and chat_id not in self._releases
            and chat_id not in self._driven
            and chat_id not in self._coming
        )

    def expect(self, chat_id: ChatId) -> None:
        self._coming[chat_id] = None
        self._settled.clear()

    def settle(self, chat_id: ChatId) -> Hint | Gap | None:
        """Its commit is no longer under way; what was heard of it meanwhile."""
        hint = self._coming.pop(chat_id, None)
        if not self._coming:
            self._settled.set()
            self._tenure.roused.set()  # there may be room
        return hint

    async def settled(self, within_s: float) -> None:
        """Until no commit is under way that gives us a chat, or the time is up."""
        await wait_at_most(within_s, self._settled)

    @property
    def chats(self) -> dict[ChatId, Chat]:
        """As they were acquired."""
        return {chat_id: runner.chat for chat_id, runner in self._driven.items()}

    @contextmanager
    def expecting(self, limit: int) -> Generator[None]:
        """While an acquire of so many is under way: their places are kept, and so are hints about
        chats that are about to be ours."""
        self._early, self._asked_for = {}, limit
        try:
            yield
        finally:
            self._early, self._asked_for = None, 0

    def start(
        self, chat: Chat, told: Addition | None = None, heard: Hint | Gap | None = None
    ) -> None:
        """`told`: what the commit said that gave it to us; `heard`: what others did since."""
        if self._stopped:
            return  # the lease is over, and with it all that was ours
        if self._leaving.is_set():
            # The answer to the last acquire before we were drained.
            self._releases.put(chat, undriven=True)
            return
        # A chat may have finished, been sent a message and been acquired again before its old
        # runner is done: from here on the new one is meant.
        runner = Runner(chat, Interrupts(chat, told))
        self._all[runner] = None
        self._driven[chat.chat_id] = runner
        self._tenure.counters.driven += 1
        if self._early is not None:
            heard = heard or self._early.get(chat.chat_id)
        if isinstance(heard, Gap):
            runner.nudges.doubt()
        elif heard is not None:
            self.hear(heard)
        runner.task = self._group.create_task(self._run(runner), name=f"runner {chat.chat_id}")

    def hear(self, hint: Hint) -> None:
        """Another process, or a person, changed a chat of ours."""
        runner = self._driven.get(hint.chat_id)
        if runner is not None:
            runner.nudges.hear(hint.version, hint.history_version, hint.status)
        elif hint.chat_id in self._coming:
            self._coming[hint.chat_id] = self._coming[hint.chat_id] or hint
        elif self._early is not None and len(self._early) < EARLY_HINTS_MAX:
            self._early[hint.chat_id] = hint

    def doubt(self) -> None:
        self._coming = dict.fromkeys(self._coming, GAP)
        for runner in self._all:
            runner.nudges.doubt()

    def let_go(self, *, after_replies: bool = False) -> None:
        """`after_replies`: those that are under way may come to their end first."""
        self._leaving.set()
        for runner in self._all:
            runner.nudges.let_go(after_reply=after_replies)

    def compare(self, asked: dict[ChatId, Runner], heads: Iterable[Head]) -> None:
        """Hold the truth against who drives: a runner whose chat passed on is first nudged, for it
        may be about to end by itself, and cancelled if it is still there the next time."""
        found = {head.chat_id: head for head in heads}
        for chat_id, runner in asked.items():
            head = found.get(chat_id)
            owner = None if head is None else (head.worker_id, head.epoch)
            if head is not None and owner == (runner.chat.worker_id, runner.chat.epoch):
                runner.strayed = False
                runner.nudges.hear(head.version, head.history_version, head.status)
            elif not runner.strayed:
                runner.strayed = True
                runner.nudges.doubt()
            elif runner.task is not None and runner in self._all:
                _LOG.warning("worker: lease of chat %s was lost; its runner is stopped", chat_id)
                self._tenure.counters.lost += 1
                runner.task.cancel()

    def asked(self) -> dict[ChatId, Runner]:
        return dict(self._driven)

    async def finished(self, within_s: float) -> None:
        """Until all have ended by themselves, or the time is up."""
        if tasks := self._tasks():
            await asyncio.wait(tasks, timeout=within_s)

    async def stop(self) -> None:
        """At once: a runner that drives on after the lease only wastes what it does."""
        self._stopped = True
        tasks = self._tasks()
        for task in tasks:
            task.cancel()
        if tasks:
            _, stuck = await asyncio.wait(tasks, timeout=self._tenure.options.stop_s)
            self._tenure.counters.stuck += len(stuck)
            for task in stuck:
                _LOG.error("worker: task %s did not stop", task.get_name())

    def _tasks(self) -> "list[asyncio.Task[None]]":
        return [runner.task for runner in self._all if runner.task is not None]

    async def _run(self, runner: Runner) -> None:
        """Never raises: a worker does not die of a chat (L55)."""
        ours: Chat | None = runner.chat
        try:
            ours = await self._last_of(runner)
        finally:
            self._all.pop(runner, None)
            if self._driven.get(runner.chat.chat_id) is runner:
                del self._driven[runner.chat.chat_id]
                if ours is not None:
                    self._releases.put(ours)
            self._tenure.counters.driven -= 1
            self._tenure.roused.set()  # there is room

    async def _last_of(self, runner: Runner) -> Chat | None:
        """The chat as its driver left it, if it may still be ours."""
        try:
            chat = await self._drive(runner.chat, runner.nudges)
        except FenceStale as stale:
            # Passed on; or edited under a driver that did not expect it, and still ours. To
            # release what another worker drives does nothing, so this is right in both cases.
            self._tenure.counters.lost += 1
            _LOG.info("worker: runner ended: %s", stale)
            return runner.chat
        except FormatUnknown as error:
            if await self._is_set_aside(runner.chat, error):
                return None
        except Unavailable as error:
            said = "worker: chat %s could not be driven: %s"
            _LOG.warning(said, runner.chat.chat_id, error, extra={"seldom": said})
        except Exception:  # noqa: BLE001 - whatever it was, it is the chat's
            _LOG.exception("worker: driver of chat %s failed", runner.chat.chat_id)
        else:
            return chat if chat.worker_id == self._tenure.worker_id else None
        self._tenure.counters.crashed += 1
        # Every acquiring counts as an attempt, so a chat that fails its drivers ends failed (P3);
        # the pause keeps it from getting there in a blink.
        await wait_at_most(self._tenure.options.crash_pause_s, self._leaving)
        return runner.chat

    async def _is_set_aside(self, chat: Chat, error: FormatUnknown) -> bool:
        """Not a fault of the chat, nor one that another attempt mends."""
        try:
            async with self._tenure.giving_back():
                await set_aside(self._tenure, [Unreadable(chat.chat_id, str(error))])
        except Exception as failed:  # noqa: BLE001 - released instead, and tried again
            log_failure(_LOG, f"worker: chat {chat.chat_id} could not be set aside", failed)
            return False
        return True
