"""Chats that a worker is given by the commits of its process: in virtual time."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from typing_extensions import override

from holdfast.chats.changes import Actor, ChangeRequest
from holdfast.chats.ledger import Ledger
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import Create, Interrupt, SendMessage
from holdfast.domain.errors import Unavailable
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId
from holdfast.domain.outcome import Outcome
from holdfast.ports.bus import Hint
from holdfast.ports.store import IdempotencyKey, Stamp
from holdfast.turn.interrupts import Interrupts
from holdfast.worker.options import WorkerOptions
from holdfast.worker.runners import Runners
from holdfast.worker.slots import OfferedSlots, TakenSlot
from tests.requirements import requirement
from tests.support.builders import CHAT, ORG, OWNER, user
from tests.support.fake_bus import FakeBusServer
from tests.support.fake_store import FakeStore
from tests.support.virtual import LoopClock, run_virtually
from tests.support.workers import NEVER_S, Cell, Replica, fake_cell, until

DEAF = WorkerOptions(acquire_every_s=NEVER_S)
"""Acquires what it hears of, and nothing else."""


class Slow(FakeStore):
    """Holds back the commits that take a chat, and may lose their answers. Whoever hangs up does
    not stop them."""

    before_s = 0.0
    after_s = 0.0
    answers = True

    @override
    async def create(self, outcome: Outcome, keyed: IdempotencyKey | None = None) -> Stamp | None:
        return await self._slowly(super().create(outcome, keyed), outcome)

    @override
    async def commit(
        self, outcome: Outcome, *, fence: Fence | None = None, keyed: IdempotencyKey | None = None
    ) -> Stamp | None:
        return await self._slowly(super().commit(outcome, fence=fence, keyed=keyed), outcome)

    async def _slowly(
        self, write: Coroutine[Any, Any, Stamp | None], outcome: Outcome
    ) -> Stamp | None:
        if outcome.taker is None:
            return await write

        async def writing() -> Stamp | None:
            await asyncio.sleep(self.before_s)
            return await write

        stamp = await asyncio.shield(asyncio.create_task(writing()))
        await asyncio.sleep(self.after_s)
        if not self.answers:
            raise Unavailable("no answer")
        return stamp

    @property
    def only(self) -> Chat:
        (record,) = self._records.values()
        return record.chat


@asynccontextmanager
async def slow_cell() -> AsyncGenerator[tuple[Cell, Slow]]:
    clock = LoopClock()
    store, buses = Slow(clock), FakeBusServer()
    async with buses.open() as bus:
        yield Cell(store, store, store, clock, buses, bus), store


async def say(replica: Replica, chat: Chat) -> Chat:
    ledger = replica.script.ledger
    request = ChangeRequest((SendMessage(user()),), by=Actor(ORG, OWNER))
    return (await ledger.transact(chat.chat_id, request)).chat


async def calm(one: Replica) -> None:
    """Its first acquire, for what was there before it, is over."""
    await until(lambda: one.worker.worker_id is not None)
    await until(lambda: one.line.count("acquire") >= 1)
    await asyncio.sleep(0.05)


def test_who_sends_here_is_driven_here_without_an_acquire() -> None:
    async def story() -> None:
        async with fake_cell() as cell, cell.replica(DEAF) as one, cell.replica(DEAF) as other:
            await calm(one)
            await calm(other)
            asked = one.line.count("acquire")
            chat = await cell.send(at=one)
            assert chat.worker_id == one.worker.worker_id
            await cell.until_idle(chat)
            again = await say(one, chat)
            await cell.until_idle(chat)
            assert again.epoch == 2
            assert one.script.chat_ids == [chat.chat_id] * 2
            assert other.script.chat_ids == []
            assert one.line.count("acquire") == asked
            assert (one.counters.taken, one.counters.acquired) == (2, 2)

    run_virtually(story())


def test_no_more_are_taken_than_there_is_room_for_and_those_who_wait_go_first() -> None:
    async def story() -> None:
        options = WorkerOptions(acquire_every_s=NEVER_S, capacity=2)
        async with fake_cell() as cell, cell.replica(options, length_s=5) as one:
            await calm(one)
            chats = [await cell.send(at=one) for _ in range(4)]
            assert [chat.worker_id is None for chat in chats] == [False, False, True, True]
            assert one.script.most == 2
            await cell.until_idle(*chats)
            assert one.counters.taken == 2
            assert one.counters.acquired == 4

    run_virtually(story())


def test_commits_under_way_count_as_taken() -> None:
    async def story() -> None:
        options = WorkerOptions(acquire_every_s=NEVER_S, capacity=2)
        async with slow_cell() as (cell, store):
            store.before_s = 1
            async with cell.replica(options, length_s=5) as one:
                await calm(one)
                chats = await asyncio.gather(*(cell.send(at=one) for _ in range(4)))
                assert sum(chat.worker_id is not None for chat in chats) == 2
                await cell.until_idle(*chats)

    run_virtually(story())


async def lost_answer_story() -> None:
    """The chat is ours, our lease is alive, and nobody knows: somebody must drive it (S7)."""
    async with slow_cell() as (cell, store), cell.replica(DEAF) as one:
        await calm(one)
        store.answers = False
        with pytest.raises(Unavailable):
            await cell.send(at=one)
        store.answers = True
        chat = store.only
        assert chat.worker_id == one.worker.worker_id
        assert await cell.until_idle(chat) < 0.5, "released at once, not by the next sync"
        assert one.counters.taken_in_doubt == 1
        assert one.counters.taken == 0


@requirement("S7")
def test_a_chat_whose_taking_was_not_answered_is_driven_all_the_same() -> None:
    run_virtually(lost_answer_story())


async def late_effect_story() -> None:
    """Whoever sent hung up, and the statement takes effect a while after the release."""
    async with slow_cell() as (cell, store), cell.replica() as one:
        await calm(one)
        chat = await cell.send(at=one)
        await cell.until_idle(chat)
        store.before_s = 2.0
        sending = asyncio.create_task(say(one, chat))
        await asyncio.sleep(0.1)
        sending.cancel()
        await asyncio.sleep(2.0)
        taken = await cell.load(chat.chat_id)
        assert (taken.status, taken.worker_id) == (Status.RUNNING, one.worker.worker_id)
        assert await cell.until_idle(chat) < 5, "found by the next sync, and acquired"


@requirement("S7")
def test_what_takes_effect_after_everybody_gave_up_is_driven_all_the_same() -> None:
    run_virtually(late_effect_story())


async def interrupt_story() -> None:
    """Somebody interrupts after the commit, and before its answer is here."""
    options = WorkerOptions(acquire_every_s=NEVER_S, sync_every_s=NEVER_S)

    async def drive(chat: Chat, nudges: Interrupts) -> Chat:
        """Believes that its chat is as it was taken, until it is told otherwise."""
        async with asyncio.timeout(20):
            await nudges.wait()
        return await one.script.drive(chat, nudges)

    async with slow_cell() as (cell, store), cell.replica(options, drive=drive) as one:
        await calm(one)
        store.after_s = 1.0
        sending = asyncio.create_task(cell.send(at=one))
        await asyncio.sleep(0.5)
        await cell.do(store.only.chat_id, Interrupt())
        chat = await sending
        assert await cell.until_idle(chat) < 5, "it was heard"


@requirement("L04")
def test_what_is_heard_before_the_answer_is_not_forgotten() -> None:
    run_virtually(interrupt_story())


def test_who_is_drained_waits_for_what_is_under_way_and_hands_it_over() -> None:
    async def story() -> None:
        async with (
            slow_cell() as (cell, store),
            cell.replica(DEAF) as one,
            cell.replica(DEAF) as other,
        ):
            await calm(one)
            await calm(other)
            store.after_s = 1.0
            sending = asyncio.create_task(cell.send(at=one))
            await asyncio.sleep(0.5)
            one.worker.drain()
            await asyncio.sleep(0.05)
            assert (await cell.send(at=one)).worker_id is None, "nobody begins here any more"
            chat = await sending
            await one.worker.run()
            await cell.until_idle(chat)
            assert one.script.chat_ids == []
            assert chat.chat_id in other.script.chat_ids
            assert one.counters.taken == 1

    run_virtually(story())


def test_what_comes_when_the_lease_is_lost_is_left_to_who_rescues_it() -> None:
    async def story() -> None:
        async with slow_cell() as (cell, store), cell.replica(DEAF) as one:
            await calm(one)
            lease = one.worker.worker_id
            store.after_s = 20.0
            sending = asyncio.create_task(cell.send(at=one))
            await asyncio.sleep(0.5)
            one.line.is_cut = True
            await until(lambda: one.worker.worker_id is None)
            one.line.is_cut = False
            chat = await sending
            assert chat.worker_id == lease
            await cell.until_idle(chat)
            assert [each.epoch for _, each in one.script.started] == [2]

    run_virtually(story())


def test_who_has_lost_its_lease_takes_nothing_while_its_runners_end() -> None:
    """By the database's clock it may still be alive then: ours ends first."""

    async def story() -> None:
        async def drive(chat: Chat, _nudges: Interrupts) -> Chat:
            try:
                await asyncio.sleep(NEVER_S)
            finally:
                await asyncio.sleep(3)  # will not end at once
            return chat

        async with fake_cell() as cell, cell.replica(DEAF, drive=drive) as one:
            await calm(one)
            await cell.send(at=one)
            await asyncio.sleep(0.1)
            one.line.is_cut = True
            await until(lambda: one.counters.lease_losses)
            await asyncio.sleep(0.1)
            assert one.worker.worker_id is not None, "it is still busy with its end"
            assert one.slots.reserve(CHAT) is None

    run_virtually(story())


