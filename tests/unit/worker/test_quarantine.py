"""Chats that keep losing their workers get processes of their own: over fakes, in virtual time."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from uuid import UUID

import pytest

from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import CommitStep, FinishTurn, Interrupt
from holdfast.domain.ids import ChatId, WorkerId
from holdfast.ports.leases import Suspect
from holdfast.worker.options import WorkerOptions
from holdfast.worker.quarantine import PROCESSES_MAX, PROVEN_S, QUARANTINE_AFTER, divided
from tests.requirements import requirement
from tests.support.builders import reply
from tests.support.fake_store import FakeStore
from tests.support.virtual import run_virtually
from tests.support.workers import NEVER_S, Cell, Replica, fake_cell, until

KILLED = -9
RING = UUID(int=1)
FOUND_S = 10.0
"""Longer than the pause before suspects are driven, and the acquire behind it."""
QUIET_DRAIN = WorkerOptions(drain_s=5.0, leave_s=1.0)


@dataclass(eq=False)
class Stub:
    """A process that does nothing until the test ends it."""

    chat_ids: Sequence[ChatId]
    code: "asyncio.Future[int]"
    drained: bool = False
    killed: bool = False

    async def ended(self) -> int:
        return await asyncio.shield(self.code)

    def drain(self) -> None:
        self.drained = True

    def kill(self) -> None:
        self.killed = True


@dataclass
class Starter:
    cell: Cell
    started: list[Stub] = field(default_factory=list[Stub])
    fails: bool = False

    async def __call__(self, chat_ids: Sequence[ChatId]) -> Stub:
        if self.fails:
            raise OSError("no more processes")
        loop = asyncio.get_running_loop()
        self.started.append(Stub(list(chat_ids), loop.create_future()))
        return self.started[-1]

    @property
    def living(self) -> list[Stub]:
        return [each for each in self.started if not each.code.done()]

    async def acquire_and_die(self, stub: Stub) -> None:
        """What a process does whose chat kills it."""
        await lose_workers(self.cell, 1, only=stub.chat_ids)
        stub.code.set_result(KILLED)


async def lose_workers(cell: Cell, times: int, only: Sequence[ChatId] | None = None) -> None:
    """All that waits, or only these, is acquired by a worker that dies; so many times."""
    assert isinstance(cell.leases, FakeStore)
    for _ in range(times):
        worker_id = WorkerId(cell.ids.new_chat_id())
        await cell.leases.join(worker_id, name="dead", ttl=timedelta(seconds=10))
        await cell.leases.acquire(worker_id, limit=1000, ring_start=RING, only=only)
        cell.leases.lapse(worker_id)


@dataclass
class Place:
    cell: Cell
    one: Replica
    starter: Starter
    suspects: list[Chat]


@asynccontextmanager
async def suspects_found(
    number: int, options: WorkerOptions | None = None
) -> AsyncGenerator[Place]:
    """A worker that starts while so many chats wait that have lost three workers."""
    async with fake_cell() as cell:
        chats = [await cell.send(silently=True) for _ in range(number)]
        await lose_workers(cell, QUARANTINE_AFTER)
        starter = Starter(cell)
        async with cell.replica(options, start_alone=starter) as one:
            yield Place(cell, one, starter, chats)


async def one_process_story() -> None:
    async with suspects_found(1) as place:
        innocent = await place.cell.send()
        await until(lambda: place.starter.started, FOUND_S)
        assert place.starter.started[0].chat_ids == [place.suspects[0].chat_id]
        await place.cell.until_idle(innocent)
        assert place.one.script.chat_ids == [innocent.chat_id]
        await asyncio.sleep(60)
        assert len(place.starter.started) == 1, "while it lives"
        assert (place.one.counters.alone_started, place.one.counters.alone_died) == (1, 0)


@requirement("P3")
def test_a_chat_that_lost_three_workers_gets_a_process_of_its_own() -> None:
    run_virtually(one_process_story())


def test_a_process_that_died_is_counted_logged_and_replaced(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story() -> ChatId:
        async with suspects_found(1) as place:
            for deaths in (1, 2, 3, 4, 5):
                await until(lambda: place.starter.living, FOUND_S)
                await place.starter.acquire_and_die(place.starter.living[0])
                await until(lambda deaths=deaths: place.one.counters.alone_died == deaths)
            assert place.one.script.started == []
            return place.suspects[0].chat_id

    chat_id = run_virtually(story())

    lines = [record.getMessage() for record in caplog.records]
    first = f"worker: chat {chat_id} was taken over 3 times in a row; an isolated process drives it"
    assert next(line for line in lines if "in a row" in line) == first
    ended = f"worker: the isolated process of chat {chat_id} ended with code -9"
    assert [line for line in lines if "ended" in line] == [ended] * 5


def test_suspects_are_divided_until_the_one_that_kills_is_alone() -> None:
    """Nine chats: three processes of three each; the three that lose theirs get one each."""

    async def story() -> None:
        async with suspects_found(9) as place:
            killer = place.suspects[4].chat_id
            await until(lambda: len(place.starter.living) == PROCESSES_MAX, FOUND_S)
            assert [len(each.chat_ids) for each in place.starter.living] == [3, 3, 3]
            for each in place.starter.living:
                if killer in each.chat_ids:
                    await place.starter.acquire_and_die(each)
                else:
                    await end_well(place, each)
            await until(lambda: len(place.starter.living) == PROCESSES_MAX, 3 * FOUND_S)
            assert [len(each.chat_ids) for each in place.starter.living] == [1, 1, 1]
            assert place.one.script.started == []

    run_virtually(story())


@requirement("S7")
def test_suspects_do_not_wait_for_the_long_turns_of_others() -> None:
    """A process that has lived for a minute kills nothing: it takes no place of the next ones."""

    async def story() -> None:
        async with suspects_found(PROCESSES_MAX) as place:
            await until(lambda: len(place.starter.living) == PROCESSES_MAX, FOUND_S)
            for each in place.starter.living:
                await hold(place, each)
            later = await place.cell.send(silently=True)
            await lose_workers(place.cell, QUARANTINE_AFTER)
            await until(lambda: len(place.starter.started) == PROCESSES_MAX + 1, 2 * PROVEN_S)
            assert place.starter.started[-1].chat_ids == [later.chat_id]
            assert len(place.starter.living) == PROCESSES_MAX + 1

    run_virtually(story())


async def hold(place: Place, stub: Stub) -> None:
    """What a process does whose chat has a long turn."""
    worker_id = WorkerId(place.cell.ids.new_chat_id())
    await place.cell.leases.join(worker_id, name="alone", ttl=timedelta(hours=1))
    await place.cell.leases.acquire(
        worker_id, limit=len(stub.chat_ids), ring_start=RING, only=stub.chat_ids
    )


@requirement("S7")
def test_processes_of_no_use_are_noticed_also_if_they_end_one_after_the_other() -> None:
    """Of two suspects one always has a process while the other waits."""

    async def story() -> None:
        async with fake_cell() as cell:
            chats = [await cell.send(silently=True) for _ in range(2)]
            await lose_workers(cell, QUARANTINE_AFTER)
            await lose_workers(cell, 1, only=[chats[1].chat_id])
            starter = Starter(cell)
            async with cell.replica(start_alone=starter) as one:
                for _ in range(20):
                    await until(lambda: len(starter.living) == 2 or one.script.started, 600)
                    if one.script.started:
                        break
                    starter.living[0].code.set_result(2)
                for each in starter.living:
                    each.code.set_result(2)
                await cell.until_idle(*chats)

    run_virtually(story())


async def end_well(place: Place, stub: Stub) -> None:
    """What a process does whose chats kill nothing."""
    worker_id = WorkerId(place.cell.ids.new_chat_id())
    await place.cell.leases.join(worker_id, name="alone", ttl=timedelta(seconds=10))
    acquired = await place.cell.leases.acquire(
        worker_id, limit=len(stub.chat_ids), ring_start=RING, only=stub.chat_ids
    )
    assert len(acquired.chats) == len(stub.chat_ids)
    for chat in acquired.chats:
        await place.one.script.commit(chat, chat, CommitStep((reply(),)), FinishTurn())
    stub.code.set_result(0)


def test_those_taken_over_more_often_are_not_mixed_with_the_others() -> None:
    async def story() -> None:
        async with suspects_found(12) as place:
            await until(lambda: len(place.starter.living) == PROCESSES_MAX, FOUND_S)
            first, *others = place.starter.living
            await place.starter.acquire_and_die(first)
            for each in others:
                each.code.set_result(0)  # before it acquired anything
            await until(lambda: len(place.starter.living) == PROCESSES_MAX, 3 * FOUND_S)
            again = [set(each.chat_ids) for each in place.starter.living]
            assert [len(each) for each in again] == [3, 3, 2]
            assert not any(set(first.chat_ids) & each for each in again)

    run_virtually(story())


@pytest.mark.parametrize(
    ("number", "sizes"), [(1, [1]), (2, [1, 1]), (3, [1, 1, 1]), (4, [2, 2]), (7, [3, 3, 1])]
)
def test_suspects_are_divided_evenly(number: int, sizes: list[int]) -> None:
    suspects = [Suspect(ChatId(UUID(int=n)), 3) for n in range(number)]

    groups = divided(suspects)

    assert [len(each) for each in groups] == sizes
    assert [each for group in groups for each in group] == suspects


def test_without_processes_a_suspect_is_driven_as_any_other() -> None:
    async def story() -> None:
        async with fake_cell() as cell:
            chat = await cell.send(silently=True)
            await lose_workers(cell, 2 * QUARANTINE_AFTER)
            async with cell.replica() as one:
                await cell.until_idle(chat)
                assert one.script.chat_ids == [chat.chat_id]

    run_virtually(story())


@requirement("S7")
def test_where_processes_acquire_nothing_the_worker_drives_itself() -> None:
    async def story() -> None:
        async with suspects_found(1) as place:
            for _ in range(3):
                await until(lambda: place.starter.living, FOUND_S)
                place.starter.living[0].code.set_result(2)
            await place.cell.until_idle(*place.suspects)
            assert len(place.starter.started) == 3

    run_virtually(story())


@requirement("S7")
def test_where_no_process_can_be_started_the_worker_drives_itself() -> None:
    async def story() -> None:
        async with suspects_found(1) as place:
            place.starter.fails = True
            await place.cell.until_idle(*place.suspects)
            assert place.one.counters.alone_died == 3

    run_virtually(story())


@requirement("L80")
def test_an_interrupt_of_a_suspect_waits_for_no_process() -> None:
    async def story() -> None:
        async with suspects_found(1) as place:
            await place.cell.do(place.suspects[0].chat_id, Interrupt())
            assert await place.cell.until_idle(*place.suspects) < 2

    run_virtually(story())


def test_a_drained_worker_drains_its_processes_and_waits_for_them() -> None:
    async def story() -> None:
        async with suspects_found(1, QUIET_DRAIN) as place:
            await until(lambda: place.starter.started, FOUND_S)
            (stub,) = place.starter.started
            place.one.worker.drain()
            assert stub.drained
            running = asyncio.get_running_loop().create_task(place.one.worker.run())
            await asyncio.sleep(3)
            assert not running.done()
            stub.code.set_result(0)
            await asyncio.wait_for(running, 1)
            assert (stub.killed, place.one.counters.alone_died) == (False, 0)

    run_virtually(story())


def test_a_process_that_does_not_end_is_killed() -> None:
    async def story() -> None:
        async with suspects_found(1, QUIET_DRAIN) as place:
            await until(lambda: place.starter.started, FOUND_S)
            place.one.worker.drain()
            await asyncio.wait_for(place.one.worker.run(), 10)
            await until(lambda: place.starter.started[0].killed)

    run_virtually(story())


def test_leaving_without_draining_kills() -> None:
    async def story() -> None:
        async with suspects_found(1) as place:
            await until(lambda: place.starter.started, FOUND_S)
        assert place.starter.started[0].killed

    run_virtually(story())


def test_nothing_more_is_asked_of_the_database() -> None:
    """A worker that could start processes makes the same statements as one that could not."""

    async def statements(starts: bool) -> dict[str, int]:
        async with fake_cell() as cell:
            starter = Starter(cell) if starts else None
            async with cell.replica(start_alone=starter) as one:
                await cell.until_idle(await cell.send())
                await asyncio.sleep(30)
                return {what: one.line.count(what) for _, what in one.line.asked}

    assert run_virtually(statements(starts=True)) == run_virtually(statements(starts=False))


def only(*chats: Chat) -> WorkerOptions:
    named = tuple(chat.chat_id for chat in chats)
    return WorkerOptions(only=named, capacity=len(named))


def test_a_worker_of_some_chats_drives_them_and_ends() -> None:
    async def story() -> None:
        async with fake_cell() as cell:
            chats = [await cell.send(silently=True) for _ in range(3)]
            await lose_workers(cell, 1)
            released = await cell.send(silently=True)
            async with cell.replica(only(*chats[:2], released), length_s=5.0) as one:
                await until(lambda: len(one.script.driving) == 2)
                other = await cell.send(at=one)  # there is room for it
                await asyncio.wait_for(one.worker.run(), 20)
                assert set(one.script.chat_ids) == {each.chat_id for each in chats[:2]}
            await cell.until_idle(*chats[:2])
            assert (await cell.load(chats[2].chat_id)).status is Status.RUNNING
            for left in [await cell.load(each.chat_id) for each in (released, other)]:
                assert (left.status, left.worker_id) == (Status.RUNNING, None)

    run_virtually(story())


def test_a_worker_of_some_chats_ends_at_once_if_they_are_driven() -> None:
    async def story() -> None:
        async with fake_cell() as cell, cell.replica(length_s=600) as other:
            chat = await cell.send()
            await until(lambda: other.script.driving)
            async with cell.replica(replace(only(chat), acquire_every_s=NEVER_S)) as one:
                await asyncio.wait_for(one.worker.run(), 5)
                assert one.script.started == []

    run_virtually(story())


def test_a_worker_of_some_chats_waits_for_the_answer_to_its_question() -> None:
    async def story() -> None:
        async with fake_cell() as cell:
            chat = await cell.send(silently=True)
            await lose_workers(cell, 1)
            async with cell.replica(only(chat)) as one:
                one.line.faults["acquire"] = 3
                await asyncio.wait_for(one.worker.run(), 20)
                assert one.script.chat_ids == [chat.chat_id]
            await cell.until_idle(chat)

    run_virtually(story())
