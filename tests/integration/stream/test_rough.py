"""Durable state alone decides: whatever happens to hints, parts, the bus or the store."""

import asyncio
from contextlib import AsyncExitStack, suppress
from dataclasses import replace

import pytest

from holdfast.domain.commands import Command, CommitStep, FinishTurn, Restore, SendMessage
from holdfast.domain.errors import ChatNotFound, Unavailable
from holdfast.domain.ids import Version
from holdfast.ports.bus import Bus, Episode, Hint
from tests.requirements import requirement
from tests.support.builders import asks, reply, user
from tests.support.buses import until
from tests.support.order import check_order
from tests.support.rough import RoughBus, Weather
from tests.support.streams import (
    NEVER_POLLS,
    QUICK,
    Recorder,
    Stage,
    a_long_turn,
    a_part,
    a_stage,
    recording,
    shown,
)

LOST = Weather(lost=1.0)
ROUGH = Weather(lost=0.3, twice=0.3, late=0.4)


def in_calm(bus: Bus) -> Bus:
    return RoughBus(bus, Weather())


@requirement("L57", "R1")
@pytest.mark.parametrize("weather", [LOST, ROUGH, Weather(late=0.5, twice=1.0)], ids=str)
async def test_rough_weather_still_converges_within_the_poll_interval(
    stage: Stage, weather: Weather
) -> None:
    await _converges(stage, weather, seed=7)


@requirement("L57")
async def test_any_weather_converges() -> None:
    for seed in range(60):
        async with a_stage("fake", "") as stage:
            try:
                await _converges(stage, ROUGH, seed)
            except BaseException as error:
                error.add_note(f"seed {seed}")
                raise


async def _converges(stage: Stage, weather: Weather, seed: int) -> None:
    chat = await stage.create()

    def around(bus: Bus) -> Bus:
        return RoughBus(bus, weather, seed)

    async with (
        stage.replica(QUICK, around) as one,
        recording(one.hub, chat.chat_id) as reader,
    ):

        async def at_once() -> None:
            await asyncio.sleep(0)

        await a_long_turn(stage, chat.chat_id, at_once)
        await stage.flushed()
        async with stage.replica() as calm, recording(calm.hub, chat.chat_id) as fresh:
            await fresh.until(lambda r: r.status == "idle" and "queue.updated" in r.kinds)
            # One interval, the grace, the reads; ten times that is a busy machine.
            await reader.until(
                lambda r: shown(r.view) == shown(fresh.view), QUICK.poll_every_s * 10
            )
            check_order(reader.events)


@requirement("R1")
async def test_with_the_bus_away_messages_arrive_by_the_poll(stage: Stage) -> None:
    chat = await stage.create(user())
    async with stage.replica() as one, recording(one.hub, chat.chat_id) as reader:
        await reader.until(lambda r: "queue.updated" in r.kinds)
        # The world's own ledger tells nobody.
        (running,) = await stage.world.acquire(await stage.world.a_worker())
        await stage.world.drive(running, CommitStep((reply(),)), FinishTurn())
        await reader.until(lambda r: r.seqs == [1, 2] and r.status == "idle")
        assert one.hub.counters.found_by_poll >= 1
        assert one.store.heads_read >= 1


async def test_while_the_store_is_away_readers_stay_and_then_go_on(stage: Stage) -> None:
    chat = await stage.create(user())
    async with stage.replica() as one, recording(one.hub, chat.chat_id) as reader:
        await reader.until(lambda r: "queue.updated" in r.kinds)
        one.store.away = True
        running = await stage.acquire(chat.chat_id)
        await stage.say(running, 1)
        await reader.until(lambda r: len(r.parts) == 1)  # the bus is there
        await stage.server.cut()
        failed = one.hub.counters.failed_reads
        await until(lambda: one.hub.counters.failed_reads > failed)
        with pytest.raises(Unavailable):
            async with one.hub.follow((await stage.create(user())).chat_id, None):
                pass
        await stage.drive(running, CommitStep((reply(),)), FinishTurn())
        one.store.away = False
        await reader.until(lambda r: r.status == "idle")
        assert reader.seqs == [1, 2]
        check_order(reader.events)


