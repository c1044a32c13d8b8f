"""Ports with a watch beside them: how long things take, and which chat a line in the log is about.

Wrappers, so that neither the application nor the adapters know of metrics. Nothing is done per
event of a stream.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Self, TypeAlias

from holdfast.domain.chat import Chat, OpenCall
from holdfast.domain.errors import Contended, Unavailable
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId, ClientKey, UserId, VersionStamp
from holdfast.domain.outcome import Answer, Outcome
from holdfast.domain.parts import Part
from holdfast.ports.models import Ask, Event, Models, ModelStream, Reply, Route, Usage
from holdfast.ports.store import (
    JUST_THE_CHAT,
    Created,
    IdempotencyKey,
    Loaded,
    LoadQuery,
    Stamp,
    Store,
)
from holdfast.ports.tools import Run, Toolbox, ToolContext, ToolOutput, Tools, ToolSpec
from holdfast.telemetry import metrics
from holdfast.telemetry.logs import bound
from holdfast.telemetry.metrics import Metrics, Observe
from holdfast.turn.interrupts import Interrupts
from holdfast.worker.health import CommitHealth

Drive: TypeAlias = Callable[[Chat, Interrupts], Awaitable[Chat]]


@dataclass(frozen=True, slots=True)
class Watch:
    """Where to tell what was seen."""

    metrics: Metrics

    def store(self, store: Store, health: CommitHealth) -> Store:
        return ObservedStore(store, self.metrics.observe(metrics.COMMIT_S), health)

    def models(self, models: Models) -> Models:
        first_part = self.metrics.observe(metrics.FIRST_PART_S)
        return ObservedModels(models, first_part, self.metrics.observe(metrics.REPLY_S))

    def tools(self, tools: Tools) -> Tools:
        return ObservedTools(tools, self.metrics.observe(metrics.TOOL_S))

    def drive(self, drive: Drive) -> Drive:
        return observed_drive(drive, self.metrics.observe(metrics.DRIVE_S))


def observed_drive(drive: Drive, observe: Observe) -> Drive:
    """What is logged while a chat is driven says which, by whom, and in which turn."""

    async def driving(chat: Chat, nudges: Interrupts) -> Chat:
        began_s = _now_s()
        # A turn has no name of its own: it is the history that it was acquired to continue.
        turn = f"{chat.history_version}.{chat.epoch}"
        with bound(chat_id=chat.chat_id, worker_id=chat.worker_id, turn=turn):
            try:
                return await drive(chat, nudges)
            finally:
                observe(_now_s() - began_s)

    return driving


class ObservedStore:
    def __init__(self, store: Store, observe: Observe, health: CommitHealth) -> None:
        self._store = store
        self._observe = observe
        self._health = health

    async def load(self, chat_id: ChatId, asking: LoadQuery = JUST_THE_CHAT) -> Loaded | None:
        try:
            return await self._store.load(chat_id, asking)
        except Unavailable:
            self._health.read_failed()
            raise

    async def create(self, outcome: Outcome, keyed: IdempotencyKey | None = None) -> Stamp | None:
        return await self._timed(self._store.create(outcome, keyed))

    async def find_created(self, owner_id: UserId, key: ClientKey) -> Created | None:
        return await self._store.find_created(owner_id, key)

    async def keep_receipt(
        self, chat_id: ChatId, keyed: IdempotencyKey, answer: Answer, stamp: VersionStamp
    ) -> bool:
        return await self._store.keep_receipt(chat_id, keyed, answer, stamp)

    async def commit(
        self, outcome: Outcome, *, fence: Fence | None = None, keyed: IdempotencyKey | None = None
    ) -> Stamp | None:
        return await self._timed(self._store.commit(outcome, fence=fence, keyed=keyed))

    async def _timed(self, commit: Awaitable[Stamp | None]) -> Stamp | None:
        began_s = _now_s()
        try:
            stamp = await commit
        except Contended:
            raise  # one chat's: says nothing about the others
        except Unavailable:
            self._health.commit_failed()
            raise
        else:
            self._health.commit_answered()
            return stamp
        finally:
            self._observe(_now_s() - began_s)


class ObservedModels:
    def __init__(self, models: Models, first_part: Observe, whole: Observe) -> None:
        self._models = models
        self._first_part = first_part
        self._whole = whole

    def stream(self, ask: Ask) -> ModelStream:
        return ObservedStream(self._models.stream(ask), self._first_part, self._whole)

    def cost_micros(self, model: str | None, usage: Usage | None, at: datetime) -> int | None:
        return self._models.cost_micros(model, usage, at)

    def context_window(self, model: str | None) -> int | None:
        return self._models.context_window(model)

    def route(self, model: str | None) -> Route:
        return self._models.route(model)


class ObservedStream:
    def __init__(self, stream: ModelStream, first_part: Observe, whole: Observe) -> None:
        self._stream = stream
        self._first_part = first_part
        self._whole = whole
        self._began_s = 0.0

    @property
    def opened(self) -> bool:
        return self._stream.opened

    @property
    def final(self) -> Reply | None:
        return self._stream.final

    @property
    def usage(self) -> Usage | None:
        return self._stream.usage

    def partial(self) -> tuple[Part, ...]:
        return self._stream.partial()

    async def __aenter__(self) -> Self:
        self._began_s = _now_s()
        try:
            await self._stream.__aenter__()  # entered once the first part has begun
        except BaseException:
            self._whole(_now_s() - self._began_s)
            raise
        self._first_part(_now_s() - self._began_s)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self._stream.__aexit__(kind, error, traceback)
        finally:
            self._whole(_now_s() - self._began_s)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._stream.__aiter__()


class ObservedTools:
    def __init__(self, tools: Tools, observe: Observe) -> None:
        self._tools = tools
        self._observe = observe

    @property
    def names(self) -> frozenset[str]:
        return self._tools.names

    def open(self, context: ToolContext) -> AbstractAsyncContextManager[Toolbox]:
        return self._opened(context)

    @asynccontextmanager
    async def _opened(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
        async with self._tools.open(context) as toolbox:
            yield ObservedToolbox(toolbox, self._observe)


class ObservedToolbox:
    def __init__(self, toolbox: Toolbox, observe: Observe) -> None:
        self._toolbox = toolbox
        self._observe = observe

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        return self._toolbox.specs

    @property
    def place(self) -> str | None:
        return self._toolbox.place

    async def sections(self) -> Sequence[str]:
        return await self._toolbox.sections()

    async def run(self, run: Run) -> ToolOutput:
        began_s = _now_s()
        with bound(call_id=run.call.call_id):
            try:
                return await self._toolbox.run(run)
            finally:
                self._observe(_now_s() - began_s)

    async def stop(self, call: OpenCall) -> None:
        with bound(call_id=call.call_id):
            await self._toolbox.stop(call)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
