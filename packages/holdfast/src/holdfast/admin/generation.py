"""When this process reads settings again, and how new those are that it knows.

    change ──▶ rows, generation + 1, and the fence if it forbids something: one statement
                 ├─▶ hint ──▶ every process reads                                   milliseconds
                 └─▶ commits, loads, acquires and heartbeats return the generation
                        └─▶ higher than what is known: read before the next attempt     no bus

A process that does nothing has nothing to apply: a poll finds what it missed. A hard stop does not
rest on this process: `BeginAttempt` names the generation that is applied here, and the database
refuses it below the fence of the organisation (ADR 0056).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from holdfast.domain.errors import Unavailable
from holdfast.ports.bus import Gap, SettingsBus, SettingsHint
from holdfast.ports.generation import ReadGeneration

RETRY_S: Final = 1.0
_LOG: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class GenerationCounters:
    """Why settings were read: `hints`, `polls`, or because a statement `returned` a generation."""

    hints: int = 0
    polls: int = 0
    returned: int = 0


class SettingsReload:
    """One per process: a `SettingsGeneration`. `poll_every_s`: how late an idle process notices a
    change whose hint was lost."""

    def __init__(
        self, read_generation: ReadGeneration, bus: SettingsBus, *, poll_every_s: float
    ) -> None:
        self.counters = GenerationCounters()
        self._read_generation = read_generation
        self._bus = bus
        self._poll_every_s = poll_every_s
        self._reads: list[Callable[[], Awaitable[None]]] = []
        self._applied = self._seen = 0
        self._reading = asyncio.Lock()
        self._behind = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def also(self, read: Callable[[], Awaitable[None]]) -> None:
        """Something that is kept in memory, and how to read what is newer. One statement if nothing
        is."""
        self._reads.append(read)

    @property
    def applied(self) -> int:
        return self._applied

    def saw(self, generation: int) -> None:
        if generation == self._applied:
            return
        # A lower one was overtaken, or the database has lost commits: only a read can tell.
        self._seen = max(self._seen, generation)
        with suppress(RuntimeError):  # a heartbeat may end after the loop
            self._loop.call_soon_threadsafe(self._behind.set)

    async def catch_up(self) -> None:
        if self._seen <= self._applied:
            return
        async with self._reading:
            if self._seen > self._applied:
                await self._read(always=False)

    async def refresh(self, *, always: bool = False) -> None:
        """`always`: also if the generation is the same: an older version counts none."""
        async with self._reading:
            await self._read(always=always)

    async def _read(self, *, always: bool) -> None:
        self._behind.clear()
        seen = self._seen
        generation = await self._read_generation()
        if always or generation != self._applied:
            for read in self._reads:
                await read()
        # What was read may be newer. Lower than before: the database has lost commits.
        self._applied = generation
        if self._seen == seen:
            self._seen = generation

    async def keep(self) -> None:
        """Read on every hint, when behind, and on every poll, as long as the process lives."""
        async with self._bus.subscribe_settings() as hints, asyncio.TaskGroup() as tasks:
            catching_up = tasks.create_task(self._keep_catching_up(), name="settings generation")
            while await self._wait(hints):
                await self._try(always=True)
            catching_up.cancel()

    async def _keep_catching_up(self) -> None:
        while True:
            await self._behind.wait()
            self.counters.returned += 1
            if not await self._try(always=False):
                await asyncio.sleep(RETRY_S)
                self._behind.set()

    async def _try(self, *, always: bool) -> bool:
        try:
            await self.refresh(always=always)
        except Unavailable as error:
            _LOG.warning("settings: they could not be read: %s", error)
            return False
        return True

    async def _wait(self, hints: AsyncIterator[SettingsHint | Gap]) -> bool:
        """Until there is a reason to read; False: the bus is closed."""
        try:
            async with asyncio.timeout(self._poll_every_s):
                await anext(hints)
        except TimeoutError:
            self.counters.polls += 1
        except StopAsyncIteration:
            return False
        else:
            self.counters.hints += 1
        return True
