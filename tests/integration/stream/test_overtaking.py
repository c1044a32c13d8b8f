"""Who sends and who drives tell of their commits in their own time: hints overtake each other."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from holdfast.chats.changes import ChangeRequest
from holdfast.chats.ledger import Ledger
from holdfast.domain.chat import Chat
from holdfast.domain.commands import CommitStep, FinishTurn, SendMessage
from holdfast.ports.bus import Hint, News
from holdfast.stream.feed import Feed
from holdfast.stream.reorder import EARLY_MAX
from tests.requirements import requirement
from tests.support.builders import reply, user
from tests.support.order import check_order
from tests.support.streams import NEVER_POLLS, Recorder, Stage, recording
from tests.support.world import ACTOR

PATIENT = replace(NEVER_POLLS, poll_grace_s=60.0)
HASTY = replace(NEVER_POLLS, poll_grace_s=0.05)


class Held:
    """Hints that are not sent yet."""

    def __init__(self) -> None:
        self.hints: list[Hint] = []

    async def publish(self, hints: Sequence[Hint]) -> None:
        self.hints += hints


async def a_turn(stage: Stage, chat: Chat, parts: int = 3) -> Held:
    """All of it, and of the message that began it nobody was told."""
    held = Held()
    ledger = Ledger(stage.world.store, held, stage.world.clock)
    await ledger.transact(chat.chat_id, ChangeRequest((SendMessage(user()),), by=ACTOR))
    running = await stage.acquire(chat.chat_id)
    await stage.say(running, parts)
    await stage.drive(running, CommitStep((reply(),)), FinishTurn())
    await stage.flushed()
    return held


async def overtaken(stage: Stage) -> tuple[Recorder, int]:
    """What a reader is told when a turn overtakes the message that began it, and the reads."""
    chat = await stage.create()
    async with stage.replica(PATIENT) as one, recording(one.hub, chat.chat_id) as reader:
        await reader.until(lambda r: r.status == "idle")
        reads = one.store.reads
        held = await a_turn(stage, chat)
        await stage.bus.publish(held.hints)
        await reader.until(lambda r: r.seqs == [1, 2] and r.status == "idle")
        reads = one.store.reads + one.hub.counters.live_reads - reads
    return reader, reads


@requirement("L60")
async def test_hints_that_overtake_each_other_are_told_in_order_without_a_read(
    stage: Stage,
) -> None:
    reader, reads = await overtaken(stage)

    assert reads == 0
    assert reader.story == [
        *("history.reset 1", "status idle 0", "queue 0"),
        *("message 1", "status running 0", "status running 1"),
        *("part 1.1", "part 1.2", "part 1.3"),
        *("message 2", "status idle 0"),
    ]


async def test_without_patience_the_store_would_be_read(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def keeps_nothing(_feed: Feed, _news: News) -> bool:
        return False

    monkeypatch.setattr(Feed, "_keep", keeps_nothing)

    _, reads = await overtaken(stage)

    assert reads > 0


async def test_what_does_not_come_in_time_is_read(stage: Stage) -> None:
    chat = await stage.create()
    async with stage.replica(HASTY) as one, recording(one.hub, chat.chat_id) as reader:
        await reader.until(lambda r: r.status == "idle")
        held = await a_turn(stage, chat)
        await reader.until(lambda r: r.seqs == [1, 2] and r.status == "idle")
        told = list(reader.story)

        await stage.bus.publish(held.hints)  # late, and known by now
        again = await stage.do(chat.chat_id, SendMessage(user()))
        await reader.until(lambda r: r.seqs == [1, 2, 3])

        assert again.chat.last_seq == 3
        assert reader.story[: len(told)] == told
        check_order(reader.events)


async def test_more_than_can_be_kept_is_read(stage: Stage) -> None:
    chat = await stage.create()
    async with stage.replica(PATIENT) as one, recording(one.hub, chat.chat_id) as reader:
        await reader.until(lambda r: r.status == "idle")
        await a_turn(stage, chat, parts=EARLY_MAX + 10)
        await reader.until(lambda r: r.seqs == [1, 2] and r.status == "idle")

        check_order(reader.events)


async def test_a_reader_may_leave_while_something_is_kept(stage: Stage) -> None:
    chat = await stage.create()
    async with stage.replica(HASTY) as one:
        async with recording(one.hub, chat.chat_id) as reader:
            await reader.until(lambda r: r.status == "idle")
            await a_turn(stage, chat)
        async with recording(one.hub, chat.chat_id) as reader:
            await reader.until(lambda r: r.seqs == [1, 2] and r.status == "idle")
            check_order(reader.events)