@requirement("L59")
async def test_parts_of_another_episode_are_never_shown(stage: Stage) -> None:
    chat = await stage.create(user())
    running = await stage.acquire(chat.chat_id)
    async with stage.replica() as one, recording(one.hub, chat.chat_id) as reader:
        await stage.say(running, 2)
        await reader.until(lambda r: len(r.parts) == 2)
        done = await stage.drive(running, CommitStep((reply(),)), FinishTurn())
        await stage.bus.append([a_part(running, 3, "late"), a_part(done, 1, "after the end")])
        await stage.do(chat.chat_id, SendMessage(user("more")))
        await reader.until(lambda r: r.seqs == [1, 2, 3])
        assert reader.parts == [(1, 1), (1, 2)]


async def test_a_part_of_an_episode_that_nobody_told_of_makes_the_feed_read(stage: Stage) -> None:
    chat = await stage.create(user())
    async with stage.replica(NEVER_POLLS) as one, recording(one.hub, chat.chat_id) as reader:
        await reader.until(lambda r: "queue.updated" in r.kinds)
        (running,) = await stage.world.acquire(await stage.world.a_worker())
        await stage.say(running, 2)
        await reader.until(lambda r: len(r.parts) == 2)
        assert reader.story[-3:] == ["status running 1", "part 1.1", "part 1.2"]


@pytest.mark.parametrize("inline", [b"", b"nonsense", b"1\n2 no_such_kind {}"])
async def test_what_a_hint_cannot_say_is_read(stage: Stage, inline: bytes) -> None:
    chat = await stage.create(user())
    async with stage.replica(NEVER_POLLS) as one, recording(one.hub, chat.chat_id) as reader:
        await reader.until(lambda r: "queue.updated" in r.kinds)
        (running,) = await stage.world.acquire(await stage.world.a_worker())
        commit = await stage.world.drive(running, CommitStep((reply(),)))
        now = commit.chat
        hint = Hint(now.chat_id, now.version, now.status, now.history_version, inline=inline)
        await stage.bus.publish([hint, hint])
        await reader.until(lambda r: r.seqs == [1, 2])
        assert reader.story.count("message 2") == 1


async def test_a_restore_is_told_as_a_reset_and_the_history_from_there(stage: Stage) -> None:
    chat = await stage.create(user("a"), reply())
    said = await stage.do(chat.chat_id, SendMessage(user("b")))
    running = await stage.acquire(chat.chat_id)
    done = await stage.drive(running, CommitStep((reply(),)), FinishTurn())
    async with stage.replica(NEVER_POLLS) as one, recording(one.hub, chat.chat_id) as reader:
        await reader.until(lambda r: r.seqs == [1, 2, 3, 4])
        await stage.do(chat.chat_id, Restore(Version(1)))
        await reader.until(lambda r: r.seqs == [1, 2])
        await stage.do(chat.chat_id, Restore(done.version))
        await reader.until(lambda r: r.seqs == [1, 2, 5, 6])
        assert said.chat.version < done.version
        check_order(reader.events)


@requirement("L58")
async def test_a_preview_whose_beginning_is_lost_is_withheld(stage: Stage) -> None:
    chat = await stage.create(user())
    running = await stage.acquire(chat.chat_id)
    await stage.say(running, 3)
    await stage.flushed()
    assert len(await stage.bus.read_live(chat.chat_id, Episode.of(running))) == 3
    await stage.server.empty()
    async with stage.replica(NEVER_POLLS) as one, recording(one.hub, chat.chat_id) as late:
        await late.until(lambda r: "queue.updated" in r.kinds)
        for _ in range(3):
            await stage.say(running, 1)
            await stage.flushed()
        reads = one.hub.counters.live_reads
        await stage.say(running, 3)
        await stage.drive(running, CommitStep((reply(),)), FinishTurn())
        await late.until(lambda r: r.status == "idle")
        assert late.parts == []
        assert one.hub.counters.live_reads == reads, "asked once, not for every part"


