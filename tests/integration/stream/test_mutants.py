"""Each protection is seen to matter: take it away, and a reader loses or repeats something."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from holdfast.chats.changes import ChangeRequest
from holdfast.domain.commands import CommitStep, DeclareTools, FinishTurn, SendMessage
from holdfast.domain.events import EventType
from holdfast.ports.bus import Bus
from holdfast.stream import follower
from holdfast.stream.catch_up import CatchUp
from holdfast.stream.cursor import Cursor
from holdfast.stream.events import StreamEvent, ping
from holdfast.stream.feed import Feed
from holdfast.stream.follower import Follower
from holdfast.stream.progress import FeedProgress
from tests.requirements import requirement
from tests.support.builders import a_tool, reply, user
from tests.support.buses import until
from tests.support.order import check_order
from tests.support.rough import RoughBus, Weather
from tests.support.streams import (
    NEVER_POLLS,
    Stage,
    a_part,
    a_stage,
    recording,
)
from tests.support.waits import HANG_S
from tests.support.world import ACTOR

SOON_S = 1.0


async def nothing_falls_between_reading_and_following(stage: Stage, within_s: float) -> None:
    """A commit and a part while the feed reads its first facts: told all the same."""
    chat = await stage.create(user())
    async with stage.replica(NEVER_POLLS) as one:

        async def meanwhile() -> None:
            running = await stage.acquire(chat.chat_id)
            await stage.drive(running, CommitStep((reply(),)), FinishTurn())
            await stage.flushed()

        one.store.after_load = meanwhile
        async with recording(one.hub, chat.chat_id) as reader:
            await reader.until(lambda r: r.seqs == [1, 2], within_s)
            check_order(reader.events)


async def gaps_in_live_parts_are_filled(stage: Stage, within_s: float) -> None:
    chat = await stage.create(user())
    running = await stage.acquire(chat.chat_id)
    rough: list[RoughBus] = []

    def around(bus: Bus) -> Bus:
        rough.append(RoughBus(bus, Weather()))
        return rough[0]

    async with (
        stage.replica(NEVER_POLLS, around) as one,
        recording(one.hub, chat.chat_id) as reader,
    ):
        await stage.say(running, 2)
        await reader.until(lambda r: len(r.parts) == 2, within_s)
        rough[0].weather = Weather(lost=1.0)
        await stage.say(running, 2)
        await stage.flushed()
        await until(lambda: rough[0].lost == 2)
        rough[0].weather = Weather()
        await stage.say(running, 1)
        await reader.until(lambda r: len(r.parts) == 5, within_s)
        check_order(reader.events)


async def doubles_are_dropped_by_their_numbers(stage: Stage, within_s: float) -> None:
    chat = await stage.create(user())
    running = await stage.acquire(chat.chat_id)
    async with (
        stage.replica(NEVER_POLLS, lambda bus: RoughBus(bus, Weather(twice=1.0))) as one,
        recording(one.hub, chat.chat_id) as reader,
    ):
        await reader.until(lambda r: "queue.updated" in r.kinds, within_s)
        await stage.say(running, 3)
        await stage.bus.append([a_part(running, 2, "again")])
        await stage.drive(running, CommitStep((reply(),)), FinishTurn())
        await reader.until(lambda r: r.status == "idle", within_s)
        check_order(reader.events)
        assert len(reader.parts) == 3


async def lost_commits_are_noticed_by_a_cursor(stage: Stage, within_s: float) -> None:
    """The version of the cursor has come again, for another message."""
    chat_id = (await stage.create()).chat_id
    set_back = await stage.world.keep(chat_id)
    await stage.do(chat_id, SendMessage(user("lost")))
    async with (
        stage.replica(NEVER_POLLS) as one,
        recording(one.hub, chat_id) as reader,
    ):
        await reader.until(lambda r: r.seqs == [1] and "queue.updated" in r.kinds, within_s)
    await set_back()
    await stage.do(chat_id, SendMessage(user("again")))
    async with (
        stage.replica(NEVER_POLLS) as two,
        recording(two.hub, chat_id, reader.cursor) as back,
    ):
        await back.until(lambda r: r.kinds[:1] == ["history.reset"], within_s)


async def lost_commits_are_noticed_by_the_poll(stage: Stage, within_s: float) -> None:
    """The version that the feed knows has come again while the store was away."""
    chat_id = (await stage.create()).chat_id
    set_back = await stage.world.keep(chat_id)
    async with (
        stage.replica() as one,
        recording(one.hub, chat_id) as reader,
    ):
        await stage.do(chat_id, SendMessage(user("lost")))
        await reader.until(lambda r: r.seqs == [1], within_s)
        one.store.away = True
        await set_back()
        request = ChangeRequest((SendMessage(user("again")),), by=ACTOR)
        await stage.world.ledger.transact(chat_id, request)
        one.store.away = False
        await reader.until(lambda r: "again" in str(r.view.messages), within_s)


async def a_commit_ends_with_its_only_final_event(stage: Stage, within_s: float) -> None:
    """And all of a snapshot is one unit: its end is the first consistent view."""
    chat = await stage.create(user())
    async with stage.replica(NEVER_POLLS) as one, recording(one.hub, chat.chat_id) as reader:
        await reader.until(lambda r: r.version == chat.version, within_s)
        assert [event.final for event in reader.events] == [False, False, False, True]
        running = await stage.acquire(chat.chat_id)
        await stage.say(running, 1)
        ended = await stage.drive(running, CommitStep((reply(),)), FinishTurn())
        await reader.until(lambda r: r.version == ended.version, within_s)
        told = {event.kind: event.final for event in reader.events[4:]}
        assert told[EventType.PREVIEW_DELTA]
        assert (told[EventType.MESSAGE_CREATED], told[EventType.CHAT_STATE]) == (False, True)


async def every_version_is_told_even_if_nothing_else_is(stage: Stage, within_s: float) -> None:
    """A commit without events, and a resume without news."""
    chat = await stage.create(user())
    async with stage.replica(NEVER_POLLS) as one:
        async with recording(one.hub, chat.chat_id) as reader:
            await reader.until(lambda r: r.version == chat.version, within_s)
            before = len(reader.events)
            silent = (await stage.do(chat.chat_id, DeclareTools((a_tool(),)))).chat
            await reader.until(lambda r: r.version == silent.version, within_s)
            assert len(reader.events) == before, "only a ping has told of it"
        at_head = Cursor.of(silent.version, silent.history_stamp)
        async with recording(one.hub, chat.chat_id, at_head) as back:
            await back.until(lambda r: r.version == silent.version, within_s)
            assert back.events == []


Scenario = Callable[[Stage, float], Awaitable[None]]
SCENARIOS: dict[str, Scenario] = {
    "subscribe after the snapshot": nothing_falls_between_reading_and_following,
    "no gap filling": gaps_in_live_parts_are_filled,
    "no dropping by number": doubles_are_dropped_by_their_numbers,
    "cursors without a stamp": lost_commits_are_noticed_by_a_cursor,
    "feeds without a stamp": lost_commits_are_noticed_by_the_poll,
    "every event is final": a_commit_ends_with_its_only_final_event,
    "pings without a version": every_version_is_told_even_if_nothing_else_is,
}


@requirement("R3", "L66")
async def test_nothing_falls_between_reading_and_following(stage: Stage) -> None:
    await nothing_falls_between_reading_and_following(stage, HANG_S)


@requirement("L58")
async def test_gaps_in_live_parts_are_filled(stage: Stage) -> None:
    await gaps_in_live_parts_are_filled(stage, HANG_S)


async def test_doubles_are_dropped_by_their_numbers(stage: Stage) -> None:
    await doubles_are_dropped_by_their_numbers(stage, HANG_S)


@requirement("L146")
async def test_lost_commits_are_noticed_by_a_cursor(stage: Stage) -> None:
    await lost_commits_are_noticed_by_a_cursor(stage, HANG_S)


@requirement("L146")
async def test_lost_commits_are_noticed_by_the_poll(stage: Stage) -> None:
    await lost_commits_are_noticed_by_the_poll(stage, HANG_S)


async def test_a_commit_ends_with_its_only_final_event(stage: Stage) -> None:
    await a_commit_ends_with_its_only_final_event(stage, HANG_S)


async def test_every_version_is_told_even_if_nothing_else_is(stage: Stage) -> None:
    await every_version_is_told_even_if_nothing_else_is(stage, HANG_S)


async def late_run(self: Any) -> None:
    """Read, then subscribe, then tail."""
    try:
        if not await self._open():
            return
        async with self._from.bus.subscribe(self.chat_id) as news:
            async for each in news:
                await self._hear(each)
    finally:
        self.close()


async def no_fill(self: Any) -> bool:
    return True


async def no_listening(self: Any) -> None:
    self._more_said = False


def any_part(self: Any, said: Any) -> Any:
    """As the real one, but for the numbers."""
    if said.episode != self._episode or self._spent:
        return None
    self._seq = said.seq
    return StreamEvent(EventType.PREVIEW_DELTA, self._cursor, said.data, self._cursor.version)


async def any_number(self: Any, part: Any) -> None:
    known = self._progress
    if part.episode == known.episode and not known.spent:
        known.add_part(part)
        known.waiters.wake()


def always_final(*told: Any, **_: Any) -> StreamEvent:
    return StreamEvent(*told)


def without_version(_version: Any) -> StreamEvent:
    return ping(None)


def any_history(self: Any, history_stamp: Any) -> bool:
    return True


def another_version(self: Any, chat: Any) -> bool:
    return chat.version != self.version


MUTANTS: dict[str, list[tuple[Any, str, Any]]] = {
    "subscribe after the snapshot": [(Feed, "run", late_run)],
    "no gap filling": [(CatchUp, "fill", no_fill), (Follower, "_listen_again", no_listening)],
    "no dropping by number": [(Feed, "_hear_part", any_number), (Follower, "_part", any_part)],
    "cursors without a stamp": [(Cursor, "may_be_of", any_history)],
    "feeds without a stamp": [(FeedProgress, "stands_elsewhere", another_version)],
    "every event is final": [(follower, "StreamEvent", always_final)],
    "pings without a version": [(follower, "ping", without_version)],
}


@pytest.mark.parametrize("mutant", MUTANTS)
async def test_the_mutant_is_caught(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for owner, name, instead in MUTANTS[mutant]:
        assert hasattr(owner, name)
        monkeypatch.setattr(owner, name, instead)
    async with a_stage("fake", "") as stage:
        with pytest.raises((AssertionError, ExceptionGroup)) as caught:
            await SCENARIOS[mutant](stage, SOON_S)
    assert _is_assertion(caught.value)


def _is_assertion(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        inner: tuple[BaseException, ...] = cast("Any", error).exceptions
        return all(map(_is_assertion, inner))
    return isinstance(error, AssertionError)
