"""One owner with five hundred waiting chats does not keep nine others with five each waiting.

Every reply takes the same time, so that a wait is as long as places are given to others meanwhile.
Those are counted: seconds would say how busy the machine is.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from statistics import fmean
from uuid import UUID

import pytest

from holdfast.bootstrap import Adapters, Server
from holdfast.domain.ids import ChatId, UserId
from holdfast.ports.models import NO_ROUTE, Ask, Route, TextDelta, Usage
from tests.support.builders import user
from tests.support.buses import until
from tests.support.replica import Replicas, add_owners, ask, replicas_apart
from tests.support.scripted import End, Hold, ScriptedStream

REPLY_S = 0.25
CAPACITY = 16
CROWD = 500
OTHERS, CHATS_EACH = 9, 5
RATIO_MAX = 2.0
GREEDY = UserId(UUID(int=1_000))
"""Before all others in every order of identifiers."""


class Slow:
    """A model whose every reply takes the same time, and which knows who was given a place when."""

    def __init__(self) -> None:
        self.places: dict[ChatId, int] = {}
        """By number, as they were given."""

    def stream(self, ask: Ask) -> ScriptedStream:
        loop, hold = asyncio.get_running_loop(), Hold()
        self.places.setdefault(ask.chat_id, len(self.places) + 1)
        loop.call_later(REPLY_S, hold.until.set)
        return ScriptedStream([TextDelta(0, "well"), hold, End()])

    def cost_micros(self, model: str | None, usage: Usage | None, at: datetime) -> int | None:
        return None

    def context_window(self, model: str | None) -> int | None:
        return None

    def route(self, model: str | None) -> Route:
        return NO_ROUTE


@dataclass
class Crowd:
    """A replica that takes messages, and workers of a small capacity between them."""

    cell: Replicas
    api: Server
    workers: int
    slow: Slow = field(default_factory=Slow)

    def around(self, adapters: Adapters) -> Adapters:
        return replace(adapters, models=self.slow)

    @asynccontextmanager
    async def working(self) -> AsyncGenerator[list[Server]]:
        capacity = CAPACITY // self.workers
        async with AsyncExitStack() as stack:
            yield [
                await stack.enter_async_context(
                    self.cell.open(
                        self.around, within_s=100, role="worker", worker_capacity=capacity
                    )
                )
                for _ in range(self.workers)
            ]

    async def ask_all(self, owners: Sequence[UserId], each: int) -> dict[ChatId, int]:
        """How many places had been given when each of these chats was accepted."""
        room = asyncio.Semaphore(8)

        async def one(owner: UserId) -> tuple[ChatId, int]:
            async with room:
                chat = await ask(self.api, user(), owner=owner)
                return chat.chat_id, len(self.slow.places)

        async with asyncio.TaskGroup() as group:
            # Round by round: nobody's chats are all older than everybody else's.
            tasks = [group.create_task(one(owner)) for _ in range(each) for owner in owners]
        return dict(task.result() for task in tasks)

    async def waits(self, accepted: dict[ChatId, int]) -> list[int]:
        """How many places were given until each of these had its own, that included."""
        places = self.slow.places
        await until(lambda: accepted.keys() <= places.keys())
        return sorted(max(1, places[i] - before) for i, before in accepted.items())


@asynccontextmanager
async def crowd(template: str, workers: int) -> AsyncGenerator[Crowd]:
    async with replicas_apart(template) as cell, cell.open(role="api", within_s=100) as api:
        yield Crowd(cell, api, workers)


async def behind(crowd: Crowd) -> list[int]:
    """How long the chats of the nine wait behind a crowd that fills every place."""
    others = [UserId(UUID(int=2_000 + number)) for number in range(OTHERS)]
    await add_owners(crowd.cell.database_url, GREEDY, *others)
    greedy = await crowd.ask_all([GREEDY], CROWD)
    async with crowd.working() as workers:
        await _driven(workers, CAPACITY)
        waits = await crowd.waits(await crowd.ask_all(others, CHATS_EACH))
        assert len(greedy.keys() - crowd.slow.places.keys()) > CROWD // 2, "the crowd is gone"
    return waits


async def _driven(workers: Sequence[Server], count: int) -> None:
    await until(
        lambda: count == sum(w.worker.counters.driven for w in workers if w.worker is not None)
    )


@pytest.mark.parametrize("workers", [1, 2])
async def test_the_chats_of_nine_begin_within_twice_the_places_they_need_alone(
    template: str, workers: int
) -> None:
    async with crowd(template, workers) as cell:
        beside = await behind(cell)

    alone = range(1, OTHERS * CHATS_EACH + 1)
    assert len(beside) == len(alone)
    print(
        f"{workers} workers: the last waits for place {beside[-1]} instead of {alone[-1]},"
        f" the mean is {fmean(beside):.1f} instead of {fmean(alone):.1f}"
    )
    assert beside[-1] <= RATIO_MAX * alone[-1]
    assert fmean(beside) <= RATIO_MAX * fmean(alone)
