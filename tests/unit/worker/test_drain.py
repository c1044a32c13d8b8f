"""How a worker stops: over verified fakes, in virtual time."""

import asyncio
from dataclasses import replace
from datetime import timedelta

from holdfast.domain.chat import Chat
from holdfast.turn.interrupts import Interrupts
from holdfast.worker.options import WorkerOptions
from holdfast.worker.runners import Drive
from tests.requirements import requirement
from tests.support.virtual import run_virtually
from tests.support.workers import NEVER_S, fake_cell, until

NO_TIMER = WorkerOptions(acquire_every_s=NEVER_S)
ROOMY = replace(NO_TIMER, capacity=1000)
TTL = timedelta(seconds=10)


@requirement("L72")
def test_a_drained_worker_hands_over_at_once_and_leaves() -> None:
    async def story() -> None:
        async with fake_cell() as cell, cell.replica(NO_TIMER, length_s=600) as old:
            for _ in range(100):
                await cell.send()
            await until(lambda: len(old.script.driving) == 100)
            name = old.worker.worker_id
            assert name is not None
            async with cell.replica(ROOMY, length_s=600) as new:
                await asyncio.sleep(1)
                old.worker.drain()
                assert await until(lambda: len(new.script.driving) == 100) < 1
                async with asyncio.timeout(1):
                    await old.worker.run()
                assert await cell.leases.heartbeat(name, ttl=TTL) is None
                assert old.line.count("release") <= 3, "many in one statement"
                await cell.send()
                await until(lambda: len(new.script.driving) == 101)
                assert len(old.script.started) == 100

    run_virtually(story())


def test_a_tool_that_must_finish_delays_only_its_own_chat() -> None:
    async def story() -> None:
        slow: list[Chat] = []

        async def drive(chat: Chat, nudges: Interrupts) -> Chat:
            if not slow:
                slow.append(chat)
                await asyncio.sleep(20)  # longer than the lease, which is kept alive
                return chat
            await nudges.wait()
            return chat

        async with fake_cell() as cell, cell.replica(NO_TIMER, drive=drive) as old:
            for _ in range(5):
                await cell.send()
            await until(lambda: old.counters.driven == 5)
            async with cell.replica(NO_TIMER, length_s=600) as new:
                await asyncio.sleep(1)
                old.worker.drain()
                assert await until(lambda: len(new.script.driving) == 4) < 1
                took = await until(lambda: len(new.script.driving) == 5)
                assert 15 < took < 20
                assert old.counters.lease_losses == 0

    run_virtually(story())


def test_who_does_not_let_go_in_time_is_stopped_and_its_chat_handed_over() -> None:
    async def story() -> None:
        async def drive(chat: Chat, nudges: Interrupts) -> Chat:
            await asyncio.sleep(600)
            return chat

        async with fake_cell() as cell:
            options = replace(NO_TIMER, drain_s=5.0)
            async with cell.replica(options, drive=drive) as old:
                await cell.send()
                await until(lambda: old.counters.driven == 1)
                async with cell.replica(NO_TIMER, length_s=600) as new:
                    await asyncio.sleep(1)
                    old.worker.drain()
                    assert 5 <= await until(lambda: len(new.script.driving) == 1) < 6

    run_virtually(story())


@requirement("L72")
def test_a_worker_that_is_cancelled_leaves_so_that_its_chats_move_at_once() -> None:
    async def story() -> None:
        async with fake_cell() as cell, asyncio.TaskGroup() as tasks:

            async def old() -> None:
                async with cell.replica(NO_TIMER, length_s=600):
                    await cell.send()
                    await asyncio.sleep(600)

            task = tasks.create_task(old())
            await asyncio.sleep(1)
            async with cell.replica(NO_TIMER, length_s=600) as heir:
                await asyncio.sleep(1)
                assert not heir.script.started
                task.cancel()
                assert await until(lambda: len(heir.script.driving) == 1) < 1

    run_virtually(story())


