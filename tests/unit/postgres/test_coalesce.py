"""Who asks in the same instant is asked for together, and nobody waits for somebody else's end."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from holdfast.adapters.postgres.coalesce import TOGETHER_MAX, Coalescer
from holdfast.domain.errors import FormatUnknown, Unavailable
from tests.requirements import requirement


@dataclass
class Database:
    """Answers with ten times the number; as many at a time as it is asked for."""

    statements: list[list[int]] = field(default_factory=list[list[int]])
    refuses: bool = False
    unreadable: int | None = None
    open: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.open.set()

    async def one(self, number: int) -> int:
        return (await self.many([number]))[0]

    async def many(self, numbers: Sequence[int]) -> list[int]:
        self.statements.append([*numbers])
        self.asked.set()
        await self.open.wait()
        if self.refuses:
            raise Unavailable("not now")
        if self.unreadable in numbers:
            raise FormatUnknown("a word of the next version")
        return [10 * number for number in numbers]


@pytest.fixture
def database() -> Database:
    return Database()


@pytest.fixture
def together(database: Database) -> Coalescer[int, int]:
    return Coalescer(database.one, database.many)


async def test_whoever_is_alone_asks_alone(
    database: Database, together: Coalescer[int, int]
) -> None:
    assert await together.ask(1) == 10
    assert await together.ask(2) == 20
    assert database.statements == [[1], [2]]


async def test_a_crowd_is_one_statement_and_each_gets_its_own(
    database: Database, together: Coalescer[int, int]
) -> None:
    assert await asyncio.gather(*map(together.ask, (3, 1, 2, 1))) == [30, 10, 20, 10]
    assert database.statements == [[3, 1, 2, 1]]


async def test_who_comes_while_others_wait_for_their_answer_is_not_kept(
    database: Database, together: Coalescer[int, int]
) -> None:
    database.open.clear()
    first = asyncio.gather(together.ask(1), together.ask(2))
    await database.asked.wait()
    database.asked.clear()
    later = asyncio.gather(together.ask(3), together.ask(4))
    await database.asked.wait()
    database.open.set()
    assert [await first, await later] == [[10, 20], [30, 40]]
    assert database.statements == [[1, 2], [3, 4]]


async def test_a_crowd_beyond_measure_is_several_statements(
    database: Database, together: Coalescer[int, int]
) -> None:
    numbers = range(2 * TOGETHER_MAX + 5)
    assert await asyncio.gather(*map(together.ask, numbers)) == [10 * each for each in numbers]
    assert [len(each) for each in database.statements] == [TOGETHER_MAX, TOGETHER_MAX, 5]


async def test_what_fails_fails_for_all_of_them_and_for_nobody_later(
    database: Database, together: Coalescer[int, int]
) -> None:
    database.refuses = True
    found = await asyncio.gather(*map(together.ask, (1, 2, 3)), return_exceptions=True)
    assert [type(each) for each in found] == [Unavailable] * 3
    database.refuses = False
    assert await together.ask(4) == 40


@requirement("L137")
@pytest.mark.parametrize("unreadable", [1, 3])
async def test_an_unreadable_row_refuses_only_its_own_caller(
    database: Database, together: Coalescer[int, int], unreadable: int
) -> None:
    """Whether its caller asked for the others or was asked for."""
    database.unreadable = unreadable
    found = await asyncio.gather(*map(together.ask, (1, 2, 3)), return_exceptions=True)
    refused = [isinstance(each, FormatUnknown) for each in found]
    assert refused == [number == unreadable for number in (1, 2, 3)]
    assert database.statements[0] == [1, 2, 3]
    assert sorted(database.statements[1:]) == [[1], [2], [3]]


async def test_who_asked_alone_is_refused_once(
    database: Database, together: Coalescer[int, int]
) -> None:
    database.unreadable = 1
    with pytest.raises(FormatUnknown):
        await together.ask(1)
    assert database.statements == [[1]]


@pytest.mark.parametrize("rounds", [0, 1, 3])
async def test_whoever_leaves_takes_nobody_along(
    database: Database, together: Coalescer[int, int], rounds: int
) -> None:
    """Before it asked for the others, in that very moment, and while it waits for the answer."""
    database.open.clear()
    tasks = [asyncio.ensure_future(together.ask(number)) for number in (1, 2, 3)]
    for _ in range(rounds):
        await asyncio.sleep(0)
    tasks[0].cancel()
    await asyncio.sleep(0)
    database.open.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(found[0], asyncio.CancelledError)
    assert found[1:] == [20, 30]


async def test_one_of_the_crowd_may_leave(
    database: Database, together: Coalescer[int, int]
) -> None:
    database.open.clear()
    tasks = [asyncio.ensure_future(together.ask(number)) for number in (1, 2, 3)]
    await database.asked.wait()
    tasks[1].cancel()
    database.open.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(found[1], asyncio.CancelledError)
    assert (found[0], found[2]) == (10, 30)
