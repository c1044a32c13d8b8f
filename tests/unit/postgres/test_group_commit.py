"""A crowd's commits: a few at a time, the rest together, and to each its own answer."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from holdfast.adapters.postgres.group_commit import (
    LANES,
    STUCK_S,
    TOGETHER_MAX,
    WEIGHT_MAX,
    BatchPolicy,
    GroupCommit,
    GroupCommitCounters,
)
from holdfast.domain.errors import Unavailable
from tests.support.virtual import virtual_runner as virtual_runner

HEAVY = {208, 310}


class RefusedError(Exception):
    """The database's no, after which nothing of a statement is there."""


@dataclass
class Database:
    """Stores what it is told while its gate is open, and answers with ten times the number."""

    statements: list[list[int]] = field(default_factory=list[list[int]])
    stored: list[int] = field(default_factory=list[int])
    refused: set[int] = field(default_factory=set[int])
    away: bool = False
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    connections: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(50))
    seen: list[Exception] = field(default_factory=list[Exception])
    """Errors that a connection was left with: by them a pool knows one that leads elsewhere."""

    @asynccontextmanager
    async def enter(self) -> AsyncGenerator[None]:
        async with self.connections:
            try:
                yield
            except Exception as error:
                self.seen.append(error)
                raise

    async def one(self, way: None, number: int) -> int:
        return (await self.many(way, [number]))[0]

    async def many(self, _way: None, numbers: Sequence[int]) -> list[int]:
        self.statements.append([*numbers])
        await self.gate.wait()
        if self.away:
            raise Unavailable("not now")
        if self.refused.intersection(numbers):
            raise RefusedError(*self.refused.intersection(numbers))
        self.stored += numbers
        return [10 * number for number in numbers]


@pytest.fixture
def database() -> Database:
    return Database()


@pytest.fixture
def lanes(database: Database) -> GroupCommit[None, int, int]:
    return lanes_to(database)


def lanes_to(database: Database) -> GroupCommit[None, int, int]:
    """Even and odd numbers do not go together, nor do two with the same last two digits."""
    manners: BatchPolicy[int] = BatchPolicy(
        kind=lambda number: number % 2,
        subject=lambda number: number % 100,
        weight=lambda number: WEIGHT_MAX if number in HEAVY else 1,
        undone=lambda error: isinstance(error, RefusedError),
    )
    return GroupCommit(database.enter, database.one, database.many, manners, wait_s=10.0)


async def asked(lanes: GroupCommit[None, int, int], *numbers: int) -> "list[asyncio.Task[int]]":
    tasks = [asyncio.create_task(lanes.ask(number)) for number in numbers]
    await asyncio.sleep(0)
    return tasks


async def crowd(lanes: GroupCommit[None, int, int], *numbers: int) -> "list[asyncio.Task[int]]":
    """Those before whom all lanes are taken, by numbers that nobody else has."""
    await asked(lanes, *(1001 + 2 * lane for lane in range(LANES)))
    return await asked(lanes, *numbers)


async def test_on_a_calm_server_each_goes_at_once_and_alone(
    database: Database, lanes: GroupCommit[None, int, int]
) -> None:
    tasks = await asked(lanes, *range(LANES))
    assert database.statements == [[number] for number in range(LANES)]
    database.gate.set()
    assert await asyncio.gather(*tasks) == [10 * number for number in range(LANES)]


async def test_a_connection_sees_the_error_of_what_went_together(
    database: Database, lanes: GroupCommit[None, int, int]
) -> None:
    first = await crowd(lanes, 6, 4, 8)
    database.away = True
    database.gate.set()
    answers = await asyncio.gather(*first, return_exceptions=True)
    assert [type(answer) for answer in answers] == [Unavailable] * 3
    assert len(database.seen) == LANES + 1
    assert answers[0] is database.seen[-1]


async def test_who_waits_for_a_lane_goes_together_and_each_gets_its_own(
    database: Database, lanes: GroupCommit[None, int, int]
) -> None:
    tasks = await crowd(lanes, 6, 4, 8)
    assert len(database.statements) == LANES
    assert lanes.counters == GroupCommitCounters(waiting=3)
    database.gate.set()
    assert await asyncio.gather(*tasks) == [60, 40, 80]
    assert database.statements[LANES:] == [[6, 4, 8]]
    assert lanes.counters == GroupCommitCounters(together=3)


async def test_no_more_go_together_than_the_first_can_wait_for(
    database: Database, lanes: GroupCommit[None, int, int]
) -> None:
    numbers = [*range(0, 4 * TOGETHER_MAX, 2)]
    tasks = await crowd(lanes, *numbers)
    database.gate.set()
    await asyncio.gather(*tasks)
    assert database.statements[LANES:] == [numbers[:TOGETHER_MAX], numbers[TOGETHER_MAX:]]


async def test_kinds_and_the_same_subject_stay_apart_and_in_order(
    database: Database, lanes: GroupCommit[None, int, int]
) -> None:
    tasks = await crowd(lanes, 2, 3, 102, 4, 202)
    database.gate.set()
    assert await asyncio.gather(*tasks) == [20, 30, 1020, 40, 2020]
    assert sorted(database.statements[LANES:]) == [[2, 4], [3], [102], [202]]
    assert [number for number in database.stored if number % 100 == 2] == [2, 102, 202]


