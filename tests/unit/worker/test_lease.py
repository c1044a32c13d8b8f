"""What a worker does about its lease: over verified fakes, in virtual time."""

import asyncio

import pytest

from holdfast.domain.chat import Chat
from holdfast.domain.errors import FenceStale
from holdfast.domain.ids import WorkerId
from holdfast.turn.interrupts import Interrupts
from holdfast.worker.options import LeaseTimings, WorkerOptions
from tests.requirements import requirement
from tests.support.fake_store import FakeStore
from tests.support.virtual import run_virtually
from tests.support.workers import Replica, fake_cell, until

TTL_S = WorkerOptions().lease.ttl_s
BEAT_S = WorkerOptions().lease.heartbeat_every_s


def now_s() -> float:
    return asyncio.get_running_loop().time()


async def drives(replica: Replica, chats: int = 1) -> float:
    return await until(lambda: len(replica.script.driving) == chats, within_s=60)


@requirement("S7", "L72")
def test_the_chats_of_a_killed_worker_move_after_its_lease() -> None:
    async def story() -> None:
        async with fake_cell() as cell, cell.replica() as heir:
            await asyncio.sleep(0.5)
            async with cell.replica(length_s=600) as dying:
                await cell.send()
                await until(lambda: len(dying.script.driving) + len(heir.script.started) == 1)
                chats = [await cell.send() for _ in range(5)]
                await asyncio.sleep(1)
                held = list(dying.script.driving)
                dying.line.is_cut = True
            killed_s = now_s()
            await cell.until_idle(*chats, within_s=60)
            rescued = [at for at, c in heir.script.started if c.chat_id in held]
            assert all(TTL_S - BEAT_S - 1 < at - killed_s < TTL_S + 1.3 for at in rescued)

    run_virtually(story())


async def cut_off_story() -> None:
    """The database is away for one worker only; its drivers would go on for ever."""
    async with fake_cell() as cell, cell.replica(length_s=600) as one:
        await cell.send()
        await drives(one)
        async with cell.replica(length_s=600) as heir:
            await asyncio.sleep(4)
            first = one.worker.worker_id
            one.line.is_cut = True
            await drives(heir)
            assert not one.script.driving, "two drove at once"
            (stopped_s, _), (taken_s, _) = one.script.ended[0], heir.script.started[0]
            assert stopped_s <= taken_s
            assert one.counters.lease_losses == 1

            one.line.is_cut = False
            await until(lambda: one.worker.worker_id is not None)
            assert one.worker.worker_id != first
            heir.worker.drain()
            assert await drives(one) < 1, "it drives again, under its new name"


@requirement("S4", "L72")
def test_a_worker_that_cannot_renew_stops_its_runners_before_others_may_drive() -> None:
    run_virtually(cut_off_story())


async def slow_answer_story() -> None:
    """The last renewal that succeeds is answered late: the lease counts from when it was asked."""
    async with fake_cell() as cell, cell.replica(length_s=600) as one:
        await cell.send()
        await drives(one)
        one.line.heartbeat_answer_s = 1.9
        eager = WorkerOptions(acquire_every_s=0.1, acquire_full_every_s=0.1)
        async with cell.replica(eager, length_s=600) as heir:
            await asyncio.sleep(4 * BEAT_S)
            one.line.is_cut = True
            await until(lambda: len(heir.script.started) == 1, within_s=60)
            assert not one.script.driving, "two drove at once"


@requirement("S4")
def test_a_late_answer_does_not_make_the_lease_longer() -> None:
    run_virtually(slow_answer_story())


@requirement("S4")
def test_a_heartbeat_that_is_never_answered_is_a_lease_lost() -> None:
    async def story() -> None:
        async with fake_cell() as cell, cell.replica(length_s=600) as one:
            await cell.send()
            await drives(one)
            one.line.hangs = True
            hung_s = now_s()
            await until(lambda: not one.script.driving)
            assert TTL_S - BEAT_S - 0.1 <= now_s() - hung_s <= TTL_S
            assert one.counters.heartbeats_failed >= 3, "each try ended in time for the next"

    run_virtually(story())


@requirement("S5")
def test_a_lease_that_lapsed_by_the_databases_clock_is_lost_whatever_we_reckon() -> None:
    async def story() -> None:
        async with fake_cell() as cell, cell.replica(length_s=600) as one:
            await cell.send()
            await drives(one)
            assert isinstance(cell.store, FakeStore)
            before = one.worker.worker_id
            assert before is not None
            cell.store.lapse(before)
            await until(lambda: one.counters.lease_losses == 1, within_s=BEAT_S + 0.1)
            await drives(one)
            (_, old), (_, new) = one.script.started
            assert (old.worker_id, new.worker_id) == (before, one.worker.worker_id)
            assert new.epoch == old.epoch + 1
            with pytest.raises(FenceStale):
                await one.script.commit(old, await cell.load(old.chat_id))

    run_virtually(story())


