"""Failpoints at every boundary, put around the ports: production code knows nothing of them.

A boundary is the moment before or after a statement, a tool's effect, a live append or the opening
of a model stream. They are counted from the acquisition of the chat on, and at the one that is
armed the process does what it was told: dies, freezes, or holds its breath.
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Literal, Self
from uuid import UUID

from holdfast.domain.chat import OpenCall
from holdfast.domain.fence import Fence
from holdfast.domain.ids import (
    ChatId,
    ClientKey,
    QueuedId,
    Seq,
    UserId,
    Version,
    VersionStamp,
    WorkerId,
)
from holdfast.domain.messages import Message, MessageBody
from holdfast.domain.outcome import Answer, Outcome
from holdfast.domain.parts import Part
from holdfast.ports.bus import Bus, BusCounters, Episode, Gap, Hint, LivePart, News
from holdfast.ports.history import PAGE_BYTES_MAX, Changes, Head, History, HistoryPage, OlderPath
from holdfast.ports.leases import Acquired, Leases, StoppingChat, Unreadable
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

Act = Literal["kill", "freeze", "hold", "tell"]
Tell = Callable[[dict[str, Any]], None]


@dataclass
class Probes:
    """Counts boundaries, and acts at the one that is armed."""

    tell: Tell
    at: int = 0
    act: Act | None = None
    name: str = ""
    """Only boundaries whose name begins so are counted."""
    reached: int = 0
    counting: bool = False
    may_acquire: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def reach(self, name: str) -> None:
        if not self.counting or not name.startswith(self.name):
            return
        self.reached += 1
        if self.act is None or self.reached != self.at:
            return
        act, self.act = self.act, None
        self.tell({"said": "reached", "name": name, "number": self.at})
        match act:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "freeze":
                os.kill(os.getpid(), signal.SIGSTOP)
            case "hold":
                await self.go_on.wait()
            case "tell":
                pass

    @asynccontextmanager
    async def around(self, name: str) -> AsyncGenerator[None]:
        await self.reach(f"before {name}")
        yield
        await self.reach(f"after {name}")


class ProbedStore:
    def __init__(self, inner: Store, probes: Probes) -> None:
        self._inner = inner
        self._probes = probes

    async def load(self, chat_id: ChatId, asking: LoadQuery = JUST_THE_CHAT) -> Loaded | None:
        async with self._probes.around("load"):
            return await self._inner.load(chat_id, asking)

    async def create(self, outcome: Outcome, keyed: IdempotencyKey | None = None) -> Stamp | None:
        return await self._inner.create(outcome, keyed)

    async def find_created(self, owner_id: UserId, key: ClientKey) -> Created | None:
        return await self._inner.find_created(owner_id, key)

    async def keep_receipt(
        self, chat_id: ChatId, keyed: IdempotencyKey, answer: Answer, stamp: VersionStamp
    ) -> bool:
        return await self._inner.keep_receipt(chat_id, keyed, answer, stamp)

    async def commit(
        self, outcome: Outcome, *, fence: Fence | None = None, keyed: IdempotencyKey | None = None
    ) -> Stamp | None:
        async with self._probes.around("commit"):
            stamp = await self._inner.commit(outcome, fence=fence, keyed=keyed)
            if stamp is not None:
                self._probes.tell(
                    {
                        "said": "committed",
                        "chat": str(outcome.chat.chat_id),
                        "version": outcome.chat.version,
                        "epoch": None if fence is None else fence.epoch,
                    }
                )
            return stamp


class ProbedHistory:
    def __init__(self, inner: History, probes: Probes) -> None:
        self._inner = inner
        self._probes = probes

    async def page(
        self,
        chat_id: ChatId,
        *,
        limit: int,
        before: Seq | None = None,
        as_of: Version | None = None,
        bytes_max: int = PAGE_BYTES_MAX,
    ) -> HistoryPage:
        async with self._probes.around("page"):
            return await self._inner.page(
                chat_id, limit=limit, before=before, as_of=as_of, bytes_max=bytes_max
            )

    async def changes_since(
        self,
        chat_id: ChatId,
        version: Version,
        *,
        limit: int,
        as_of: Version | None = None,
        bytes_max: int = PAGE_BYTES_MAX,
    ) -> Changes | None:
        return await self._inner.changes_since(
            chat_id, version, limit=limit, as_of=as_of, bytes_max=bytes_max
        )

    async def prompt_prefix(self, digest: str) -> str | None:
        return await self._inner.prompt_prefix(digest)

    async def prompt_bytes(self, chat_id: ChatId, *, as_of: Version) -> int:
        return await self._inner.prompt_bytes(chat_id, as_of=as_of)

    async def heads(self, chat_ids: Sequence[ChatId]) -> Sequence[Head]:
        return await self._inner.heads(chat_ids)

    async def moved(
        self, known: Mapping[ChatId, tuple[Version, VersionStamp]]
    ) -> Sequence[tuple[ChatId, Version | None]]:
        return await self._inner.moved(known)

    async def page_after(
        self,
        chat_id: ChatId,
        after: Seq,
        *,
        limit: int,
        as_of: Version | None = None,
        bytes_max: int = PAGE_BYTES_MAX,
    ) -> Sequence[Message]:
        return await self._inner.page_after(
            chat_id, after, limit=limit, as_of=as_of, bytes_max=bytes_max
        )

    async def older_paths(
        self, chat_id: ChatId, *, limit: int, before: Version | None = None
    ) -> Sequence[OlderPath]:
        return await self._inner.older_paths(chat_id, limit=limit, before=before)

    async def queued(self, chat_id: ChatId, queued_id: QueuedId) -> MessageBody | None:
        return await self._inner.queued(chat_id, queued_id)


class ProbedLeases:
    """Acquires nothing before it is allowed to, and says what it acquired."""

    def __init__(self, inner: Leases, probes: Probes) -> None:
        self._inner = inner
        self._probes = probes

    async def join(self, worker_id: WorkerId, *, name: str, ttl: timedelta) -> None:
        await self._inner.join(worker_id, name=name, ttl=ttl)

    async def heartbeat(self, worker_id: WorkerId, *, ttl: timedelta) -> datetime | None:
        return await self._inner.heartbeat(worker_id, ttl=ttl)

    async def acquire(
        self,
        worker_id: WorkerId,
        *,
        limit: int,
        ring_start: UUID,
        alone_from: int | None = None,
        only: Sequence[ChatId] | None = None,
    ) -> Acquired:
        if not self._probes.may_acquire.is_set():
            return Acquired()
        acquired = await self._inner.acquire(
            worker_id, limit=limit, ring_start=ring_start, alone_from=alone_from, only=only
        )
        for chat in acquired.chats:
            self._probes.tell(
                {
                    "said": "acquired",
                    "chat": str(chat.chat_id),
                    "epoch": chat.epoch,
                    "version": chat.version,
                    "status": chat.status.value,
                }
            )
        if acquired.chats:
            self._probes.counting = True
            await self._probes.reach("after acquire")
        return acquired

    async def release(
        self,
        worker_id: WorkerId,
        chat_ids: Sequence[ChatId],
        *,
        undriven: Sequence[ChatId] = (),
    ) -> Sequence[ChatId]:
        return await self._inner.release(worker_id, chat_ids, undriven=undriven)

    async def set_aside(
        self, worker_id: WorkerId, unreadable: Sequence[Unreadable]
    ) -> Sequence[ChatId]:
        return await self._inner.set_aside(worker_id, unreadable)

    async def release_all_but(
        self, worker_id: WorkerId, kept: Sequence[ChatId]
    ) -> Sequence[ChatId]:
        return await self._inner.release_all_but(worker_id, kept)

    async def leave(self, worker_id: WorkerId) -> Sequence[ChatId]:
        return await self._inner.leave(worker_id)

    async def forget(self, *, lapsed_for: timedelta) -> Sequence[WorkerId]:
        return await self._inner.forget(lapsed_for=lapsed_for)

    async def expired_awaits(self, *, limit: int) -> Sequence[ChatId]:
        return await self._inner.expired_awaits(limit=limit)

    async def stopping_chats(self, *, limit: int) -> Sequence[StoppingChat]:
        return await self._inner.stopping_chats(limit=limit)


class ProbedBus:
    def __init__(self, inner: Bus, probes: Probes) -> None:
        self._inner = inner
        self._probes = probes

    @property
    def counters(self) -> BusCounters:
        return self._inner.counters

    async def publish(self, hints: Sequence[Hint]) -> None:
        async with self._probes.around("publish"):
            await self._inner.publish(hints)

    async def append(self, parts: Sequence[LivePart]) -> None:
        async with self._probes.around("append"):
            await self._inner.append(parts)

    def subscribe(self, chat_id: ChatId) -> AbstractAsyncContextManager[AsyncIterator[News]]:
        return self._inner.subscribe(chat_id)

    def subscribe_work(
        self, worker_id: WorkerId
    ) -> AbstractAsyncContextManager[AsyncIterator[Hint | Gap]]:
        return self._inner.subscribe_work(worker_id)

    def subscribe_lists(
        self, user_id: UserId
    ) -> AbstractAsyncContextManager[AsyncIterator[Hint | Gap]]:
        return self._inner.subscribe_lists(user_id)

    async def read_live(
        self, chat_id: ChatId, episode: Episode, after_seq: int = 0
    ) -> Sequence[LivePart]:
        async with self._probes.around("read_live"):
            return await self._inner.read_live(chat_id, episode, after_seq)


class ProbedModels:
    def __init__(self, inner: Models, probes: Probes) -> None:
        self._inner = inner
        self._probes = probes

    def stream(self, ask: Ask) -> ModelStream:
        return ProbedStream(self._inner.stream(ask), self._probes)

    def cost_micros(self, model: str | None, usage: Usage | None, at: datetime) -> int | None:
        return self._inner.cost_micros(model, usage, at)

    def context_window(self, model: str | None) -> int | None:
        return self._inner.context_window(model)

    def route(self, model: str | None) -> Route:
        return self._inner.route(model)


class ProbedStream:
    def __init__(self, inner: ModelStream, probes: Probes) -> None:
        self._inner = inner
        self._probes = probes

    @property
    def opened(self) -> bool:
        return self._inner.opened

    @property
    def final(self) -> Reply | None:
        return self._inner.final

    @property
    def usage(self) -> Usage | None:
        return self._inner.usage

    def partial(self) -> tuple[Part, ...]:
        return self._inner.partial()

    async def __aenter__(self) -> Self:
        async with self._probes.around("opening a stream"):
            await self._inner.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._inner.__aexit__(kind, error, traceback)

    def __aiter__(self) -> AsyncIterator[Event]:
        return aiter(self._inner)


class ProbedTools:
    def __init__(self, inner: Tools, probes: Probes) -> None:
        self._inner = inner
        self._probes = probes

    @property
    def names(self) -> frozenset[str]:
        return self._inner.names

    @asynccontextmanager
    async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
        async with self._inner.open(context) as toolbox:
            yield ProbedToolbox(toolbox, self._probes)


class ProbedToolbox:
    def __init__(self, inner: Toolbox, probes: Probes) -> None:
        self._inner = inner
        self._probes = probes

    @property
    def specs(self) -> dict[str, ToolSpec]:
        return dict(self._inner.specs)

    @property
    def place(self) -> str | None:
        return self._inner.place

    async def sections(self) -> Sequence[str]:
        return await self._inner.sections()

    async def stop(self, call: OpenCall) -> None:
        async with self._probes.around(f"the stop of {call.tool}"):
            await self._inner.stop(call)

    async def run(self, run: Run) -> ToolOutput:
        async with self._probes.around(f"the effect of {run.call.tool}"):
            return await self._inner.run(run)