async def test_a_no_to_one_of_them_is_nobody_elses(
    database: Database, lanes: GroupCommit[None, int, int]
) -> None:
    database.refused = {4}
    tasks = await crowd(lanes, 2, 4, 6)
    database.gate.set()
    two, four, six = await asyncio.gather(*tasks, return_exceptions=True)
    assert (two, six) == (20, 60)
    assert isinstance(four, RefusedError)
    assert sorted(number for number in database.stored if number < 1000) == [2, 6]
    assert lanes.counters == GroupCommitCounters(together=3, apart=3)


async def test_where_nobody_knows_everybody_hears_so_and_nothing_is_tried_again(
    database: Database, lanes: GroupCommit[None, int, int]
) -> None:
    tasks = await crowd(lanes, 2, 4)
    database.away = True
    database.gate.set()
    told = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in told] == [Unavailable, Unavailable]
    assert database.statements[LANES:] == [[2, 4]]


async def test_whoever_leaves_takes_nobody_along(
    database: Database, lanes: GroupCommit[None, int, int]
) -> None:
    two, four, six = await crowd(lanes, 2, 4, 6)
    two.cancel()
    await asyncio.sleep(0)
    database.gate.set()
    assert await asyncio.gather(four, six) == [40, 60]
    assert database.statements[LANES:] == [[4, 6]], "what left before its turn is not done"

    database.gate.clear()
    two, four = await crowd(lanes, 2, 4)
    lanes_back, database.gate = database.gate, asyncio.Event()
    lanes_back.set()
    for _ in range(10):  # the lanes come back, and the two begin
        await asyncio.sleep(0)
    assert database.statements[-1] == [2, 4]
    two.cancel()  # while it is under way
    database.gate.set()
    assert await four == 40
    assert database.stored[-2:] == [2, 4]


async def test_lanes_that_nobody_gives_back_do_not_slow_the_others(
    database: Database, lanes: GroupCommit[None, int, int]
) -> None:
    stuck = await asked(lanes, *(1001 + 2 * lane for lane in range(LANES)))
    locked, database.gate = database.gate, asyncio.Event()
    database.gate.set()
    numbers = range(2, 100 * TOGETHER_MAX, 2)
    began = asyncio.get_running_loop().time()
    async with asyncio.timeout(5):
        await asyncio.gather(*(lanes.ask(number) for number in numbers))
        await asyncio.gather(*(lanes.ask(number) for number in (2, 4, 6)))
    took_s = asyncio.get_running_loop().time() - began
    assert took_s == pytest.approx(STUCK_S), "one wait for all, not for each"
    locked.set()
    assert await asyncio.gather(*stuck) == [10010, 10030, 10050]


async def test_what_is_heavy_goes_alone(
    database: Database, lanes: GroupCommit[None, int, int]
) -> None:
    tasks = await crowd(lanes, 2, 4, 208, 310, 6)
    database.gate.set()
    await asyncio.gather(*tasks)
    assert database.statements[LANES:] == [[2, 4], [208], [310], [6]]


async def test_a_no_is_heard_also_where_there_are_few_connections(
    database: Database, lanes: GroupCommit[None, int, int]
) -> None:
    """Whoever goes again alone needs one, and nobody keeps another one meanwhile."""
    database.refused = {4}
    database.connections = asyncio.Semaphore(1)
    tasks = await crowd(lanes, 2, 4, 6)
    database.gate.set()
    async with asyncio.timeout(5):
        told = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in told] == [int, RefusedError, int]


async def test_whoever_left_is_not_tried_again_alone(
    database: Database, lanes: GroupCommit[None, int, int]
) -> None:
    database.refused = {4}
    two, four, six = await crowd(lanes, 2, 4, 6)
    lanes_back, database.gate = database.gate, asyncio.Event()
    lanes_back.set()
    for _ in range(10):  # the lanes come back, and the three begin
        await asyncio.sleep(0)
    assert database.statements[-1] == [2, 4, 6]
    two.cancel()
    database.gate.set()
    assert await six == 60
    with pytest.raises(RefusedError):
        await four
    assert [2] not in database.statements


async def test_where_there_is_no_way_whoever_waits_is_told(
    database: Database, lanes: GroupCommit[None, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = await crowd(lanes, 2, 4)

    @asynccontextmanager
    async def closed() -> AsyncGenerator[None]:
        raise OSError("no connection")
        yield

    monkeypatch.setattr(lanes, "_enter", closed)
    database.gate.set()
    told = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in told] == [OSError, OSError]


async def test_whoever_waits_too_long_is_told_and_nothing_is_done(
    database: Database, lanes: GroupCommit[None, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "_wait_s", 0.0)
    (task,) = await crowd(lanes, 2)
    await asyncio.sleep(0.01)
    database.gate.set()
    with pytest.raises(Unavailable, match="waiting"):
        await task
    assert 2 not in database.stored