def test_what_the_last_acquire_brought_is_given_back() -> None:
    async def story() -> None:
        async with fake_cell() as cell, cell.replica(NO_TIMER, length_s=600) as old:
            await until(lambda: old.line.count("acquire") == 1)
            acquire = old.line.acquire

            async def slowly(*args: object, **more: object) -> object:
                chats = await acquire(*args, **more)  # type: ignore[arg-type]
                await asyncio.sleep(1)
                return chats

            old.line.acquire = slowly  # type: ignore[method-assign]
            chat = await cell.send()
            await until(lambda: old.line.count("acquire") == 2)
            old.worker.drain()
            async with cell.replica(NO_TIMER) as new:
                assert await cell.until_idle(chat) < 1.5
                assert (len(old.script.started), len(new.script.started)) == (0, 1)

    run_virtually(story())


def test_a_worker_that_never_reached_the_database_can_be_drained() -> None:
    async def story() -> None:
        async with fake_cell() as cell, cell.replica() as one:
            one.line.is_cut = True
            await asyncio.sleep(30)
            one.worker.drain()
            async with asyncio.timeout(1):
                await one.worker.run()
            assert one.counters.leases == 0

    run_virtually(story())


# Replies that are under way.

FINISHING = replace(NO_TIMER, finish_replies_s=8.0, drain_s=10.0)


def replies_of(length_s: float, cut: list[bool]) -> Drive:
    """Drivers in the middle of a reply that takes so long, and whether each was cut."""

    async def drive(chat: Chat, nudges: Interrupts) -> Chat:
        with nudges.replying():
            try:
                async with asyncio.timeout(length_s):
                    await nudges.wait()
            except TimeoutError:
                pass
            cut.append(nudges.leaving)
        assert nudges.leaving, "nothing is begun after the reply"
        return chat

    return drive


async def drained_in_a_reply_of(length_s: float) -> tuple[list[bool], float]:
    """A worker is drained a second into its reply: whether the reply was cut, and after how long
    another worker drives the chat."""
    cut: list[bool] = []
    async with (
        fake_cell() as cell,
        cell.replica(FINISHING, drive=replies_of(length_s, cut)) as old,
    ):
        await cell.send()
        await until(lambda: old.counters.driven == 1)
        async with cell.replica(NO_TIMER, length_s=600) as new:
            await asyncio.sleep(1)
            old.worker.drain()
            took_s = await until(lambda: len(new.script.driving) == 1)
            return list(cut), took_s


@requirement("L72", "F30")
def test_a_reply_that_ends_in_time_is_not_cut_by_a_drain() -> None:
    async def story() -> None:
        cut, took_s = await drained_in_a_reply_of(5.0)
        assert cut == [False]
        assert 3 < took_s < 5

    run_virtually(story())


@requirement("L72", "F30")
def test_a_reply_that_takes_too_long_is_handed_over_within_the_bound() -> None:
    async def story() -> None:
        cut, took_s = await drained_in_a_reply_of(600.0)
        assert cut == [True]
        assert 8 <= took_s < 10

    run_virtually(story())


def test_chats_without_a_reply_do_not_wait_for_those_with_one() -> None:
    async def story() -> None:
        cut: list[bool] = []
        reply = replies_of(600.0, cut)

        async def drive(chat: Chat, nudges: Interrupts) -> Chat:
            if old.counters.driven == 1:
                return await reply(chat, nudges)
            await nudges.wait()
            return chat

        async with fake_cell() as cell, cell.replica(FINISHING, drive=drive) as old:
            for _ in range(3):
                await cell.send()
                await asyncio.sleep(1)
            await until(lambda: old.counters.driven == 3)
            async with cell.replica(NO_TIMER, length_s=600) as new:
                await asyncio.sleep(1)
                old.worker.drain()
                assert await until(lambda: len(new.script.driving) == 2) < 1
                assert cut == []
                assert await until(lambda: len(new.script.driving) == 3) > 6

    run_virtually(story())
