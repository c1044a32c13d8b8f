"""Workers on real engines, in real time.

How soon things happen is asserted in virtual time, in tests/unit/worker.
Here a lease is so long that a busy machine does not lose it, unless the test waits for its end.
"""

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from holdfast.domain.chat import Chat
from holdfast.domain.commands import CommitStep, FinishTurn, Interrupt
from holdfast.domain.errors import FenceStale
from holdfast.turn.interrupts import Interrupts
from holdfast.worker.heartbeat import Beside, on_this_loop
from holdfast.worker.options import LeaseTimings, WorkerOptions
from tests.requirements import requirement
from tests.support.builders import reply
from tests.support.doubles import HandClock
from tests.support.workers import NEVER_S, Cell, Replica, timings, until

TTL_S = 2.0
LONG = WorkerOptions(
    # Renewed often all the same: tests count renewals.
    lease=LeaseTimings(ttl_s=60.0, heartbeat_every_s=0.5, heartbeat_timeout_s=0.5, retry_s=0.05),
    acquire_every_s=0.5,
    sync_every_s=0.5,
    sweep_every_s=1.0,
)
SHORT = replace(LONG, lease=timings(TTL_S), stop_s=60.0)
NO_TIMER = replace(LONG, acquire_every_s=NEVER_S)
SAFE_S = 60.0
"""Ends a test that hangs. Not a promise of the worker."""


async def subscribed(replica: Replica) -> None:
    """The first acquire comes after the worker has subscribed."""
    await until(lambda: replica.counters.acquires > 0, SAFE_S)


async def test_a_hint_alone_starts_a_driver(cell: Cell) -> None:
    first = await cell.send(silently=True)
    async with cell.replica(NO_TIMER):
        await cell.until_idle(first, within_s=SAFE_S)  # the acquire of the start is over
        chat = await cell.send()
        await cell.until_idle(chat, within_s=SAFE_S)


@requirement("S7")
async def test_without_hints_the_timer_finds_it(cell: Cell) -> None:
    first = await cell.send(silently=True)
    async with cell.replica(LONG):
        await cell.until_idle(first, within_s=SAFE_S)  # the acquire of the start is over
        chat = await cell.send(silently=True)
        await cell.until_idle(chat, within_s=SAFE_S)


@requirement("L72", "S7")
async def test_a_killed_workers_chats_move_after_its_lease(cell: Cell) -> None:
    async with cell.replica(SHORT, length_s=600) as dying:
        for _ in range(5):
            await cell.send()
        await until(lambda: len(dying.script.driving) == 5, SAFE_S)
        dying.line.is_cut = True
        left = {chat_id: chat.epoch for chat_id, chat in dying.script.driving.items()}
    async with cell.replica(LONG, length_s=600) as heir:
        # Real time: the lease of the dead worker runs out on the database's clock.
        await until(lambda: len(heir.script.driving) == 5, SAFE_S)
        taken = {chat_id: chat.epoch for chat_id, chat in heir.script.driving.items()}
        assert taken == {chat_id: epoch + 1 for chat_id, epoch in left.items()}


@requirement("L72")
async def test_a_drained_worker_hands_over_within_a_second(cell: Cell) -> None:
    async with cell.replica(NO_TIMER, length_s=600) as old:
        await subscribed(old)
        for _ in range(20):
            await cell.send()
        await until(lambda: len(old.script.driving) == 20, SAFE_S)
        async with cell.replica(NO_TIMER, length_s=600) as new:
            await subscribed(new)
            old.worker.drain()
            # Ten times the promised second: tests/unit/worker asserts it in virtual time.
            assert await until(lambda: len(new.script.driving) == 20, SAFE_S) < 10.0
            async with asyncio.timeout(SAFE_S):
                await old.worker.run()
            assert old.counters.released == 20


async def test_an_interrupt_from_another_replica_reaches_the_runner(cell: Cell) -> None:
    options = replace(NO_TIMER, sync_every_s=NEVER_S)
    async with cell.replica(options, length_s=600) as one:
        await subscribed(one)
        chat = await cell.send()
        await until(lambda: len(one.script.driving) == 1, SAFE_S)
        await cell.do(chat.chat_id, Interrupt())
        await cell.until_idle(chat, within_s=SAFE_S)


@requirement("L80")
async def test_capacity_holds_while_several_acquire_at_once(cell: Cell) -> None:
    options = replace(LONG, capacity=5)
    async with (
        cell.replica(options, length_s=0.2) as one,
        cell.replica(options, length_s=0.2) as two,
        cell.replica(options, length_s=0.2) as three,
    ):
        chats = [await cell.send() for _ in range(60)]
        await cell.until_idle(*chats, within_s=SAFE_S)
        replicas = (one, two, three)
        assert all(0 < replica.script.most <= 5 for replica in replicas)
        driven = [chat_id for replica in replicas for chat_id in replica.script.chat_ids]
        assert sorted(driven) == sorted(chat.chat_id for chat in chats), "each by one, once"


