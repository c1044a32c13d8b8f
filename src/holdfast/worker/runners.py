"""One task per driven chat: started when it is acquired, nudged when others change it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from holdfast.domain.chat import Chat
from holdfast.domain.errors import FenceStale, Unavailable
from holdfast.domain.ids import ChatId
from holdfast.ports.bus import Hint
from holdfast.ports.history import Head
from holdfast.turn.nudges import Nudges
from holdfast.worker.releases import Releases
from holdfast.worker.tenure import Tenure, wait_at_most

Drive: TypeAlias = Callable[[Chat, Nudges], Awaitable[Chat]]
"""Drives a chat just acquired until nobody of ours need drive it; returns it as it then is."""

EARLY_HINTS_MAX: Final = 1000
_LOG: Final = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Runner:
    chat: Chat
    nudges: Nudges
    strayed: bool = False
    task: "asyncio.Task[None] | None" = field(default=None, repr=False)


class Runners:
    """The tasks belong to `group`, which outlives the lease: one that will not end after it was
    cancelled is left behind with its stale fence, instead of keeping the worker from going on."""

    def __init__(
        self, tenure: Tenure, drive: Drive, releases: Releases, group: asyncio.TaskGroup
    ) -> None:
        self._tenure = tenure
        self._drive = drive
        self._releases = releases
        self._group = group
        self._all: dict[
            Runner, None
        ] = {}  # in order: a set of them would not repeat in a simulation
        self._driven: dict[ChatId, Runner] = {}
        self._early: dict[ChatId, Hint] | None = None
        self._leaving = asyncio.Event()

    @property
    def room(self) -> int:
        """Below zero if interrupts came on top."""
        return self._tenure.options.capacity - len(self._all) - len(self._releases)

    def is_driven(self, chat_id: ChatId) -> bool:
        return chat_id in self._driven

    @property
    def chats(self) -> dict[ChatId, Chat]:
        """As they were acquired."""
        return {chat_id: runner.chat for chat_id, runner in self._driven.items()}

    @contextmanager
    def expecting(self) -> Generator[None]:
        """While an acquire is under way: hints about chats that are about to be ours are kept."""
        self._early = {}
        try:
            yield
        finally:
            self._early = None

    def start(self, chat: Chat) -> None:
        if self._leaving.is_set():
            self._releases.put(chat)  # the answer to the last acquire before we were drained
            return
        # A chat may have finished, been sent a message and been acquired again before its old
        # runner is done: from here on the new one is meant.
        runner = Runner(chat, Nudges(chat))
        self._all[runner] = None
        self._driven[chat.chat_id] = runner
        self._tenure.counters.driven += 1
        if self._early is not None and (hint := self._early.get(chat.chat_id)) is not None:
            self.hear(hint)
        runner.task = self._group.create_task(self._run(runner), name=f"runner {chat.chat_id}")

    def hear(self, hint: Hint) -> None:
        """Somebody else changed a chat of ours."""
        runner = self._driven.get(hint.chat_id)
        if runner is not None:
            runner.nudges.hear(hint.version, hint.history_version, hint.status)
        elif self._early is not None and len(self._early) < EARLY_HINTS_MAX:
            self._early[hint.chat_id] = hint

    def doubt(self) -> None:
        for runner in self._all:
            runner.nudges.doubt()

    def let_go(self) -> None:
        self._leaving.set()
        for runner in self._all:
            runner.nudges.let_go()

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
                _LOG.warning("chat %s is no longer ours: its runner is stopped", chat_id)
                self._tenure.counters.lost += 1
                runner.task.cancel()

    def asked(self) -> dict[ChatId, Runner]:
        return dict(self._driven)

    async def finished(self, within_s: float) -> None:
        """Until all have ended by themselves, or the time is up."""
        if tasks := self._tasks():
            await asyncio.wait(tasks, timeout=within_s)

    async def stop(self) -> None:
        """At once: whoever drives on after the lease only wastes what it does."""
        tasks = self._tasks()
        for task in tasks:
            task.cancel()
        if tasks:
            _, stuck = await asyncio.wait(tasks, timeout=self._tenure.options.stop_s)
            self._tenure.counters.stuck += len(stuck)
            for task in stuck:
                _LOG.error("%s did not stop", task.get_name())

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
            _LOG.info("dropped: %s", stale)
            return runner.chat
        except Unavailable as error:
            _LOG.warning("chat %s could not be driven: %s", runner.chat.chat_id, error)
        except Exception:  # noqa: BLE001 - whatever it was, it is the chat's
            _LOG.exception("the driver of chat %s failed", runner.chat.chat_id)
        else:
            return chat if chat.worker_id == self._tenure.worker_id else None
        self._tenure.counters.crashed += 1
        # Every acquiring counts as an attempt, so a chat that fails its drivers ends failed (P3);
        # the pause keeps it from getting there in a blink.
        await wait_at_most(self._tenure.options.crash_pause_s, self._leaving)
        return runner.chat
