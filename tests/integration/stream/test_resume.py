"""Coming back: from any event, to any replica, each later event once (R2, L62)."""

from collections.abc import Sequence

from holdfast.domain.commands import CommitStep, Fail, FinishTurn
from holdfast.domain.ids import ChatId
from holdfast.stream.hub import Hub
from holdfast_client.view import EMPTY, WireEvent, WireView, reduce
from tests.requirements import requirement
from tests.support.builders import error, reply, user
from tests.support.buses import until
from tests.support.order import check_order
from tests.support.rough import RoughBus, Weather
from tests.support.streams import (
    NEVER_POLLS,
    Recorder,
    Stage,
    a_long_turn,
    hopping,
    recording,
    said_and_done,
    shown,
)


async def same(readers: Sequence[Recorder], hub: Hub, chat_id: ChatId) -> None:
    """Until all show what a new reader is shown."""
    async with recording(hub, chat_id) as fresh:
        await fresh.until(lambda r: "queue.updated" in r.kinds)
        try:
            await until(lambda: all(shown(r.view) == shown(fresh.view) for r in readers))
        except TimeoutError:
            for reader in readers:
                assert shown(reader.view) == shown(fresh.view), reader.story


@requirement("R2", "R7", "L53", "L62")
async def test_a_reader_that_reconnects_after_every_event_sees_each_of_them_once(
    stage: Stage,
) -> None:
    chat = await stage.create()
    async with (
        stage.replica(NEVER_POLLS) as one,
        stage.replica(NEVER_POLLS) as two,
        recording(one.hub, chat.chat_id) as steady,
        hopping([one.hub, two.hub], chat.chat_id) as hopper,
    ):

        async def settled() -> None:
            await stage.flushed()
            await same([steady, hopper], two.hub, chat.chat_id)

        await settled()
        await a_long_turn(stage, chat.chat_id, settled)

        for reader in (steady, hopper):
            check_order(reader.events)
        assert said_and_done(steady.events) == said_and_done(hopper.events)
        assert steady.view.preview is None
        assert steady.kinds.count("preview.delta") == 14
        assert steady.kinds.count("preview.reset") == 3
        assert any(e.cursor is not None and e.cursor.place is not None for e in hopper.events)

        await _resume_at_every_event(steady, two.hub, chat.chat_id)


async def _resume_at_every_event(steady: Recorder, hub: Hub, chat_id: ChatId) -> None:
    """After the turn, from each of its events: the rest, and the view that all have."""
    view: WireView = EMPTY
    for index, event in enumerate(steady.events):
        view = reduce(view, WireEvent.from_bytes(event.json()))
        if event.cursor is None:
            continue
        async with recording(hub, chat_id, event.cursor) as back:
            back.view = view
            await back.until(lambda r: shown(r.view) == shown(steady.view))
            known = {m["seq"] for m in view.messages}
            told = [line for line in said_and_done(back.events) if line.startswith("message")]
            rest = [f"message {seq}" for seq in steady.seqs if seq not in known]
            assert told == rest, f"from event {index}, {event.cursor.text}: {back.story}"


@requirement("L53", "L69")
async def test_a_takeover_resets_the_preview_for_those_who_saw_one(stage: Stage) -> None:
    chat = await stage.create(user())
    async with stage.replica(NEVER_POLLS) as one, stage.replica(NEVER_POLLS) as two:
        running = await stage.acquire(chat.chat_id)
        async with (
            recording(one.hub, chat.chat_id) as watching,
            recording(two.hub, chat.chat_id) as leaving,
        ):
            await stage.say(running, 2)
            for reader in (watching, leaving):
                await reader.until(lambda r: len(r.parts) == 2)
            cursor = leaving.cursor
        async with recording(one.hub, chat.chat_id, watching.cursor) as watching:
            await stage.rescue(running)
            await watching.until(lambda r: r.status == "running")
            async with (
                stage.replica(NEVER_POLLS) as three,
                recording(three.hub, chat.chat_id) as fresh,
            ):
                taken = await stage.world.load(chat.chat_id)
                await stage.say(taken, 2)
                for reader in (watching, fresh):
                    await reader.until(lambda r: len(r.parts) == 2)
                assert watching.story == [
                    *("status running 2", "preview.reset", "part 2.1", "part 2.2"),
                ]
                assert "preview.reset" not in fresh.kinds
        async with recording(two.hub, chat.chat_id, cursor) as back:
            await back.until(lambda r: len(r.parts) == 2)
            assert back.story == [
                *("status running 2", "preview.reset", "part 2.1", "part 2.2"),
            ]


async def test_who_was_away_while_the_turn_failed_is_told_that_the_preview_is_void(
    stage: Stage,
) -> None:
    chat = await stage.create(user())
    running = await stage.acquire(chat.chat_id)
    async with stage.replica() as one:
        async with recording(one.hub, chat.chat_id) as reader:
            await stage.say(running, 1)
            await reader.until(lambda r: len(r.parts) == 1)
        await stage.drive(running, Fail(error()))
        async with recording(one.hub, chat.chat_id, reader.cursor) as back:
            await back.until(lambda r: r.view.error is not None)
            assert back.story == ["preview.reset", "status failed 1"]
        async with recording(one.hub, chat.chat_id) as fresh:
            await fresh.until(lambda r: r.view.error is not None)
            assert fresh.parts == []


async def test_a_reader_that_knows_it_all_is_told_nothing_and_reads_nothing(stage: Stage) -> None:
    chat = await stage.create(user())
    running = await stage.acquire(chat.chat_id)
    await stage.drive(running, CommitStep((reply(),)), FinishTurn())
    async with stage.replica() as one, recording(one.hub, chat.chat_id) as reader:
        await reader.until(lambda r: r.status == "idle" and "queue.updated" in r.kinds)
        reads = one.store.reads
        async with recording(one.hub, chat.chat_id, reader.cursor) as back:
            polls = one.hub.counters.polls
            await until(lambda: one.hub.counters.polls >= polls + 2)
            assert back.events == []
        assert one.store.reads == reads


@requirement("R2")
async def test_who_knows_of_an_attempt_before_the_replica_does_is_not_begun_anew(
    stage: Stage,
) -> None:
    chat = await stage.create(user())
    async with (
        stage.replica(NEVER_POLLS) as one,
        stage.replica(NEVER_POLLS, lambda bus: RoughBus(bus, Weather(lost=1.0))) as deaf,
        recording(deaf.hub, chat.chat_id) as there,
    ):
        await there.until(lambda r: "queue.updated" in r.kinds)
        await stage.acquire(chat.chat_id)
        async with recording(one.hub, chat.chat_id) as here:
            await here.until(lambda r: "queue.updated" in r.kinds)
        first = here.events[0].cursor
        assert first is not None
        async with recording(deaf.hub, chat.chat_id, first) as back:
            await back.until(lambda r: r.status == "running")

        assert back.seqs == [1]
        assert "history.reset" not in back.kinds