@requirement("L58")
async def test_of_an_answer_that_the_poll_finds_the_rest_is_told_before_its_message(
    stage: Stage,
) -> None:
    chat = await stage.create(user())
    running = await stage.acquire(chat.chat_id)
    async with (
        stage.replica(around=in_calm) as one,
        recording(one.hub, chat.chat_id) as reader,
    ):
        await stage.say(running, 2)
        await reader.until(lambda r: len(r.parts) == 2)
        assert isinstance(one.bus, RoughBus)
        one.bus.weather = LOST
        await stage.say(running, 3)
        await stage.flushed()
        await stage.drive(running, CommitStep((reply(),)), FinishTurn())
        await reader.until(lambda r: r.status == "idle")
        assert one.hub.counters.found_by_poll >= 1
        assert reader.parts == [(1, seq) for seq in range(1, 6)]
        check_order(reader.events)


async def test_nobody_is_too_slow_for_a_rest_that_is_long(stage: Stage) -> None:
    chat = await stage.create(user())
    running = await stage.acquire(chat.chat_id)
    small = replace(QUICK, log_bytes_max=4_096)
    async with (
        stage.replica(small, in_calm) as one,
        recording(one.hub, chat.chat_id) as reader,
    ):
        await stage.say(running, 2)
        await reader.until(lambda r: len(r.parts) == 2)
        assert isinstance(one.bus, RoughBus)
        one.bus.weather = LOST
        await stage.say(running, 40)  # 1,900 bytes, and three times that in the log
        await stage.flushed()
        await stage.drive(running, CommitStep((reply(),)), FinishTurn())
        await reader.until(lambda r: r.status == "idle")
        assert len(reader.parts) == 2


@pytest.mark.parametrize(
    "ends",
    [(CommitStep((reply(),)), FinishTurn()), (CommitStep((asks("c1"),)),)],
    ids=["the turn ends", "it goes on"],
)
async def test_a_bus_that_hangs_keeps_no_crowd_of_chats_from_its_messages(
    stage: Stage, ends: tuple[Command, ...]
) -> None:
    chats = [await stage.acquire((await stage.create(user())).chat_id) for _ in range(20)]
    options = replace(QUICK, poll_every_s=1.0, poll_grace_s=0.2, reads_max=1)
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(stage.replica(options, in_calm))
        readers = [
            await stack.enter_async_context(recording(one.hub, chat.chat_id)) for chat in chats
        ]
        for chat, reader in zip(chats, readers, strict=True):
            await stage.say(chat, 1)
            await reader.until(lambda r: len(r.parts) == 1)
        assert isinstance(one.bus, RoughBus)
        one.bus.weather, one.bus.hangs = LOST, True
        for chat in chats:
            await stage.say(chat, 1)
            await stage.drive(chat, *ends)
        reads = one.hub.counters.live_reads
        with suppress(AssertionError):  # told below, and not in twenty groups of errors
            for reader in readers:
                await reader.until(lambda r: r.seqs == [1, 2])
        reads = one.hub.counters.live_reads - reads
    assert [reader.seqs for reader in readers] == [[1, 2]] * len(chats)
    assert reads < len(chats) / 2, "one waits for the bus, not each in turn"


async def test_a_chat_that_is_gone_ends_its_readers(stage: Stage) -> None:
    chat = await stage.create(user())
    async with stage.replica() as one, asyncio.TaskGroup() as tasks:
        reader = Recorder(one.hub, chat.chat_id)
        tasks.create_task(reader.run())
        await reader.until(lambda r: "queue.updated" in r.kinds)
        await stage.world.clear([chat.chat_id])
        await reader.until(lambda r: r.ended)
        await until(lambda: one.hub.counters.feeds == 0)
        with pytest.raises(ChatNotFound):
            async with one.hub.follow(chat.chat_id, reader.cursor):
                pass


async def test_a_gap_is_looked_at_at_once(stage: Stage) -> None:
    chat = await stage.create(user())
    async with stage.replica(NEVER_POLLS) as one, recording(one.hub, chat.chat_id) as reader:
        await reader.until(lambda r: "queue.updated" in r.kinds)
        (running,) = await stage.world.acquire(await stage.world.a_worker())
        await stage.world.drive(running, CommitStep((reply(),)), FinishTurn())
        await stage.server.cut()
        await reader.until(lambda r: r.seqs == [1, 2] and r.status == "idle")
        assert one.hub.counters.gaps >= 1
        assert one.hub.counters.polls >= 1