async def overtaken_story() -> None:
    """Our commit will lose; meanwhile the chat is acquired, its driver fails, and it is to be
    released: that must not be forgotten because the chat seemed to be coming (S7)."""
    crashed: list[Chat] = []

    async def drive(chat: Chat, nudges: Interrupts) -> Chat:
        if not crashed:
            crashed.append(chat)
            raise Unavailable("not now")
        return await one.script.drive(chat, nudges)

    async with slow_cell() as (cell, store):
        chat = (await Ledger(store, cell.bus, cell.clock).create(a_new(cell), Create())).chat
        async with cell.replica(WorkerOptions(), drive=drive) as one:
            await calm(one)
            store.before_s = 3.0
            losing = asyncio.create_task(say(one, chat))
            await asyncio.sleep(0.1)
            await cell.do(chat.chat_id, SendMessage(user("first")))
            await until(lambda: crashed)
            assert (await losing).queue, "somebody was faster"
            assert await cell.until_idle(chat, within_s=20) < 20


@requirement("S7")
def test_what_is_to_be_released_is_not_forgotten_for_a_commit_that_fails() -> None:
    run_virtually(overtaken_story())


def a_new(cell: Cell) -> Chat:
    return Chat(chat_id=cell.ids.new_chat_id(), org_id=ORG, owner_id=OWNER)


