"""When a worker acquires, how many, and whose: over verified fakes, in virtual time."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import Interrupt
from holdfast.domain.ids import UserId, WorkerId
from holdfast.ports.bus import Hint
from holdfast.worker.options import WorkerOptions
from tests.requirements import requirement
from tests.support.virtual import run_virtually
from tests.support.workers import NEVER_S, Cell, Replica, fake_cell, until

NO_TIMER = WorkerOptions(acquire_every_s=NEVER_S)
AT_ONCE_S = 0.2


async def settled(replica: Replica) -> None:
    """It has joined, subscribed and asked for the first time."""
    await until(lambda: replica.line.count("acquire") > 0)
    await asyncio.sleep(0.1)


def test_a_hint_starts_a_driver_without_waiting_for_the_timer() -> None:
    async def story() -> None:
        async with fake_cell() as cell, cell.replica(NO_TIMER) as one:
            await settled(one)
            chat = await cell.send()
            assert await cell.until_idle(chat) < AT_ONCE_S
            assert one.script.chat_ids == [chat.chat_id]

    run_virtually(story())


async def lost_hint_story() -> None:
    async with fake_cell() as cell, cell.replica() as one:
        await settled(one)
        chat = await cell.send(silently=True)
        assert await cell.until_idle(chat, within_s=10) <= 1.25


@requirement("S7", "L83")
def test_what_no_hint_told_is_found_by_the_timer() -> None:
    run_virtually(lost_hint_story())


@requirement("L82")
def test_what_became_runnable_before_the_subscription_is_driven_at_once() -> None:
    async def story() -> None:
        async with fake_cell() as cell:
            early = await cell.send()
            async with cell.replica(NO_TIMER) as one:
                assert await cell.until_idle(early) < AT_ONCE_S
                assert one.counters.acquired == 1

    run_virtually(story())


async def slow_subscription_story() -> None:
    async with fake_cell() as cell:
        subscribe = type(cell.bus).subscribe_work

        @asynccontextmanager
        async def slowly(bus: object, worker_id: WorkerId) -> AsyncGenerator[object]:
            await asyncio.sleep(2)  # joined, not subscribed: what is said now is not heard
            async with subscribe(bus, worker_id) as news:  # pyright: ignore[reportArgumentType]
                yield news

        type(cell.bus).subscribe_work = slowly  # pyright: ignore[reportAttributeAccessIssue]
        try:
            async with cell.replica(NO_TIMER):
                await asyncio.sleep(1)
                chat = await cell.send()
                assert await cell.until_idle(chat, within_s=10) < 1 + AT_ONCE_S
        finally:
            type(cell.bus).subscribe_work = subscribe


@requirement("L82")
def test_a_hint_between_joining_and_subscribing_orphans_no_chat() -> None:
    run_virtually(slow_subscription_story())


def test_a_full_batch_is_followed_by_another_at_once() -> None:
    async def story() -> None:
        async with fake_cell() as cell:
            chats = [await cell.send(silently=True) for _ in range(10)]
            options = replace(NO_TIMER, acquire_batch_max=2)
            async with cell.replica(options, length_s=60) as one:
                assert await until(lambda: len(one.script.driving) == len(chats)) < AT_ONCE_S
                assert set(one.line.limits) == {2}

    run_virtually(story())


def test_room_is_filled_as_soon_as_it_comes() -> None:
    async def story() -> None:
        async with fake_cell() as cell:
            chats = [await cell.send(silently=True) for _ in range(9)]
            options = replace(NO_TIMER, capacity=3)
            async with cell.replica(options, length_s=1.0) as one:
                assert await cell.until_idle(*chats) < 3 + 3 * AT_ONCE_S
                assert one.script.most == 3

    run_virtually(story())


async def rain_story() -> None:
    async with fake_cell() as cell:
        options = WorkerOptions(capacity=2)
        async with cell.replica(options, length_s=60) as one:
            await settled(one)
            chats = [await cell.send() for _ in range(3)]
            await until(lambda: len(one.script.driving) == 2)
            await asyncio.sleep(1)
            assert await acquires_while_it_rains(cell, one, chats[2]) <= 10 / 0.8 + 1
            stop = replace(chats[2], status=Status.INTERRUPTING)
            assert await acquires_while_it_rains(cell, one, stop) <= 10 * 4 + 1


@requirement("L81")
def test_a_rain_of_hints_on_a_full_worker_makes_no_storm_of_statements() -> None:
    run_virtually(rain_story())


async def acquires_while_it_rains(cell: Cell, replica: Replica, about: Chat) -> int:
    before = replica.line.count("acquire")
    for _ in range(1000):
        hint = Hint(about.chat_id, about.version, about.status, runnable=True)
        await cell.bus.publish([hint])
        await asyncio.sleep(0.01)
    return replica.line.count("acquire") - before


@requirement("L80")
def test_an_interrupt_is_driven_at_once_by_a_full_worker() -> None:
    async def story() -> None:
        async with fake_cell() as cell:
            options = replace(NO_TIMER, capacity=2)
            async with cell.replica(options, length_s=60) as one:
                await settled(one)
                chats = [await cell.send() for _ in range(3)]
                await until(lambda: len(one.script.driving) == 2)
                waiting = next(c for c in chats if c.chat_id not in one.script.driving)
                await cell.do(waiting.chat_id, Interrupt())
                assert await cell.until_idle(waiting) < 0.25 + AT_ONCE_S
                assert len(one.script.driving) == 2

    run_virtually(story())


@requirement("L80")
def test_capacity_is_never_exceeded_and_takeover_is_neutral() -> None:
    async def story() -> None:
        async with fake_cell() as cell:
            options = WorkerOptions(capacity=4)
            async with (
                cell.replica(options, length_s=3) as one,
                cell.replica(options, length_s=3) as two,
            ):
                async with cell.replica(options, length_s=3) as dying:
                    chats = [await cell.send() for _ in range(40)]
                    await until(lambda: len(dying.script.driving) == 4)
                    dying.line.is_cut = True  # so that it cannot even leave
                await cell.until_idle(*chats, within_s=60)
                assert (one.script.most, two.script.most) == (4, 4)
                rescued = {c.chat_id for _, c in dying.script.started} & {
                    c.chat_id for _, c in one.script.started + two.script.started
                }
                assert rescued, "the dead worker's chats were taken over"

    run_virtually(story())


def test_an_owner_of_many_chats_does_not_keep_the_others_waiting() -> None:
    """500 chats of one owner, 5 of each of nine: on one worker with room for ten."""

    async def started_after_s(*, crowded: bool) -> float:
        async with fake_cell() as cell:
            options = WorkerOptions(capacity=10)
            if crowded:
                for _ in range(500):
                    await cell.send(silently=True)
            async with cell.replica(options, length_s=1.0) as one:
                await settled(one)
                began = asyncio.get_running_loop().time()
                others = [UserId(cell.ids.new_chat_id()) for _ in range(9)]
                few = {(await cell.send(owner=owner)).chat_id for _ in range(5) for owner in others}
                await until(lambda: few <= set(one.script.chat_ids), within_s=200)
                return max(at for at, c in one.script.started if c.chat_id in few) - began

    idle_s = run_virtually(started_after_s(crowded=False))
    assert run_virtually(started_after_s(crowded=True)) <= 2 * idle_s


@requirement("L140", "L80")
def test_after_a_failed_acquire_interrupts_are_asked_for_alone_and_fewer_chats() -> None:
    async def story() -> None:
        async with fake_cell() as cell, cell.replica(NO_TIMER) as one:
            await settled(one)
            one.line.faults["acquire"] = 1
            one.line.limits.clear()
            chat = await cell.send()
            assert await cell.until_idle(chat, within_s=5) < 1.0
            largest = WorkerOptions().acquire_batch_max
            assert one.line.limits[:2] == [0, largest // 2]
            await cell.until_idle(await cell.send())
            assert one.line.limits[2:][-1] == largest

    run_virtually(story())
