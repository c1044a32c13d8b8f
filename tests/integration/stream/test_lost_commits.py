"""A database that lost commits (a failover to an asynchronous standby, a restored backup) counts
the same versions again, for other commits. A reader that saw the lost ones begins anew (L146)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from holdfast.chats.changes import ChangeRequest
from holdfast.domain.chat import Chat
from holdfast.domain.commands import CommitStep, FinishTurn, SendMessage
from holdfast.domain.events import EventType
from holdfast.domain.ids import ChatId, Version
from holdfast.stream.hub import Hub
from holdfast_client.view import WireView
from tests.requirements import requirement
from tests.support.builders import reply, user
from tests.support.order import check_order
from tests.support.streams import NEVER_POLLS, Recorder, Stage, a_part, recording, shown
from tests.support.world import ACTOR

FIRST = ["hello", "hi"]
LOST = [*FIRST, "pay 100 to ALICE", "ALICE is paid"]
AGAIN = [*FIRST, "pay 5 to BOB", "BOB is paid"]
PASSED = [*AGAIN, "thank you", "you are welcome"]

how_far = pytest.mark.parametrize("passed", [False, True], ids=["come again", "passed"])


async def a_turn(stage: Stage, chat_id: ChatId, question: str, answer: str) -> Chat:
    await stage.do(chat_id, SendMessage(user(question)))
    return await answered(stage, await stage.acquire(chat_id), answer)


async def answered(stage: Stage, running: Chat, answer: str) -> Chat:
    return await stage.drive(running, CommitStep((reply(answer),)), FinishTurn())


async def a_silent_turn(stage: Stage, chat_id: ChatId, question: str, answer: str) -> Chat:
    """Whose hints are lost."""
    world = stage.world
    await world.do(chat_id, SendMessage(user(question)))
    (running,) = await world.acquire(await world.a_worker(), limit=100)
    return (await world.drive(running, CommitStep((reply(answer),)), FinishTurn())).chat


async def a_chat(stage: Stage) -> Chat:
    chat = await stage.create(user(FIRST[0]))
    return await answered(stage, await stage.acquire(chat.chat_id), FIRST[1])


def texts(view: WireView) -> list[str]:
    return [message["parts"][0]["text"] for message in view.messages]


def says(expected: list[str]) -> Callable[[Recorder], bool]:
    return lambda reader: texts(reader.view) == expected and reader.status == "idle"


async def seen(hub: Hub, chat_id: ChatId) -> Recorder:
    """A reader that was told everything, and left."""
    async with recording(hub, chat_id) as reader:
        await reader.until(lambda r: r.status == "idle" and "queue.updated" in r.kinds)
    return reader


@requirement("L146", "R8")
@how_far
async def test_reader_of_lost_commits_begins_anew_when_it_comes_back(
    stage: Stage, passed: bool
) -> None:
    kept = await a_chat(stage)
    chat_id, set_back = kept.chat_id, await stage.world.keep(kept.chat_id)
    lost = await a_turn(stage, chat_id, *LOST[2:])
    async with stage.replica() as one:
        reader = await seen(one.hub, chat_id)
    assert texts(reader.view) == LOST

    await set_back()
    again = await a_turn(stage, chat_id, *AGAIN[2:])
    assert (again.version, again.history_version) == (lost.version, lost.history_version)
    if passed:
        await a_turn(stage, chat_id, *PASSED[4:])
    expected = PASSED if passed else AGAIN

    async with stage.replica(NEVER_POLLS) as two:
        for event in reader.events:
            cursor = event.cursor
            assert cursor is not None
            async with recording(two.hub, chat_id, cursor) as back:
                back.view = reader.view if cursor.version > kept.version else back.view
                await back.until(lambda r: texts(r.view)[-1:] == expected[-1:])
                begun_anew = back.story[0] == "history.reset 1"
                assert begun_anew is (cursor.version > kept.version), cursor.text
                if begun_anew:
                    await back.until(says(expected))


@requirement("L146", "R2")
async def test_reader_of_what_is_stored_goes_on_from_every_event(stage: Stage) -> None:
    kept = await a_chat(stage)
    chat_id, set_back = kept.chat_id, await stage.world.keep(kept.chat_id)
    await a_turn(stage, chat_id, *LOST[2:])
    await set_back()
    await a_turn(stage, chat_id, *AGAIN[2:])
    async with stage.replica() as one:
        reader = await seen(one.hub, chat_id)
    await a_turn(stage, chat_id, *PASSED[4:])

    async with stage.replica(NEVER_POLLS) as two:
        for event in reader.events:
            cursor = event.cursor
            assert cursor is not None
            assert cursor.stamp, "every cursor of this version holds a stamp"
            async with recording(two.hub, chat_id, cursor) as back:
                await back.until(lambda r: texts(r.view)[-1:] == PASSED[-1:])
                assert "history.reset" not in back.kinds, cursor.text


async def test_cursor_of_an_older_version_is_resumed_without_a_stamp(stage: Stage) -> None:
    chat_id = (await a_chat(stage)).chat_id
    async with stage.replica() as one:
        reader = await seen(one.hub, chat_id)
        assert reader.cursor is not None
        await a_turn(stage, chat_id, *AGAIN[2:])
        async with recording(one.hub, chat_id, replace(reader.cursor, stamp=0)) as back:
            await back.until(lambda r: texts(r.view) == AGAIN[2:])
            assert "history.reset" not in back.kinds


@requirement("L146")
@how_far
async def test_connected_reader_begins_anew_after_an_outage_that_lost_commits(
    stage: Stage, passed: bool
) -> None:
    """The poll comes too late to see that the count fell, and no hint comes."""
    chat_id = (await a_chat(stage)).chat_id
    set_back = await stage.world.keep(chat_id)
    async with stage.replica() as one, recording(one.hub, chat_id) as reader:
        await a_turn(stage, chat_id, *LOST[2:])
        await reader.until(says(LOST))
        one.store.away = True
        await set_back()
        await a_silent_turn(stage, chat_id, *AGAIN[2:])
        if passed:
            await a_silent_turn(stage, chat_id, *PASSED[4:])
        one.store.away = False

        await reader.until(says(PASSED if passed else AGAIN))
        assert reader.story.count("history.reset 1") == 2
        check_order(reader.events)


@requirement("L146")
@how_far
async def test_hint_tells_a_connected_reader_that_commits_were_lost(
    stage: Stage, passed: bool
) -> None:
    """Of a commit with the version that it knows, or of one that follows another commit."""
    chat_id = (await a_chat(stage)).chat_id
    set_back = await stage.world.keep(chat_id)
    async with stage.replica(NEVER_POLLS) as one, recording(one.hub, chat_id) as reader:
        await a_turn(stage, chat_id, *LOST[2:])
        await reader.until(says(LOST))
        await set_back()
        if passed:
            await a_silent_turn(stage, chat_id, *AGAIN[2:])
            await a_turn(stage, chat_id, *PASSED[4:])
        else:
            await a_turn(stage, chat_id, *AGAIN[2:])

        await reader.until(says(PASSED if passed else AGAIN))
        assert reader.story.count("history.reset 1") == 2
        check_order(reader.events)
        async with recording(one.hub, chat_id) as fresh:
            await fresh.until(lambda r: shown(r.view) == shown(reader.view))


@requirement("L146")
async def test_hint_of_a_lost_commit_is_not_told(stage: Stage) -> None:
    chat = await stage.create(user(FIRST[0]))
    chat_id, world = chat.chat_id, stage.world
    set_back = await world.keep(chat_id)
    for text in ("lost", "lost as well"):
        await world.ledger.transact(chat_id, ChangeRequest((SendMessage(user(text)),), by=ACTOR))
    late = world.hints.published[-1]
    await set_back()
    async with stage.replica(NEVER_POLLS) as one, recording(one.hub, chat_id) as reader:
        await reader.until(lambda r: "queue.updated" in r.kinds)
        await stage.do(chat_id, SendMessage(user("one")))
        await reader.until(lambda r: len(r.view.queue) == 1)
        assert late.version == Version(chat.version + 2)
        await stage.bus.publish([late])
        await stage.flushed()
        await stage.do(chat_id, SendMessage(user("two")))
        await reader.until(lambda r: len(r.view.queue) == 2)

        assert queues(reader) == [[], ["one"], ["one", "two"]]


@requirement("L146", "L58")
async def test_part_of_a_lost_attempt_is_not_shown(stage: Stage) -> None:
    """Neither from the live log, nor when it comes late, nor one that goes on from what is shown,
    although the attempt that is stored has the same numbers."""
    chat_id = (await a_chat(stage)).chat_id
    set_back = await stage.world.keep(chat_id)
    await stage.do(chat_id, SendMessage(user(LOST[2])))
    lost = await stage.acquire(chat_id)
    await stage.say(lost, 2, "ALICE")
    await stage.flushed()
    await set_back()
    await stage.do(chat_id, SendMessage(user(AGAIN[2])))
    stored = await stage.acquire(chat_id)
    assert (lost.history_version, lost.attempt) == (stored.history_version, stored.attempt)

    async with stage.replica(NEVER_POLLS) as one, recording(one.hub, chat_id) as reader:
        await reader.until(lambda r: "queue.updated" in r.kinds)
        await stage.bus.append([a_part(lost, 1, "ALICE1 ")])
        await stage.say(stored, 1, "BOB")
        await stage.bus.append([a_part(lost, 2, "ALICE2 ")])
        await stage.say(stored, 1, "BOB")
        await reader.until(lambda r: len(r.parts) == 2)
    assert words(reader) == ["BOB1 ", "BOB2 "]


def data_of(reader: Recorder, kind: EventType) -> list[Any]:
    return [orjson.loads(event.data) for event in reader.events if event.kind is kind]


def words(reader: Recorder) -> list[str]:
    told = data_of(reader, EventType.PREVIEW_DELTA)
    return [delta["text"] for data in told for delta in data["deltas"]]


def queues(reader: Recorder) -> list[list[str]]:
    told = data_of(reader, EventType.QUEUE_UPDATED)
    return [[each["parts"][0]["text"] for each in data["messages"]] for data in told]
