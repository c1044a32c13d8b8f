"""Workers on real engines, in real time, with a lease of two seconds."""

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from holdfast.domain.chat import Chat
from holdfast.domain.commands import CommitStep, FinishTurn, Interrupt
from holdfast.domain.errors import FenceStale
from holdfast.turn.nudges import Nudges
from holdfast.worker.heartbeat import Beside, on_this_loop
from holdfast.worker.options import WorkerOptions
from tests.requirements import requirement
from tests.support.builders import reply
from tests.support.doubles import HandClock
from tests.support.workers import NEVER_S, Cell, Replica, timings, until

TTL_S = 2.0
SHORT = WorkerOptions(
    lease=timings(TTL_S), acquire_every_s=0.5, sync_every_s=0.5, sweep_every_s=1.0
)
NO_TIMER = replace(SHORT, acquire_every_s=NEVER_S)
NOISE_S = 1.0
"""What a busy machine may add."""


async def settled(replica: Replica) -> None:
    await until(lambda: replica.counters.acquires > 0)
    await asyncio.sleep(0.1)


async def test_a_hint_alone_starts_a_driver(cell: Cell) -> None:
    async with cell.replica(NO_TIMER) as one:
        await settled(one)
        chat = await cell.send()
        assert await cell.until_idle(chat, within_s=10) < NOISE_S


@requirement("S7")
async def test_without_hints_the_timer_finds_it(cell: Cell) -> None:
    async with cell.replica(SHORT) as one:
        await settled(one)
        chat = await cell.send(silently=True)
        assert await cell.until_idle(chat, within_s=10) < 0.6 + NOISE_S


@requirement("L72", "S7")
async def test_a_killed_workers_chats_move_after_its_lease(cell: Cell) -> None:
    async with cell.replica(SHORT, length_s=600) as dying:
        for _ in range(5):
            await cell.send()
        await until(lambda: len(dying.script.driving) == 5)
        dying.line.is_cut = True
    async with cell.replica(SHORT, length_s=600) as heir:
        assert await until(lambda: len(heir.script.driving) == 5) < TTL_S + 0.6 + NOISE_S
        assert {chat.epoch for chat in heir.script.driving.values()} == {2}


@requirement("L72")
async def test_a_drained_worker_hands_over_within_a_second(cell: Cell) -> None:
    async with cell.replica(NO_TIMER, length_s=600) as old:
        await settled(old)
        for _ in range(20):
            await cell.send()
        await until(lambda: len(old.script.driving) == 20)
        async with cell.replica(NO_TIMER, length_s=600) as new:
            await settled(new)
            old.worker.drain()
            assert await until(lambda: len(new.script.driving) == 20) < 1.0
            async with asyncio.timeout(5):
                await old.worker.run()
            assert old.counters.released == 20


async def test_an_interrupt_from_another_replica_reaches_the_runner(cell: Cell) -> None:
    options = replace(NO_TIMER, sync_every_s=NEVER_S)
    async with cell.replica(options, length_s=600) as one:
        await settled(one)
        chat = await cell.send()
        await until(lambda: len(one.script.driving) == 1)
        await cell.do(chat.chat_id, Interrupt())
        assert await cell.until_idle(chat, within_s=10) < NOISE_S


@requirement("L80")
async def test_capacity_holds_while_several_acquire_at_once(cell: Cell) -> None:
    options = replace(SHORT, capacity=5)
    async with (
        cell.replica(options, length_s=0.2) as one,
        cell.replica(options, length_s=0.2) as two,
        cell.replica(options, length_s=0.2) as three,
    ):
        chats = [await cell.send() for _ in range(60)]
        await cell.until_idle(*chats, within_s=30)
        replicas = (one, two, three)
        assert all(0 < replica.script.most <= 5 for replica in replicas)
        driven = [chat_id for replica in replicas for chat_id in replica.script.chat_ids]
        assert sorted(driven) == sorted(chat.chat_id for chat in chats), "each by one, once"


@requirement("L55")
async def test_a_driver_that_fails_does_not_kill_the_worker(cell: Cell) -> None:
    async def drive(chat: Chat, nudges: Nudges) -> Chat:
        if chat.epoch == 1:
            raise RuntimeError("panic")
        return await one.script.drive(chat, nudges)

    options = replace(SHORT, crash_pause_s=0.1)
    async with cell.replica(options, drive=drive) as one:
        chat = await cell.send()
        await cell.until_idle(chat, within_s=10)
        assert one.counters.crashed == 1


@requirement("S4", "L72")
async def test_a_frozen_worker_is_fenced_and_its_late_commits_are_refused(cell: Cell) -> None:
    refused: list[FenceStale] = []

    async def drive(chat: Chat, nudges: Nudges) -> Chat:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            if chat.epoch > 1:
                raise
            await until(lambda: len(heir.script.driving) == 1)
            try:
                await frozen.script.commit(chat, chat, CommitStep((reply("late"),)), FinishTurn())
            except FenceStale as stale:
                refused.append(stale)
            raise
        return chat

    # Its heartbeat is cut by freezing with the loop; the heir's is not: it has its own thread.
    async with cell.replica(SHORT, drive=drive, beside=on_this_loop) as frozen:
        chat = await cell.send()
        await until(lambda: frozen.counters.driven == 1)
        async with cell.replica(SHORT, length_s=600) as heir:
            await settled(heir)
            time.sleep(TTL_S + 0.5)  # noqa: ASYNC251 - the point of it
            await until(lambda: frozen.counters.lease_losses == 1)
            await until(lambda: len(refused) == 1)
            assert heir.counters.lease_losses == 0
            owned = await cell.load(chat.chat_id)
            assert (owned.worker_id, owned.epoch) == (heir.worker.worker_id, 2)
            assert owned.last_seq == chat.last_seq, "nothing of the zombie is in the history"


async def busy_loop_story(cell: Cell, beside: Beside) -> None:
    """The main loop is busy for longer than a lease lasts, and gives way to nobody."""
    async with cell.replica(SHORT, length_s=600, beside=beside) as one:
        await cell.send()
        await until(lambda: len(one.script.driving) == 1)
        before = one.worker.worker_id
        busy_until = time.monotonic() + 1.5 * TTL_S
        while time.monotonic() < busy_until:
            pass
        await asyncio.sleep(2 * SHORT.lease.heartbeat_every_s)
        assert one.counters.lease_losses == 0
        assert one.worker.worker_id == before
        assert before is not None
        assert await cell.leases.heartbeat(before, ttl=timedelta(seconds=TTL_S)) is not None


async def test_a_busy_main_loop_does_not_starve_the_lease(cell: Cell) -> None:
    await busy_loop_story(cell, cell.beside)


async def test_mutant_a_heartbeat_on_the_main_loop_loses_the_lease(cell: Cell) -> None:
    with pytest.raises(AssertionError):
        await busy_loop_story(cell, on_this_loop)


@requirement("S5")
@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_worker_whose_clock_is_wrong_neither_loses_nor_takes(
    cell: Cell, hours: int
) -> None:
    async with cell.replica(SHORT, length_s=600) as right:
        await cell.send()
        await until(lambda: len(right.script.driving) == 1)
        cell.clock = HandClock(datetime.now(UTC) + timedelta(hours=hours))
        async with cell.replica(SHORT, length_s=600) as wrong:
            await asyncio.sleep(1.5 * TTL_S)
            assert (len(right.script.started), len(wrong.script.started)) == (1, 0)
            assert (right.counters.lease_losses, wrong.counters.lease_losses) == (0, 0)
