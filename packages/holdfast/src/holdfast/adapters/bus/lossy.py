"""The bus itself, the same on every engine: never raises, never waits, heals by itself.

Two tasks, each with a connection of its own: one sends what the outbox holds, a batch per tick; one
receives what this process follows. Each connects again by itself for as long as it takes. While
the engine is away the outbox fills and then drops; after it is back every follower gets a gap.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Any, Final, Self, cast

from holdfast.adapters.bus.engine import Engine, Receiver, Sender
from holdfast.adapters.bus.followers import Watches
from holdfast.adapters.bus.options import BusOptions
from holdfast.adapters.bus.outbox import Drops, Outbox, is_urgent
from holdfast.adapters.bus.wire import RUNNABLE, SETTINGS, user_topic, worker_topic
from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import ChatId, UserId, WorkerId
from holdfast.ports.bus import BusCounters, Episode, Gap, Hint, LivePart, News, SettingsHint
from holdfast.tasks import Crew

SEND_TRIES_MAX: Final = 3
"""A batch that fails so often on connections that work is itself the reason."""
_LOG: Final = logging.getLogger(__name__)


class LossyBus:
    def __init__(
        self, engine: Engine, options: BusOptions, counters: BusCounters | None = None
    ) -> None:
        """`counters`: those that the engine counts in, too."""
        self._engine = engine
        self._options = options
        self._counters = counters or BusCounters()
        drops = Drops(self._counters, lambda: asyncio.get_running_loop().time())
        self._outbox = Outbox(options, drops)
        self._watches = Watches(options, self._counters)
        self._receiver: Receiver | None = None
        self._sending = False
        self._send_tries = 0
        self._connected_before: set[str] = set()
        self._group = Crew()
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def counters(self) -> BusCounters:
        return self._counters

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        for name, serve in (("bus sender", self._send), ("bus receiver", self._receive)):
            task = self._group.keep_up(partial(self._for_ever, serve), name=name)
            self._tasks.append(task)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            # A hand-over sends its last parts here. Without a connection they would be lost.
            if self._sending and kind is None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._options.drain_s):
                        await self._outbox.drained()
        finally:
            self._outbox.close()
            self._watches.close()
            for task in self._tasks:
                task.cancel()
            await self._group.__aexit__(kind, error, traceback)

    async def publish(self, hints: Sequence[Hint]) -> None:
        self._outbox.put(hints)

    async def append(self, parts: Sequence[LivePart]) -> None:
        self._outbox.put(parts)

    @asynccontextmanager
    async def subscribe(self, chat_id: ChatId) -> AsyncGenerator[AsyncIterator[News]]:
        async with self._watches.follow(chat_id) as follower:
            yield cast("AsyncIterator[News]", follower)  # hints about settings have their own topic

    def subscribe_work(
        self, worker_id: WorkerId
    ) -> AbstractAsyncContextManager[AsyncIterator[Hint | Gap]]:
        # Only hints have these topics: wire.decode makes a gap of anything else.
        return cast(
            "AbstractAsyncContextManager[AsyncIterator[Hint | Gap]]",
            self._watches.follow(RUNNABLE, worker_topic(worker_id)),
        )

    def subscribe_lists(
        self, user_id: UserId
    ) -> AbstractAsyncContextManager[AsyncIterator[Hint | Gap]]:
        return cast(
            "AbstractAsyncContextManager[AsyncIterator[Hint | Gap]]",
            self._watches.follow(user_topic(user_id)),
        )

    async def announce_settings(self, hint: SettingsHint) -> None:
        self._outbox.put((hint,))

    def subscribe_settings(
        self,
    ) -> AbstractAsyncContextManager[AsyncIterator[SettingsHint | Gap]]:
        return cast(
            "AbstractAsyncContextManager[AsyncIterator[SettingsHint | Gap]]",
            self._watches.follow(SETTINGS),
        )

    async def read_live(
        self, chat_id: ChatId, episode: Episode, after_seq: int = 0
    ) -> Sequence[LivePart]:
        if self._receiver is None:
            raise Unavailable("the bus is not connected")
        try:
            async with asyncio.timeout(self._options.answer_timeout_s):
                return await self._receiver.read_live(chat_id, episode, after_seq)
        except self._engine.faults as error:
            raise Unavailable(f"the bus did not answer: {_reason(error)}") from error

    async def _for_ever(self, serve: Callable[[], Coroutine[Any, Any, bool]]) -> None:
        """Serve one connection after the other, waiting longer while none comes about.

        No jitter: a cell has tens of replicas, and each asks for two connections every two seconds.
        """
        backoff_s = self._options.backoff_min_s
        while True:
            if await serve():
                backoff_s = self._options.backoff_min_s
            await asyncio.sleep(backoff_s)
            backoff_s = min(backoff_s * 2, self._options.backoff_max_s)

    def _count_connection(self, task: str) -> None:
        self._counters.reconnects += task in self._connected_before
        self._connected_before.add(task)

    async def _send(self) -> bool:
        """Send until the connection is lost; True if there was one."""
        connected = False
        try:
            async with self._engine.connect_sender() as sender:
                connected = self._sending = True
                self._count_connection("sender")
                while True:
                    await self._send_batch(sender)
        except self._engine.faults as error:
            _LOG.info("bus: sending failed: %s", _reason(error), extra={"seldom": "send"})
        finally:
            self._sending = False
        return connected

    async def _send_batch(self, sender: Sender) -> None:
        batch = await self._outbox.take(wait_s=self._options.ping_every_s)
        began_s = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self._options.answer_timeout_s):
                await sender.send(batch)
        except self._engine.faults:
            self._send_tries += 1
            if self._send_tries < SEND_TRIES_MAX:
                self._outbox.put_back(batch)
            else:
                self._send_tries = 0
                self._outbox.drop(batch)
            raise
        except asyncio.CancelledError:
            self._outbox.drop(batch)  # closing; it may have arrived all the same
            raise
        self._send_tries = 0
        parts = sum(isinstance(item, LivePart) for item in batch)
        self._counters.sent_parts += parts
        self._counters.sent_hints += len(batch) - parts
        self._outbox.sent()
        if batch:
            took_s = asyncio.get_running_loop().time() - began_s
            await self._outbox.lull(
                at_least_s=self._options.rest_after(took_s, sum(map(is_urgent, batch))),
                at_most_s=self._options.tick_s,
            )

    async def _receive(self) -> bool:
        """Receive until the connection is lost; True if there was one."""
        connected = False
        try:
            async with self._engine.connect_receiver(self._watches.deliver) as receiver:
                connected = True
                self._count_connection("receiver")
                self._receiver = receiver
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(receiver.run(), name="bus delivery")
                    tasks.create_task(self._watches.serve(receiver), name="bus watches")
        except* self._engine.faults as errors:
            reason = _reason(errors.exceptions[0])
            _LOG.info("bus: receiving failed: %s", reason, extra={"seldom": "receive"})
        finally:
            self._receiver = None
            self._watches.lose()
        return connected


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__
