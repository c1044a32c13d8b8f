"""Ways to make the bus and the store worse, and to count what is read of them."""

import asyncio
import random
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from holdfast.domain.errors import Unavailable
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
from holdfast.ports.bus import Bus, BusCounters, Episode, Gap, Hint, LivePart, News
from holdfast.ports.history import PAGE_BYTES_MAX, Changes, Head, History, HistoryPage, OlderPath
from holdfast.ports.store import (
    JUST_THE_CHAT,
    Created,
    IdempotencyKey,
    Loaded,
    LoadQuery,
    Stamp,
    Store,
)


class WatchedStore:
    """A store and a history that count what is read, and can be made to fail or to wait."""

    def __init__(self, store: Store, history: History) -> None:
        self._store = store
        self._history = history
        self.reads = 0
        self.heads_read = 0
        self.away = False
        self.after_load: Callable[[], Awaitable[None]] | None = None

    def _read(self) -> None:
        self._answer()
        self.reads += 1

    def _answer(self) -> None:
        if self.away:
            raise Unavailable("the test took the store away")

    async def load(self, chat_id: ChatId, asking: LoadQuery = JUST_THE_CHAT) -> Loaded | None:
        self._read()
        loaded = await self._store.load(chat_id, asking)
        if self.after_load is not None:
            hook, self.after_load = self.after_load, None
            await hook()
        return loaded

    async def create(self, outcome: Outcome, keyed: IdempotencyKey | None = None) -> Stamp | None:
        return await self._store.create(outcome, keyed)

    async def find_created(self, owner_id: UserId, key: ClientKey) -> Created | None:
        return await self._store.find_created(owner_id, key)

    async def keep_receipt(
        self, chat_id: ChatId, keyed: IdempotencyKey, answer: Answer, stamp: VersionStamp
    ) -> bool:
        return await self._store.keep_receipt(chat_id, keyed, answer, stamp)

    async def commit(
        self, outcome: Outcome, *, fence: Fence | None = None, keyed: IdempotencyKey | None = None
    ) -> Stamp | None:
        return await self._store.commit(outcome, fence=fence, keyed=keyed)

    async def page(
        self,
        chat_id: ChatId,
        *,
        limit: int,
        before: Seq | None = None,
        as_of: Version | None = None,
        bytes_max: int = PAGE_BYTES_MAX,
    ) -> HistoryPage:
        self._read()
        return await self._history.page(
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
        self._read()
        return await self._history.changes_since(
            chat_id, version, limit=limit, as_of=as_of, bytes_max=bytes_max
        )

    async def prompt_prefix(self, digest: str) -> str | None:
        self._read()
        return await self._history.prompt_prefix(digest)

    async def prompt_bytes(self, chat_id: ChatId, *, as_of: Version) -> int:
        self._read()
        return await self._history.prompt_bytes(chat_id, as_of=as_of)

    async def heads(self, chat_ids: Sequence[ChatId]) -> Sequence[Head]:
        self._answer()
        self.heads_read += 1
        return await self._history.heads(chat_ids)

    async def moved(
        self, known: Mapping[ChatId, tuple[Version, VersionStamp]]
    ) -> Sequence[tuple[ChatId, Version | None]]:
        self._answer()
        self.heads_read += 1
        return await self._history.moved(known)

    async def page_after(
        self,
        chat_id: ChatId,
        after: Seq,
        *,
        limit: int,
        as_of: Version | None = None,
        bytes_max: int = PAGE_BYTES_MAX,
    ) -> Sequence[Message]:
        return await self._history.page_after(
            chat_id, after, limit=limit, as_of=as_of, bytes_max=bytes_max
        )

    async def older_paths(
        self, chat_id: ChatId, *, limit: int, before: Version | None = None
    ) -> Sequence[OlderPath]:
        return await self._history.older_paths(chat_id, limit=limit, before=before)

    async def queued(self, chat_id: ChatId, queued_id: QueuedId) -> MessageBody | None:
        return await self._history.queued(chat_id, queued_id)


@dataclass(frozen=True)
class Weather:
    """How likely it is that something said on the bus is lost, comes twice, or comes late."""

    lost: float = 0.0
    twice: float = 0.0
    late: float = 0.0


class RoughBus:
    """A bus that loses, doubles and reorders what is heard, from a seed, and says nothing of it."""

    def __init__(self, bus: Bus, weather: Weather, seed: int = 0) -> None:
        self._bus = bus
        self._random = random.Random(seed)
        self.weather = weather
        self.given = 0
        """Hints and parts to be sent so far."""
        self.lost = 0
        self.hangs = False
        """What was said live is asked for, and never answered."""

    @property
    def counters(self) -> BusCounters:
        return self._bus.counters

    async def publish(self, hints: Sequence[Hint]) -> None:
        self.given += len(hints)
        await self._bus.publish(hints)

    async def append(self, parts: Sequence[LivePart]) -> None:
        self.given += len(parts)
        await self._bus.append(parts)

    @asynccontextmanager
    async def subscribe(self, chat_id: ChatId) -> AsyncGenerator[AsyncIterator[News]]:
        async with self._bus.subscribe(chat_id) as news:
            yield _RoughNews(news, self._random, self)

    def subscribe_work(
        self, worker_id: WorkerId
    ) -> AbstractAsyncContextManager[AsyncIterator[Hint | Gap]]:
        return self._bus.subscribe_work(worker_id)

    def subscribe_lists(
        self, user_id: UserId
    ) -> AbstractAsyncContextManager[AsyncIterator[Hint | Gap]]:
        return self._bus.subscribe_lists(user_id)

    async def read_live(
        self, chat_id: ChatId, episode: Episode, after_seq: int = 0
    ) -> Sequence[LivePart]:
        if self.hangs:
            await asyncio.Event().wait()
        return await self._bus.read_live(chat_id, episode, after_seq)


class _RoughNews:
    """Not a generator: one whose `anext` is cancelled would be at its end."""

    def __init__(self, news: AsyncIterator[News], chance: random.Random, bus: RoughBus) -> None:
        self._news = news
        self._random = chance
        self._bus = bus
        self._due: deque[News] = deque()
        self._late: list[News] = []

    def __aiter__(self) -> "_RoughNews":
        return self

    async def __anext__(self) -> News:
        while not self._due:
            news = await anext(self._news)
            weather = self._bus.weather
            if self._random.random() < weather.lost:
                self._bus.lost += 1
                continue
            if self._random.random() < weather.late:
                self._late.append(news)
                continue
            self._due.append(news)
            if self._random.random() < weather.twice:
                self._due.append(news)
            self._random.shuffle(self._late)
            self._due.extend(self._late)
            self._late.clear()
        return self._due.popleft()
