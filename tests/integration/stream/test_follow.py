"""Readers on several replicas: each event once, in order, from wherever they begin."""

import asyncio

import pytest

from holdfast.domain.commands import CommitStep, EditMessage, FinishTurn, SendMessage
from holdfast.domain.errors import ChatNotFound
from holdfast.domain.ids import Seq, Version
from holdfast.stream.cursor import Cursor
from tests.requirements import requirement
from tests.support.builders import asks, reply, results, user
from tests.support.buses import until
from tests.support.streams import NEVER_POLLS, Recorder, Stage, recording


async def test_a_turn_is_told_part_by_part_then_as_a_message(stage: Stage) -> None:
    chat = await stage.create()
    async with (
        stage.replica() as one,
        stage.replica() as two,
        recording(one.hub, chat.chat_id) as first,
        recording(two.hub, chat.chat_id) as second,
    ):
        for reader in (first, second):
            await reader.until(lambda r: r.status == "idle")
        await stage.do(chat.chat_id, SendMessage(user()))
        running = await stage.acquire(chat.chat_id)
        await stage.say(running, 3)
        await stage.drive(running, CommitStep((reply(),)), FinishTurn())
        for reader in (first, second):
            await reader.until(lambda r: r.seqs == [1, 2] and r.status == "idle")
            assert reader.story == [
                *("history.reset 1", "status idle 0", "queue 0"),
                *("message 1", "status running 0", "status running 1"),
                *("part 1.1", "part 1.2", "part 1.3"),
                *("message 2", "status idle 0"),
            ]
            assert reader.view.preview is None
        assert first.events == second.events


@requirement("L60")
async def test_contiguous_hints_cause_no_read(stage: Stage) -> None:
    chat = await stage.create(user())
    async with (
        stage.replica(NEVER_POLLS) as one,
        recording(one.hub, chat.chat_id) as reader,
    ):
        await reader.until(lambda r: r.seqs == [1] and r.status == "running")
        reads, counted = one.store.reads, one.hub.counters.reads
        running = await stage.acquire(chat.chat_id)
        for _ in range(5):
            running = await stage.drive(running, CommitStep((asks("c"),)))
            await stage.say(running, 2)
            running = await stage.drive(running, CommitStep((results("c"),)))
        await stage.drive(running, CommitStep((reply(),)), FinishTurn())
        await reader.until(lambda r: r.status == "idle")

        assert reader.seqs == list(range(1, 13))
        assert one.store.reads == reads
        assert one.hub.counters.reads == counted
        assert one.hub.counters.commits == 12


async def test_nobody_follows_an_unknown_chat(stage: Stage) -> None:
    async with stage.replica() as one:
        for _ in range(2):
            with pytest.raises(ChatNotFound):
                async with one.hub.follow(stage.world.ids.new_chat_id(), None):
                    pass
        assert one.hub.counters.feeds == 0


async def test_a_feed_is_closed_soon_after_its_last_reader_left(stage: Stage) -> None:
    chat = await stage.create(user())
    async with stage.replica() as one:
        async with recording(one.hub, chat.chat_id) as reader:
            await reader.until(lambda r: r.seqs == [1])
            assert (one.hub.counters.readers, one.hub.counters.feeds) == (1, 1)
            assert one.bus.counters.watching == 1
        await until(lambda: one.hub.counters.feeds == 0 and one.bus.counters.watching == 0)
        assert one.hub.counters.readers == 0


async def test_leaving_the_hub_ends_every_reader(stage: Stage) -> None:
    chat = await stage.create(user())
    async with asyncio.TaskGroup() as tasks:
        async with stage.replica() as one:
            readers = [Recorder(one.hub, chat.chat_id) for _ in range(5)]
            for reader in readers:
                tasks.create_task(reader.run())
                await reader.until(lambda r: r.seqs == [1])
        for reader in readers:
            await reader.until(lambda r: r.ended)
    assert all(reader.ended for reader in readers)


@requirement("L58")
@pytest.mark.parametrize("spoken", range(5))
async def test_a_latecomer_gets_the_parts_from_the_first_on(stage: Stage, spoken: int) -> None:
    chat = await stage.create(user())
    async with stage.replica(NEVER_POLLS) as one, stage.replica(NEVER_POLLS) as two:
        running = await stage.acquire(chat.chat_id)
        async with recording(one.hub, chat.chat_id) as early:
            await early.until(lambda r: r.status == "running")
            if spoken:
                await stage.say(running, spoken)
                await early.until(lambda r: len(r.parts) == spoken)
            for hub in (one.hub, two.hub):
                async with recording(hub, chat.chat_id) as late:
                    await late.until(lambda r, n=spoken: len(r.parts) == n and r.status is not None)
                    await stage.say(running)
                    spoken += 1
                    await late.until(lambda r, n=spoken: len(r.parts) == n)
                    assert late.parts == [(1, n + 1) for n in range(spoken)]
            await early.until(lambda r: len(r.parts) == spoken)
            assert early.parts == late.parts


@requirement("L61")
async def test_an_edit_resets_the_history_and_tells_what_is_visible_from_there(
    stage: Stage,
) -> None:
    chat = await stage.create(user("a"), reply(), user("b"), reply())
    async with stage.replica() as one, recording(one.hub, chat.chat_id) as reader:
        await reader.until(lambda r: r.seqs == [1, 2, 3, 4])
        before = len(reader.events)
        cursor = reader.cursor
        await stage.do(chat.chat_id, EditMessage(Seq(3), user("c")))
        await reader.until(lambda r: r.status == "running")
        assert reader.story[before:] == ["history.reset 3", "message 5", "status running 0"]
        assert reader.seqs == [1, 2, 5]
        async with (
            stage.replica() as two,
            recording(two.hub, chat.chat_id, cursor) as back,
        ):
            await back.until(lambda r: r.status == "running")
            assert back.story[:2] == ["history.reset 3", "message 5"]


@requirement("R8")
@pytest.mark.parametrize(
    "cursor",
    [None, Cursor(Version(99), 0, 0), Cursor(Version(1), 7, 3), Cursor(Version(1), 0, 0)],
    ids=["none", "too new", "no such attempt", "too old"],
)
async def test_an_unknown_cursor_gives_a_reset_and_a_snapshot(
    stage: Stage, cursor: Cursor | None
) -> None:
    chat = await stage.create(*(user(str(n)) for n in range(3)))
    running = await stage.acquire(chat.chat_id)
    if cursor == Cursor(Version(1), 0, 0):
        for n in range(260):
            running = await stage.drive(
                running, CommitStep((asks(f"c{n}"),)), CommitStep((results(f"c{n}"),))
            )
    async with stage.replica() as one, recording(one.hub, chat.chat_id, cursor) as reader:
        await reader.until(lambda r: r.status == "running")
        assert reader.story[0] == "history.reset 1"
        last = 3 if len(reader.seqs) == 3 else 523
        assert reader.seqs == list(range(max(1, last - 199), last + 1))
        assert reader.view.older == (None if last == 3 else 324)
        assert one.hub.counters.snapshots == 1