def test_a_heartbeat_without_a_connection_tries_until_it_has_one_or_the_lease_ends() -> None:
    async def story() -> None:
        async with fake_cell() as cell, cell.replica() as one:
            one.line.refuses_connections = True
            await asyncio.sleep(TTL_S - 2)
            one.line.refuses_connections = False
            await asyncio.sleep(2 * TTL_S)
            assert one.counters.lease_losses == 0
            assert one.counters.heartbeats > 0
        async with fake_cell() as cell, cell.replica() as one:
            one.line.refuses_connections = True
            await asyncio.sleep(TTL_S + 1)
            assert one.counters.lease_losses == 1
            one.line.refuses_connections = False
            await asyncio.sleep(3 * TTL_S)
            chat = await cell.send()
            assert await cell.until_idle(chat) < 1

    run_virtually(story())


def test_a_few_lost_heartbeats_disturb_nobody() -> None:
    async def story() -> None:
        async with fake_cell() as cell, cell.replica(length_s=30) as one:
            chat = await cell.send()
            await drives(one)
            one.line.faults["heartbeat"] = 3
            await cell.until_idle(chat, within_s=40)
            assert one.counters.heartbeats_failed == 3
            assert (one.counters.lease_losses, len(one.script.started)) == (0, 1)

    run_virtually(story())


def test_a_worker_never_drives_under_two_names_at_once() -> None:
    async def story() -> None:
        active = list[WorkerId]()

        async def drive(chat: Chat, nudges: Interrupts) -> Chat:
            assert chat.worker_id is not None
            assert set(active) <= {chat.worker_id}
            active.append(chat.worker_id)
            try:
                await asyncio.sleep(600)
            finally:
                await asyncio.sleep(1)  # it takes its time to stop
                active.remove(chat.worker_id)
            return chat

        async with fake_cell() as cell, cell.replica(drive=drive) as one:

            async def driven_under(lease: int) -> None:
                await until(lambda: one.counters.leases == lease and len(active) == 5, 60)

            for _ in range(5):
                await cell.send()
            for losses in (1, 2, 3):
                await driven_under(losses)
                one.line.is_cut = True
                await until(lambda: one.counters.lease_losses == losses)  # noqa: B023
                one.line.is_cut = False
            await driven_under(4)
            assert one.counters.leases == 4
            assert one.counters.crashed == 0

    run_virtually(story())


def test_a_runner_that_will_not_stop_does_not_keep_the_worker_from_going_on() -> None:
    async def story() -> None:
        async def stubborn(chat: Chat, nudges: Interrupts) -> Chat:
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                await asyncio.sleep(100)
                raise
            return chat

        async with fake_cell() as cell, cell.replica(drive=stubborn) as one:
            await cell.send()
            await until(lambda: one.counters.driven == 1)
            one.line.is_cut = True
            await until(lambda: one.counters.lease_losses == 1)
            one.line.is_cut = False
            await until(lambda: one.counters.leases == 2, within_s=10)
            assert one.counters.stuck == 1

    run_virtually(story())


def test_a_join_whose_answer_is_lost_is_tried_under_another_name() -> None:
    async def story() -> None:
        async with fake_cell() as cell, cell.replica() as one:
            one.line.answers_lost.add("join")
            chat = await cell.send()
            assert await cell.until_idle(chat) < 1
            assert one.line.count("join") == 2

    run_virtually(story())


@requirement("L83")
def test_the_same_seed_gives_the_same_run() -> None:
    async def story() -> list[object]:
        trace: list[object] = []
        async with fake_cell() as cell:
            options = WorkerOptions(capacity=7)
            async with (
                cell.replica(options, length_s=2) as one,
                cell.replica(options, length_s=3) as two,
            ):
                chats = [await cell.send(silently=n % 3 == 0) for n in range(60)]
                await asyncio.sleep(5)
                one.line.is_cut = True
                await asyncio.sleep(15)
                one.line.is_cut = False
                await cell.until_idle(*chats, within_s=120)
                two.worker.drain()
                await two.worker.run()
                for each in (one, two):
                    trace += [each.script.started, each.script.ended, each.line.asked]
        return trace

    first = run_virtually(story())
    assert len(first) == 6
    assert run_virtually(story()) == first


@pytest.mark.parametrize(
    "wrong",
    [
        {"heartbeat_every_s": 4.0},
        {"heartbeat_timeout_s": 3.5},
        {"retry_s": 0.0},
        {"ttl_s": 8.0},
    ],
)
def test_timings_that_cannot_keep_a_lease_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(AssertionError):
        LeaseTimings(**wrong)