@requirement("L55")
async def test_a_driver_that_fails_does_not_kill_the_worker(cell: Cell) -> None:
    async def drive(chat: Chat, nudges: Interrupts) -> Chat:
        if chat.epoch == 1:
            raise RuntimeError("panic")
        return await one.script.drive(chat, nudges)

    options = replace(LONG, crash_pause_s=0.1)
    async with cell.replica(options, drive=drive) as one:
        chat = await cell.send()
        await cell.until_idle(chat, within_s=SAFE_S)
        assert one.counters.crashed == 1


@requirement("S4", "L72")
async def test_a_frozen_worker_is_fenced_and_its_late_commits_are_refused(cell: Cell) -> None:
    refused: list[FenceStale] = []
    driven: list[Chat] = []
    zombies: list[Chat] = []
    heirs: list[Replica] = []

    async def drive(chat: Chat, nudges: Interrupts) -> Chat:
        driven.append(chat)
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            if zombies != [chat]:
                raise
            await until(lambda: bool(heirs) and len(heirs[0].script.driving) == 1, SAFE_S)
            try:
                await frozen.script.commit(chat, chat, CommitStep((reply("late"),)), FinishTurn())
            except FenceStale as stale:
                refused.append(stale)
            raise
        return chat

    # Its heartbeat is cut by freezing with the loop.
    async with cell.replica(SHORT, drive=drive, beside=on_this_loop) as frozen:
        chat = await cell.send()
        await until(lambda: frozen.counters.driven == 1 and bool(driven), SAFE_S)
        zombies.append(driven[-1])
        losses = frozen.counters.lease_losses
        # Real time: the lease runs out on the database's clock while the process is frozen.
        time.sleep(TTL_S + 0.5)  # noqa: ASYNC251 - the point of it
        async with cell.replica(LONG, length_s=600) as heir:
            heirs.append(heir)
            await until(lambda: len(refused) == 1, SAFE_S)
            assert frozen.counters.lease_losses == losses + 1
            assert heir.counters.lease_losses == 0
            owned = await cell.load(chat.chat_id)
            expected = (heir.worker.worker_id, zombies[0].epoch + 1)
            assert (owned.worker_id, owned.epoch) == expected
            assert owned.last_seq == chat.last_seq, "nothing of the zombie is in the history"


async def busy_loop_story(cell: Cell, beside: Beside, busy_s_max: float) -> None:
    """The main loop is busy without a pause until the lease was renewed twice."""
    async with cell.replica(LONG, length_s=600, beside=beside) as one:
        await cell.send()
        await until(lambda: len(one.script.driving) == 1, SAFE_S)
        before, renewed = one.worker.worker_id, one.counters.heartbeats
        busy_until = time.monotonic() + busy_s_max
        while one.counters.heartbeats < renewed + 2 and time.monotonic() < busy_until:
            pass
        assert one.counters.heartbeats >= renewed + 2
        assert one.counters.lease_losses == 0
        assert one.worker.worker_id == before
        assert before is not None
        ttl = timedelta(seconds=LONG.lease.ttl_s)
        assert await cell.leases.heartbeat(before, ttl=ttl) is not None


async def test_a_busy_main_loop_does_not_starve_the_lease(cell: Cell) -> None:
    await busy_loop_story(cell, cell.beside, SAFE_S / 2)


async def test_mutant_a_heartbeat_on_the_main_loop_loses_the_lease(cell: Cell) -> None:
    with pytest.raises(AssertionError):
        await busy_loop_story(cell, on_this_loop, 6 * LONG.lease.heartbeat_every_s)


@requirement("S5")
@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_worker_whose_clock_is_wrong_neither_loses_nor_takes(
    cell: Cell, hours: int
) -> None:
    async with cell.replica(LONG, length_s=600) as right:
        await cell.send()
        await until(lambda: len(right.script.driving) == 1, SAFE_S)
        cell.clock = HandClock(datetime.now(UTC) + timedelta(hours=hours))
        async with cell.replica(LONG, length_s=600) as wrong:
            renewed = right.counters.heartbeats
            # An hour is far more than a lease: one look at the wrong clock would be enough.
            await until(
                lambda: (
                    min(wrong.counters.heartbeats, right.counters.heartbeats - renewed) >= 2
                    and min(wrong.counters.acquires, wrong.counters.syncs) >= 2
                    and wrong.line.count("expired_awaits") >= 1
                ),
                SAFE_S,
            )
            assert (len(right.script.started), len(wrong.script.started)) == (1, 0)
            assert (right.counters.lease_losses, wrong.counters.lease_losses) == (0, 0)
