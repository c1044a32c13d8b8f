"""The reads that the safety poll starts: one per chat, and a bounded number at a time.

The poll does not wait for them. A read that is slow gives its place to the next chat and goes on
beside it, so that chats that are slow to read do not delay the others (R1).
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, TypeAlias

from holdfast.domain.ids import ChatId

SLOW_PER_PLACE: Final = 8
"""Slow reads that may go on beside, for each place. With more of them, chats wait for a place."""

Start: TypeAlias = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
Read: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


class PollReads:
    def __init__(self, start: Start, places: int, slow_s: float) -> None:
        """`start`: begin a task that must not raise. `slow_s`: how long a read keeps its place."""
        self._start = start
        self._places = places
        self._slow_s = slow_s
        self._slow_max = places * SLOW_PER_PLACE
        self._waiting: dict[ChatId, Read] = {}
        self._running: dict[ChatId, asyncio.Task[None]] = {}
        self._timers: dict[asyncio.Task[None], asyncio.TimerHandle] = {}
        """Of the reads that have a place; the others are slow."""

    def __contains__(self, chat_id: ChatId) -> bool:
        return chat_id in self._waiting or chat_id in self._running

    def add(self, chat_id: ChatId, read: Read) -> None:
        """Read the chat as soon as there is a place; nothing if it waits or is being read."""
        if chat_id not in self:
            self._waiting[chat_id] = read
            self._fill_places()

    def forget(self, chat_id: ChatId) -> None:
        """End the read of a chat that is no longer watched."""
        self._waiting.pop(chat_id, None)
        task = self._running.pop(chat_id, None)
        if task is not None:
            task.cancel()

    def _fill_places(self) -> None:
        while self._waiting and len(self._timers) < self._places:
            chat_id = next(iter(self._waiting))
            task = self._start(self._waiting.pop(chat_id)())
            self._running[chat_id] = task
            self._give_place(task)
            task.add_done_callback(partial(self._ended, chat_id))

    def _give_place(self, task: asyncio.Task[None]) -> None:
        loop = asyncio.get_running_loop()
        self._timers[task] = loop.call_later(self._slow_s, self._take_place, task)

    def _take_place(self, task: asyncio.Task[None]) -> None:
        if len(self._running) - len(self._timers) < self._slow_max:
            del self._timers[task]
            self._fill_places()
        else:
            self._give_place(task)

    def _ended(self, chat_id: ChatId, task: asyncio.Task[None]) -> None:
        timer = self._timers.pop(task, None)
        if timer is not None:
            timer.cancel()
        if self._running.get(chat_id) is task:
            del self._running[chat_id]
        self._fill_places()
