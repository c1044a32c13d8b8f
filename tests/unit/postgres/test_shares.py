"""Statements of people before the pool: a few of each at once, and free places go round."""

import asyncio
from uuid import UUID

import pytest

from holdfast.adapters.postgres.shares import PersonsPlace, Shares, people_together
from holdfast.domain.errors import Contended, TooManyStatements
from holdfast.domain.ids import UserId
from holdfast.ports.persons import ask_for, asking_person

ANN, BOB, CID = (UserId(UUID(int=n)) for n in (1, 2, 3))


class Statements:
    """Statements that end when the test says so, and the order in which they began."""

    def __init__(self, shares: Shares) -> None:
        self.shares = shares
        self.began: list[UserId | None] = []
        self.under_way: list[UserId | None] = []
        self._ends: list[tuple[UserId | None, asyncio.Event]] = []

    async def make(self, user_id: UserId | None) -> None:
        if user_id is not None:
            ask_for(user_id)
        async with PersonsPlace(self.shares):
            end = asyncio.Event()
            self.began.append(user_id)
            self.under_way.append(user_id)
            self._ends.append((user_id, end))
            await end.wait()
        self.under_way.remove(user_id)

    async def end(self, user_id: UserId | None) -> None:
        """The oldest of this person that is under way."""
        found = next(each for each in self._ends if each[0] == user_id)
        self._ends.remove(found)
        found[1].set()
        await settle()


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def shares(each: int = 2, together: int = 5, waiting_max: int = 100) -> Shares:
    return Shares(each, together, waiting_max=waiting_max, wait_s=60)


async def test_one_person_has_a_few_places_and_another_does_not_wait_for_them() -> None:
    statements = Statements(shares(each=2, together=5))
    async with asyncio.TaskGroup() as tasks:
        for _ in range(40):
            tasks.create_task(statements.make(BOB))
        await settle()
        assert statements.under_way == [BOB, BOB]
        assert statements.shares.counters.waiting == 38
        tasks.create_task(statements.make(ANN))
        await settle()
        assert statements.under_way == [BOB, BOB, ANN]
        await statements.end(ANN)
        for _ in range(40):
            await statements.end(BOB)
            assert statements.under_way.count(BOB) <= 2
    assert statements.began.count(BOB) == 40
    assert (statements.shares.counters.waiting, statements.shares.counters.waited) == (0, 38)


async def test_free_places_go_round_among_those_who_wait() -> None:
    statements = Statements(shares(each=2, together=2))
    async with asyncio.TaskGroup() as tasks:
        for user_id in (BOB, BOB, BOB, BOB, ANN, CID, ANN):
            tasks.create_task(statements.make(user_id))
            await settle()
        for _ in range(7):
            await statements.end(statements.under_way[0])
    # The first two found room; Bob waited first, then Ann, then Cid; then the round begins again.
    assert statements.began == [BOB, BOB, BOB, ANN, CID, BOB, ANN]


async def test_what_the_server_asks_waits_for_nobody() -> None:
    statements = Statements(shares(each=1, together=1))
    async with asyncio.TaskGroup() as tasks:
        for user_id in (BOB, BOB, None, None, None):
            tasks.create_task(statements.make(user_id))
        await settle()
        assert statements.under_way == [BOB, None, None, None]
        for user_id in (None, None, None, BOB, BOB):
            await statements.end(user_id)


async def test_a_task_that_a_request_starts_asks_for_the_server() -> None:
    seen: list[UserId | None] = []

    async def started() -> None:
        seen.append(asking_person())

    assert asking_person() is None
    ask_for(ANN)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(started())
    assert (asking_person(), seen) == (ANN, [None])


async def test_a_line_that_is_too_long_is_refused_and_nobody_elses_is() -> None:
    statements = Statements(shares(each=1, together=5, waiting_max=2))
    async with asyncio.TaskGroup() as tasks:
        for _ in range(3):
            tasks.create_task(statements.make(BOB))
        await settle()
        with pytest.raises(TooManyStatements) as refused:
            await statements.make(BOB)
        assert isinstance(refused.value, Contended), "says nothing about the database"
        assert statements.shares.counters.refused == 1
        tasks.create_task(statements.make(ANN))
        await settle()
        assert statements.under_way == [BOB, ANN]
        for user_id in (ANN, BOB, BOB, BOB):
            await statements.end(user_id)


async def test_who_goes_while_waiting_is_passed_over() -> None:
    statements = Statements(shares(each=1, together=5))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(statements.make(BOB))
        await settle()
        early, late = (tasks.create_task(statements.make(BOB)) for _ in range(2))
        tasks.create_task(statements.make(BOB))
        await settle()
        early.cancel()
        await settle()
        late.cancel()  # it has not run since when the place becomes free
        await statements.end(BOB)
        assert (early.cancelled(), late.cancelled()) == (True, True)
        assert statements.began == [BOB, BOB]
        assert statements.under_way == [BOB]
        await statements.end(BOB)
    assert statements.shares.counters.waiting == 0
    assert statements.shares._used == {}  # pyright: ignore[reportPrivateUsage]


async def test_a_place_given_in_the_instant_its_caller_goes_is_passed_on() -> None:
    statements = Statements(shares(each=1, together=5))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(statements.make(BOB))
        await settle()
        gone = tasks.create_task(statements.make(BOB))
        last = tasks.create_task(statements.make(BOB))
        await settle()
        statements.shares.leave(BOB)  # as the end of the first would
        gone.cancel()
        await settle()
        assert statements.began == [BOB, BOB]
        assert gone.cancelled()
        assert not last.done()
        statements.shares._take(BOB)  # pyright: ignore[reportPrivateUsage]
        await statements.end(BOB)
        await statements.end(BOB)
    assert statements.shares._used == {}  # pyright: ignore[reportPrivateUsage]


async def test_no_place_within_the_time_is_a_timeout() -> None:
    statements = Statements(Shares(1, 5, wait_s=0))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(statements.make(BOB))
        await settle()
        with pytest.raises(TimeoutError):
            await statements.make(BOB)
        await statements.end(BOB)


async def test_without_a_bound_all_go_on() -> None:
    statements = Statements(Shares(0, 5, wait_s=1))
    async with asyncio.TaskGroup() as tasks:
        for _ in range(10):
            tasks.create_task(statements.make(BOB))
        await settle()
        assert len(statements.under_way) == 10
        for _ in range(10):
            await statements.end(BOB)


@pytest.mark.parametrize(("connections", "people"), [(2, 1), (3, 1), (4, 2), (7, 5), (16, 14)])
def test_people_leave_connections_to_the_turns(connections: int, people: int) -> None:
    assert people_together(connections) == people
