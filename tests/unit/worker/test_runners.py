"""What a worker tells its runners, and what it does when they end: in virtual time."""

import asyncio
import logging
from dataclasses import replace
from datetime import timedelta

import pytest

from holdfast.chats.changes import ChangeRequest
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import Await, CommitStep, EditMessage, Interrupt
from holdfast.domain.errors import Unavailable
from holdfast.domain.fence import Fence
from holdfast.domain.ids import CallId, Seq
from holdfast.domain.parts import Need
from holdfast.turn.interrupts import Interrupts
from holdfast.worker.options import WorkerOptions
from tests.requirements import requirement
from tests.support.builders import asks, reply, user
from tests.support.fake_store import FakeStore
from tests.support.virtual import LoopClock, run_virtually
from tests.support.workers import NEVER_S, fake_cell, until

NO_TIMER = WorkerOptions(acquire_every_s=NEVER_S)
NO_NET = replace(NO_TIMER, sync_every_s=NEVER_S)


@requirement("L55")
@pytest.mark.parametrize("error", [AssertionError("ours"), Unavailable("the world's")])
def test_a_driver_that_fails_ends_its_chats_turn_there_and_not_the_worker(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        poisoned: list[Chat] = []

        async with fake_cell() as cell:

            async def drive(chat: Chat, nudges: Interrupts) -> Chat:
                if chat.chat_id == poison.chat_id:
                    poisoned.append(chat)
                    raise error
                return await one.script.drive(chat, nudges)

            poison = await cell.send()
            async with cell.replica(NO_TIMER, drive=drive) as one:
                await until(lambda: len(poisoned) == 1)
                healthy = await cell.send()
                await cell.until_idle(healthy)
                assert await until(lambda: len(poisoned) == 5) > 3, "it must not spin"
                assert [chat.attempt for chat in poisoned] == [1, 2, 3, 4, 5]
                assert one.counters.crashed == 5
                assert one.counters.lease_losses == 0

    with caplog.at_level(logging.WARNING):
        run_virtually(story())
    assert str(error) in caplog.text


def test_a_driver_that_was_overtaken_by_an_edit_lets_the_chat_be_driven_again() -> None:
    """Its fence is stale, and yet the chat is ours: dropped for good it would wait for ever."""

    async def story() -> None:
        async with fake_cell() as cell:

            async def drive(chat: Chat, nudges: Interrupts) -> Chat:
                if chat.epoch == 1:
                    await cell.do(chat.chat_id, EditMessage(Seq(1), user("rather this")))
                    request = ChangeRequest(
                        (CommitStep((reply(),)),), by=Fence.of(chat), snapshot=chat
                    )
                    await one.script.ledger.transact(chat.chat_id, request)
                return await one.script.drive(chat, nudges)

            async with cell.replica(NO_TIMER, drive=drive) as one:
                chat = await cell.send()
                assert await cell.until_idle(chat) < 1
                assert one.counters.lost == 1

    run_virtually(story())


def test_an_interrupt_reaches_the_runner_by_a_hint() -> None:
    async def story() -> None:
        async with fake_cell() as cell, cell.replica(NO_NET, length_s=600) as one:
            chat = await cell.send()
            await until(lambda: len(one.script.driving) == 1)
            await cell.do(chat.chat_id, Interrupt())
            assert await cell.until_idle(chat) < 0.2

    run_virtually(story())


def test_an_interrupt_that_overtakes_the_answer_of_the_acquire_is_kept_for_the_runner() -> None:
    async def story() -> None:
        async with fake_cell() as cell, cell.replica(NO_NET, length_s=600) as one:
            await until(lambda: one.line.count("acquire") == 1)
            acquire = one.line.acquire

            async def slowly(*args: object, **more: object) -> object:
                acquired = await acquire(*args, **more)  # type: ignore[arg-type]
                for chat in acquired.chats:
                    await cell.do(chat.chat_id, Interrupt())
                await asyncio.sleep(1)  # the hint is here long before the answer
                return acquired

            one.line.acquire = slowly  # type: ignore[method-assign]
            chat = await cell.send()
            assert await cell.until_idle(chat, within_s=5) < 1.5

    run_virtually(story())


@requirement("L83")
def test_an_interrupt_whose_hint_was_lost_is_found_by_the_sync() -> None:
    async def story() -> None:
        async with fake_cell() as cell, cell.replica(NO_TIMER, length_s=600) as one:
            chats = [await cell.send() for _ in range(20)]
            await until(lambda: len(one.script.driving) == 20)
            await cell.do(chats[7].chat_id, Interrupt(), silently=True)
            assert await cell.until_idle(chats[7]) < 3.7
            assert len(one.script.driving) == 19

    run_virtually(story())


def test_a_gap_makes_the_worker_ask_and_its_runners_look() -> None:
    async def story() -> None:
        async with fake_cell() as cell, cell.replica(NO_NET, length_s=600) as one:
            driven = await cell.send()
            await until(lambda: len(one.script.driving) == 1)
            await cell.do(driven.chat_id, Interrupt(), silently=True)
            waiting = await cell.send(silently=True)
            await asyncio.sleep(60)
            assert one.script.chat_ids == [driven.chat_id]
            await cell.buses.cut()
            await cell.until_idle(driven, within_s=5)
            await until(lambda: waiting.chat_id in one.script.driving, within_s=5)

    run_virtually(story())


def test_a_runner_whose_chat_passed_on_is_stopped_by_the_sync() -> None:
    async def story() -> None:
        async def deaf(chat: Chat, nudges: Interrupts) -> Chat:
            await asyncio.sleep(NEVER_S)
            return chat

        async with fake_cell() as cell, cell.replica(drive=deaf) as one:
            chat = await cell.send()
            await until(lambda: one.counters.driven == 1)
            name = one.worker.worker_id
            assert name is not None
            async with cell.replica(length_s=600) as other:
                one.worker.drain()  # so that it is the other that gets it
                await cell.leases.release(name, [chat.chat_id])
                await until(lambda: len(other.script.driving) == 1)
                assert await until(lambda: one.counters.driven == 0) < 7.5
                assert one.counters.lost == 1
                assert (await cell.load(chat.chat_id)).worker_id == other.worker.worker_id

    run_virtually(story())


async def lost_answer_story() -> None:
    async with fake_cell() as cell, cell.replica() as one:
        await until(lambda: one.line.count("acquire") == 1)
        one.line.answers_lost.add("acquire")
        chat = await cell.send()
        await until(lambda: one.counters.acquires_failed == 1)
        assert (await cell.load(chat.chat_id)).worker_id == one.worker.worker_id
        assert await cell.until_idle(chat, within_s=60) < 5


@requirement("S7")
def test_chats_that_were_acquired_without_an_answer_are_driven_all_the_same() -> None:
    run_virtually(lost_answer_story())


def test_a_release_that_fails_is_tried_again() -> None:
    async def story() -> None:
        async with fake_cell() as cell, cell.replica(NO_TIMER, length_s=600) as old:
            await cell.send()
            await until(lambda: len(old.script.driving) == 1)
            async with cell.replica(NO_TIMER, length_s=600) as new:
                await asyncio.sleep(1)
                old.line.faults["release"] = 3
                old.worker.drain()
                assert await until(lambda: len(new.script.driving) == 1) < 2
                assert old.line.count("release") == 4

    run_virtually(story())


def test_waits_past_their_deadline_are_ended_and_go_on() -> None:
    async def story() -> None:
        async with fake_cell() as cell:

            async def drive(chat: Chat, nudges: Interrupts) -> Chat:
                if chat.epoch > 1:
                    return await one.script.drive(chat, nudges)
                step = CommitStep((asks("c1", needs=Need.ANSWER),))
                deadline = LoopClock().now() + timedelta(minutes=5)
                wait = Await(Need.ANSWER, (CallId("c1"),), deadline)
                return await one.script.commit(chat, chat, step, wait)

            async with cell.replica(drive=drive) as one, cell.replica(drive=drive) as two:
                chat = await cell.send()
                await asyncio.sleep(299)
                assert (await cell.load(chat.chat_id)).status is Status.AWAITING
                assert await cell.until_idle(chat) < 8
                assert one.counters.expired + two.counters.expired == 1

    run_virtually(story())


def test_workers_that_died_long_ago_are_forgotten() -> None:
    async def story() -> None:
        async with fake_cell() as cell, cell.replica() as one:
            async with cell.replica() as dying:
                await asyncio.sleep(1)
                dying.line.is_cut = True
            await asyncio.sleep(2 * 3600)
            assert one.counters.forgotten == 1
            assert isinstance(cell.store, FakeStore)

    run_virtually(story())
