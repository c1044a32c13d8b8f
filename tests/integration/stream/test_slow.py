"""Readers that are slow, many, or early: bounded, and they delay no other reader."""

import asyncio
import logging
import tracemalloc

import pytest

from holdfast.domain.commands import CommitStep, FinishTurn, SendMessage
from holdfast.domain.events import EventType
from holdfast.stream.options import HubOptions
from holdfast_client.view import WireEvent, reduce
from tests.requirements import requirement
from tests.support.builders import asks, reply, results, user
from tests.support.buses import until
from tests.support.order import check_order
from tests.support.streams import (
    NEVER_POLLS,
    QUICK,
    Recorder,
    Stage,
    a_stage,
    recording,
    shown,
)
from tests.support.waits import HANG_S

SHORT = HubOptions(poll_every_s=3600, linger_s=0.05, log_max=20)


@requirement("R5", "L64", "L65")
async def test_slow_reader_resumes_at_its_cursor_without_a_snapshot(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    chat = await stage.create(user())
    async with (
        stage.replica(SHORT) as one,
        recording(one.hub, chat.chat_id) as quick,
        one.hub.follow(chat.chat_id, None) as events,
    ):
        slow = Recorder(one.hub, chat.chat_id)
        while slow.status is None or "queue.updated" not in slow.kinds:
            slow.take(await anext(events))
        running = await stage.acquire(chat.chat_id)
        await quick.until(lambda r: r.view.state is not None and r.view.state["attempt"] == 1)
        with caplog.at_level(logging.WARNING, "holdfast.stream"):
            for _ in range(5):  # the quick one keeps up because it is asked to
                await stage.say(running, 10)
                seen = len(quick.parts)
                await quick.until(lambda r, n=seen: len(r.parts) == n + 10)
            running = await stage.drive(running, CommitStep((asks("c"),)))
            await stage.drive(
                running, CommitStep((results("c"),)), CommitStep((reply(),)), FinishTurn()
            )
            await quick.until(lambda r: r.status == "idle")
            async with asyncio.timeout(HANG_S):
                while shown(slow.view) != shown(quick.view):
                    slow.take(await anext(events))

        check_order(slow.events)
        assert slow.kinds.count("history.reset") == 1
        assert one.hub.counters.lagged == 1
        assert [r.levelname for r in caplog.records] == ["WARNING"]


@requirement("L64")
async def test_many_readers_share_one_read(stage: Stage) -> None:
    chat = await stage.create(user())
    running = await stage.acquire(chat.chat_id)
    async with stage.replica(QUICK) as one, asyncio.TaskGroup() as tasks:
        readers = [Recorder(one.hub, chat.chat_id) for _ in range(50)]
        running_readers = [tasks.create_task(reader.run()) for reader in readers]
        for reader in readers:
            await reader.until(lambda r: r.seqs == [1] and "queue.updated" in r.kinds)
        assert one.store.reads == 2, "the facts and a page, for all of them"
        # A commit that nobody tells of: by the ledger of somebody whose hints are lost.
        await stage.world.drive(running, CommitStep((reply(),)), FinishTurn())
        for reader in readers:
            await reader.until(lambda r: r.seqs == [1, 2] and r.status == "idle")
        assert one.store.reads == 4
        assert one.hub.counters.found_by_poll == 1
        for task in running_readers:
            task.cancel()


async def test_a_latecomer_takes_a_long_preview_a_piece_at_a_time(stage: Stage) -> None:
    chat = await stage.create(user())
    running = await stage.acquire(chat.chat_id)
    await stage.say(running, 40, "x" * 1_000)
    await stage.flushed()
    options = HubOptions(poll_every_s=3600, parts_bytes_max=5_000)
    async with stage.replica(options) as one, recording(one.hub, chat.chat_id) as late:
        await late.until(lambda r: len(r.parts) == 40)
        assert late.parts == [(1, n) for n in range(1, 41)]
        assert one.hub.counters.live_reads > 4


async def test_readers_that_never_read_cost_little() -> None:
    async with a_stage("fake", "") as stage, stage.replica(NEVER_POLLS) as one:
        chat = await stage.create(user("x" * 10_000))
        tracemalloc.start()
        try:
            async with asyncio.TaskGroup() as tasks:
                stop = asyncio.Event()
                sitting: list[object] = []

                async def sit() -> None:
                    async with one.hub.follow(chat.chat_id, None) as events:
                        sitting.append(events)
                        await stop.wait()

                for _ in range(1_000):
                    tasks.create_task(sit())
                await until(lambda: len(sitting) == 1_000)
                before = tracemalloc.get_traced_memory()[0]
                async with recording(one.hub, chat.chat_id) as reader:
                    await reader.until(lambda r: r.seqs == [1])
                    running = await stage.acquire(chat.chat_id)
                    await stage.say(running, 500, "y" * 1_000)
                    await reader.until(lambda r: len(r.parts) == 500)
                    reader.events.clear()
                    reader.view = reduce(reader.view, WireEvent("preview.reset", {}))
                    grown = tracemalloc.get_traced_memory()[0] - before
                assert before < 1_000 * 8_000, "with the task that the edge has for each"
                assert grown < 10_000_000, "what is said, 500 KB, is not kept per reader"
                stop.set()
        finally:
            tracemalloc.stop()


async def test_silence_is_broken_by_pings() -> None:
    async with a_stage("fake", "") as stage:
        chat = await stage.create(user())
        options = HubOptions(poll_every_s=3600, ping_every_s=0.05)
        async with (
            stage.replica(options) as one,
            one.hub.follow(chat.chat_id, None) as events,
            asyncio.timeout(HANG_S),
        ):
            while (await anext(events)).kind is not EventType.QUEUE_UPDATED:
                pass  # it is the last of the facts
            assert [(await anext(events)).kind for _ in range(2)] == [EventType.PING] * 2
            await stage.do(chat.chat_id, SendMessage(user()))
            while (await anext(events)).kind is not EventType.QUEUE_UPDATED:
                pass
