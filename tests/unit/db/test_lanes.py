"""A crowd's commits: a few at a time, the rest together, and to each its own answer."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from holdfast.db import lanes as module
from holdfast.db.lanes import LANES, TOGETHER_MAX, LaneCounters, Lanes
from holdfast.domain.errors import Unavailable


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

    async def one(self, number: int) -> int:
        return (await self.many([number]))[0]

    async def many(self, numbers: Sequence[int]) -> list[int]:
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
def lanes(database: Database) -> Lanes[int, int]:
    """Even and odd numbers do not go together, nor do two with the same last two digits."""
    return Lanes(
        database.one,
        database.many,
        kind=lambda number: number % 2,
        subject=lambda number: number % 100,
        undone=(RefusedError,),
    )


async def asked(lanes: Lanes[int, int], *numbers: int) -> "list[asyncio.Task[int]]":
    tasks = [asyncio.create_task(lanes.ask(number)) for number in numbers]
    await asyncio.sleep(0)
    return tasks


async def crowd(lanes: Lanes[int, int], *numbers: int) -> "list[asyncio.Task[int]]":
    """Those before whom all lanes are taken, by numbers that nobody else has."""
    await asked(lanes, *(1001 + 2 * lane for lane in range(LANES)))
    return await asked(lanes, *numbers)


async def test_on_a_calm_server_each_goes_at_once_and_alone(
    database: Database, lanes: Lanes[int, int]
) -> None:
    tasks = await asked(lanes, *range(LANES))
    assert database.statements == [[number] for number in range(LANES)]
    database.gate.set()
    assert await asyncio.gather(*tasks) == [10 * number for number in range(LANES)]


async def test_who_waits_for_a_lane_goes_together_and_each_gets_its_own(
    database: Database, lanes: Lanes[int, int]
) -> None:
    tasks = await crowd(lanes, 6, 4, 8)
    assert len(database.statements) == LANES
    assert lanes.counters == LaneCounters(waiting=3)
    database.gate.set()
    assert await asyncio.gather(*tasks) == [60, 40, 80]
    assert database.statements[LANES:] == [[6, 4, 8]]
    assert lanes.counters == LaneCounters(together=3)


async def test_no_more_go_together_than_the_first_can_wait_for(
    database: Database, lanes: Lanes[int, int]
) -> None:
    numbers = [*range(0, 4 * TOGETHER_MAX, 2)]
    tasks = await crowd(lanes, *numbers)
    database.gate.set()
    await asyncio.gather(*tasks)
    assert database.statements[LANES:] == [numbers[:TOGETHER_MAX], numbers[TOGETHER_MAX:]]


async def test_kinds_and_the_same_subject_stay_apart_and_in_order(
    database: Database, lanes: Lanes[int, int]
) -> None:
    tasks = await crowd(lanes, 2, 3, 102, 4, 202)
    database.gate.set()
    assert await asyncio.gather(*tasks) == [20, 30, 1020, 40, 2020]
    assert sorted(database.statements[LANES:]) == [[2, 4], [3], [102], [202]]
    assert [number for number in database.stored if number % 100 == 2] == [2, 102, 202]


async def test_a_no_to_one_of_them_is_nobody_elses(
    database: Database, lanes: Lanes[int, int]
) -> None:
    database.refused = {4}
    tasks = await crowd(lanes, 2, 4, 6)
    database.gate.set()
    two, four, six = await asyncio.gather(*tasks, return_exceptions=True)
    assert (two, six) == (20, 60)
    assert isinstance(four, RefusedError)
    assert sorted(number for number in database.stored if number < 1000) == [2, 6]
    assert lanes.counters == LaneCounters(together=3, apart=3)


async def test_where_nobody_knows_everybody_hears_so_and_nothing_is_tried_again(
    database: Database, lanes: Lanes[int, int]
) -> None:
    tasks = await crowd(lanes, 2, 4)
    database.away = True
    database.gate.set()
    told = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in told] == [Unavailable, Unavailable]
    assert database.statements[LANES:] == [[2, 4]]


async def test_whoever_leaves_takes_nobody_along(
    database: Database, lanes: Lanes[int, int]
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


async def test_lanes_that_nobody_gives_back_do_not_stop_the_others(
    database: Database, lanes: Lanes[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STUCK_S", 0.02)
    await crowd(lanes)
    database.gate = asyncio.Event()
    database.gate.set()
    async with asyncio.timeout(5):
        for number in (2, 4):
            (task,) = await asked(lanes, number)
            assert await task == 10 * number


async def test_whoever_waits_too_long_is_told_and_nothing_is_done(
    database: Database, lanes: Lanes[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WAIT_S", 0.0)
    (task,) = await crowd(lanes, 2)
    await asyncio.sleep(0.01)
    database.gate.set()
    with pytest.raises(Unavailable, match="waiting"):
        await task
    assert 2 not in database.stored