def test_a_gap_before_the_answer_makes_the_runner_look() -> None:
    async def story() -> None:
        async with slow_cell() as (cell, store):
            one_options = WorkerOptions(acquire_every_s=NEVER_S, sync_every_s=NEVER_S)

            async def drive(chat: Chat, nudges: Interrupts) -> Chat:
                async with asyncio.timeout(20):
                    await nudges.wait()
                return await one.script.drive(chat, nudges)

            async with cell.replica(one_options, drive=drive) as one:
                await calm(one)
                store.after_s = 1.0
                sending = asyncio.create_task(cell.send(at=one))
                await asyncio.sleep(0.5)
                assert isinstance(cell.buses, FakeBusServer)
                await cell.buses.cut()
                await cell.do(store.only.chat_id, Interrupt(), silently=True)
                chat = await sending
                assert await cell.until_idle(chat) < 10

    run_virtually(story())


def test_no_slot_is_offered_before_the_first_lease() -> None:
    assert OfferedSlots().reserve(CHAT) is None


# The protections, taken away.


def test_a_doubt_that_is_forgotten_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def forget(place: TakenSlot, _chat: Chat) -> None:
        place.leave()

    monkeypatch.setattr(TakenSlot, "doubt", forget)
    with pytest.raises((TimeoutError, ExceptionGroup)):
        run_virtually(lost_answer_story())


def test_a_doubt_that_is_over_too_soon_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def only_release(place: TakenSlot, chat: Chat) -> None:
        place.leave()
        place._releases.put(chat)  # pyright: ignore[reportPrivateUsage]

    monkeypatch.setattr(TakenSlot, "doubt", only_release)
    with pytest.raises((TimeoutError, AssertionError)):
        run_virtually(late_effect_story())


def test_a_release_that_is_forgotten_for_a_commit_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def is_driven(self: Runners, chat_id: ChatId) -> bool:
        return chat_id in self.kept

    monkeypatch.setattr(Runners, "is_driven", is_driven)
    with pytest.raises((TimeoutError, AssertionError)):
        run_virtually(overtaken_story())


def test_a_rumour_that_is_dropped_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    start = Runners.start

    def deaf(self: Runners, chat: Chat, told: Any = None, heard: Hint | None = None) -> None:
        assert heard is None or isinstance(heard, Hint)
        start(self, chat, told)

    monkeypatch.setattr(Runners, "start", deaf)
    with pytest.raises((TimeoutError, AssertionError, ExceptionGroup)):
        run_virtually(interrupt_story())
