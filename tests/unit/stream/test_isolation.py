"""A chat that is slow or cannot be read, and a newcomer, do not disturb readers of other chats."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from holdfast.chats.changes import ChangeRequest, ChatWriter
from holdfast.domain.commands import CommitStep, FinishTurn, SendMessage
from holdfast.domain.errors import ChatTooNew, FormatUnknown, Unavailable
from holdfast.domain.events import EventType
from holdfast.domain.ids import ChatId, Seq, Version, VersionStamp
from holdfast.ports.history import PAGE_BYTES_MAX, HistoryPage
from holdfast.ports.store import JUST_THE_CHAT, Loaded, LoadQuery
from holdfast.stream.events import StreamEvent
from holdfast.stream.hub import Hub
from holdfast.stream.options import HubOptions
from holdfast.stream.poll_reads import SLOW_PER_PLACE
from tests.requirements import requirement
from tests.support.builders import reply, user
from tests.support.order import check_order
from tests.support.rough import WatchedStore
from tests.support.streams import NEVER_POLLS, Recorder, Stage, a_stage, recording, shown
from tests.support.virtual import run_virtually
from tests.support.world import ACTOR

OPTIONS = HubOptions()
SLOW_S = 9.0
POLLED_S = OPTIONS.poll_every_s + OPTIONS.poll_grace_s
IN_TIME_S = POLLED_S + 0.1


class Store(WatchedStore):
    """Single chats of it are slow to read, or cannot be read."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage.world.store, stage.world.history)
        self.slow_s: dict[ChatId, float] = {}
        self.broken: set[ChatId] = set()
        self.too_new: set[ChatId] = set()
        self.broken_pages: set[ChatId] = set()
        self.poll_fails = 0
        self.loads: list[ChatId] = []
        self.loading = 0
        self.loading_max = 0

    async def load(  # pyright: ignore[reportImplicitOverride]
        self, chat_id: ChatId, asking: LoadQuery = JUST_THE_CHAT
    ) -> Loaded | None:
        self.loads.append(chat_id)
        self.loading += 1
        self.loading_max = max(self.loading, self.loading_max)
        try:
            loaded = await super().load(chat_id, asking)
            await asyncio.sleep(self.slow_s.get(chat_id, 0.0))
        finally:
            self.loading -= 1
        if chat_id in self.too_new:
            raise ChatTooNew(chat_id, 9, 1)
        if chat_id in self.broken:
            raise ValueError("a word that this version does not know")
        return loaded

    async def page(  # pyright: ignore[reportImplicitOverride]
        self,
        chat_id: ChatId,
        *,
        limit: int,
        before: Seq | None = None,
        as_of: Version | None = None,
        bytes_max: int = PAGE_BYTES_MAX,
    ) -> HistoryPage:
        if chat_id in self.broken_pages:
            raise ValueError("a word that this version does not know")
        return await super().page(
            chat_id, limit=limit, before=before, as_of=as_of, bytes_max=bytes_max
        )

    async def moved(  # pyright: ignore[reportImplicitOverride]
        self, known: Mapping[ChatId, tuple[Version, VersionStamp]]
    ) -> Sequence[tuple[ChatId, Version | None]]:
        if self.poll_fails:
            self.poll_fails -= 1
            raise ValueError("a word that this version does not know")
        return await super().moved(known)


@dataclass
class Scene:
    stage: Stage
    store: Store
    hub: Hub
    silent: ChatWriter = field(init=False)
    """Commits whose hints are lost: the poll alone finds them."""

    def __post_init__(self) -> None:
        self.silent = self.stage.world.ledger

    async def commit_silently(self, chat_id: ChatId) -> None:
        await self.silent.transact(chat_id, ChangeRequest((SendMessage(user()),), by=ACTOR))


@asynccontextmanager
async def a_scene(options: HubOptions = OPTIONS) -> AsyncGenerator[Scene]:
    async with a_stage("fake", "") as stage, stage.server.open() as bus:
        store = Store(stage)
        async with Hub(store, store, bus, options) as hub:
            yield Scene(stage, store, hub)


def virtually(story: Callable[[Scene], Awaitable[None]], options: HubOptions = OPTIONS) -> None:
    async def run() -> None:
        async with a_scene(options) as scene:
            await story(scene)

    run_virtually(run())


def is_told(reader: Recorder) -> bool:
    """Of the message that was sent while the chat was busy with its first."""
    return len(reader.view.queue) == 1


def has_begun(reader: Recorder) -> bool:
    return reader.view.state is not None and reader.view.state["attempt"] == 1


def now() -> float:
    return asyncio.get_running_loop().time()


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110 - virtual time
            await asyncio.sleep(0.01)


@asynccontextmanager
async def watched(scene: Scene, count: int) -> AsyncGenerator[list[tuple[ChatId, Recorder]]]:
    """So many chats with a reader each, all of whom are up to date."""
    chats = [await scene.stage.create(user()) for _ in range(count)]
    readers = [Recorder(scene.hub, chat.chat_id) for chat in chats]
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(reader.run()) for reader in readers]
        for reader in readers:
            await reader.until(lambda r: "queue.updated" in r.kinds)
        yield [(chat.chat_id, reader) for chat, reader in zip(chats, readers, strict=True)]
        for task in running:
            task.cancel()


# The safety poll.


@requirement("L149", "R1")
def test_slow_chat_does_not_delay_the_poll_of_another() -> None:
    async def story(scene: Scene) -> None:
        async with watched(scene, 2) as ((slow, _), (quick, reader)):
            scene.store.slow_s[slow] = SLOW_S
            await scene.commit_silently(slow)
            await until(lambda: scene.store.loading == 1)
            began_s = now()
            await scene.commit_silently(quick)
            await reader.until(is_told)
            assert now() - began_s <= IN_TIME_S
            assert scene.store.loading == 1, "the slow chat is still being read"

    virtually(story)


def test_slow_chat_is_read_by_one_task_at_a_time() -> None:
    async def story(scene: Scene) -> None:
        async with watched(scene, 1) as ((slow, reader),):
            scene.store.slow_s[slow] = SLOW_S
            scene.store.loads.clear()
            await scene.commit_silently(slow)
            await reader.until(is_told)
            assert scene.store.loads == [slow]
            assert scene.hub.counters.found_by_poll == 1
            assert scene.hub.counters.polls > SLOW_S / POLLED_S

    virtually(story)


@requirement("L149")
def test_slow_chats_give_their_places_up() -> None:
    """As many slow chats as the poll reads at the same time, and then one that is not slow."""
    options = replace(OPTIONS, reads_max=2)

    async def story(scene: Scene) -> None:
        async with watched(scene, 3) as ((one, _), (other, _), (quick, reader)):
            for slow in (one, other):
                scene.store.slow_s[slow] = 30.0
                await scene.commit_silently(slow)
            await until(lambda: scene.store.loading == 2)
            began_s = now()
            await scene.commit_silently(quick)
            await reader.until(is_told)
            assert now() - began_s <= IN_TIME_S + options.poll_every_s

    virtually(story, options)


def test_poll_reads_are_bounded() -> None:
    options = replace(OPTIONS, reads_max=2)
    most = options.reads_max * (1 + SLOW_PER_PLACE)

    async def story(scene: Scene) -> None:
        async with watched(scene, 2 * most) as readers:
            scene.store.loading_max = 0
            for chat_id, _ in readers:
                scene.store.slow_s[chat_id] = 40.0
                await scene.commit_silently(chat_id)
            for _, reader in readers:
                await reader.until(is_told, within_s=1_000)
            assert options.reads_max < scene.store.loading_max <= most

    virtually(story, options)


def test_hub_stops_at_once_while_the_poll_reads() -> None:
    async def story(scene: Scene) -> None:
        async with watched(scene, 1) as ((slow, reader),):
            scene.store.slow_s[slow] = 3600.0
            await scene.commit_silently(slow)
            await until(lambda: scene.store.loading == 1)
            began_s = now()
            scene.hub.stop()
            await reader.until(lambda r: r.ended)
            await until(lambda: scene.store.loading == 0)
            assert now() - began_s < 1.0

    virtually(story)


@requirement("L133")
def test_poll_goes_on_after_an_unexpected_error(caplog: pytest.LogCaptureFixture) -> None:
    async def story(scene: Scene) -> None:
        async with watched(scene, 1) as ((chat_id, reader),):
            scene.store.poll_fails = 2
            await scene.commit_silently(chat_id)
            await reader.until(is_told)
            assert scene.hub.counters.failed_reads == 2

    virtually(story)
    assert [r.levelname for r in caplog.records if "safety poll" in r.message] == ["ERROR"] * 2


# A newcomer.


@requirement("L149")
def test_slow_newcomer_does_not_silence_the_others() -> None:
    async def story(scene: Scene) -> None:
        stage = scene.stage
        async with watched(scene, 1) as ((chat_id, reader),):
            running = await stage.acquire(chat_id)
            await reader.until(has_begun)
            scene.store.slow_s[chat_id] = SLOW_S
            async with recording(scene.hub, chat_id) as newcomer:
                await until(lambda: scene.store.loading == 1)
                for said in range(1, 6):
                    await stage.say(running)
                    await reader.until(lambda r, n=said: len(r.parts) == n, within_s=1.0)
                await stage.drive(running, CommitStep((reply(),)), FinishTurn())
                await reader.until(lambda r: r.status == "idle", within_s=1.0)
                assert scene.store.loading == 1, "the newcomer's facts are still being read"
                assert newcomer.events == []
                await newcomer.until(lambda r: r.status == "idle")
                assert shown(newcomer.view) == shown(reader.view)
                check_order(newcomer.events)
                assert newcomer.kinds.count("message.created") == 2

    virtually(story)


@requirement("L149", "R3")
@pytest.mark.parametrize("commits", [1, 5])
def test_feed_that_moves_on_while_a_newcomer_reads_loses_and_doubles_nothing(commits: int) -> None:
    async def story(scene: Scene) -> None:
        async with watched(scene, 1) as ((chat_id, reader),):
            await scene.stage.do(chat_id, SendMessage(user()))
            await reader.until(is_told)
            scene.store.slow_s[chat_id] = SLOW_S
            async with (
                recording(scene.hub, chat_id) as newcomer,
                recording(scene.hub, chat_id, reader.cursor) as resumed,
            ):
                await until(lambda: scene.store.loading == 1)
                for _ in range(commits):
                    await scene.stage.do(chat_id, SendMessage(user()))
                await reader.until(lambda r: len(r.view.queue) == commits + 1, within_s=1.0)
                told = len(reader.events)
                for late in (newcomer, resumed):
                    await late.until(lambda r: len(r.view.queue) == commits + 1)
                    assert shown(late.view)["queue"] == shown(reader.view)["queue"]
                    check_order(late.events)
                # A commit that follows is told once to all.
                await scene.stage.do(chat_id, SendMessage(user()))
                for each in (reader, newcomer, resumed):
                    await each.until(lambda r: len(r.view.queue) == commits + 2)
                    check_order(each.events)
                assert len(resumed.events) == commits + 1, "the queue, once for each commit"
                assert len(reader.events) == told + 1

    virtually(story, replace(NEVER_POLLS, linger_s=5.0))


def test_newcomers_share_one_read() -> None:
    async def story(scene: Scene) -> None:
        async with watched(scene, 1) as ((chat_id, reader),), asyncio.TaskGroup() as tasks:
            await scene.stage.do(chat_id, SendMessage(user()))
            await reader.until(is_told)
            scene.store.slow_s[chat_id] = SLOW_S
            scene.store.loads.clear()
            newcomers = [Recorder(scene.hub, chat_id) for _ in range(20)]
            running = [tasks.create_task(newcomer.run()) for newcomer in newcomers]
            await until(lambda: scene.store.loading == 1)
            running[0].cancel()  # whose read it is
            await scene.stage.do(chat_id, SendMessage(user()))
            for newcomer in newcomers[1:]:
                await newcomer.until(lambda r: len(r.view.queue) == 2)
            assert len(scene.store.loads) == 2, "the cancelled one, and one for all the others"
            for task in running:
                task.cancel()

    virtually(story, NEVER_POLLS)


def test_newcomer_whose_place_is_lost_while_it_reads_is_not_told_that_it_lags() -> None:
    async def story(scene: Scene) -> None:
        stage = scene.stage
        async with watched(scene, 1) as ((chat_id, reader),):
            running = await stage.acquire(chat_id)
            await reader.until(has_begun)
            scene.store.slow_s[chat_id] = SLOW_S
            async with recording(scene.hub, chat_id) as newcomer:
                await until(lambda: scene.store.loading == 1)
                for said in range(1, 41):
                    await stage.say(running)
                    await reader.until(lambda r, n=said: len(r.parts) == n)
                await stage.drive(running, CommitStep((reply(),)), FinishTurn())
                await newcomer.until(lambda r: r.status == "idle")
                assert shown(newcomer.view) == shown(reader.view)
                check_order(newcomer.events)
                await stage.do(chat_id, SendMessage(user()))
                await newcomer.until(lambda r: r.seqs == [1, 2, 3])
                check_order(newcomer.events)

    virtually(story, replace(NEVER_POLLS, log_max=20))


def test_newcomer_that_is_ahead_of_the_feed_brings_it_forward() -> None:
    async def story(scene: Scene) -> None:
        async with watched(scene, 1) as ((chat_id, reader),):
            await scene.stage.do(chat_id, SendMessage(user()))
            await reader.until(is_told)
            await scene.commit_silently(chat_id)
            async with recording(scene.hub, chat_id) as newcomer:
                for each in (newcomer, reader):
                    await each.until(lambda r: len(r.view.queue) == 2)
                    check_order(each.events)
                assert shown(newcomer.view) == shown(reader.view)

    virtually(story, NEVER_POLLS)


# What cannot be read.


async def refused(scene: Scene, chat_id: ChatId) -> None:
    with pytest.raises(Unavailable):
        async with scene.hub.follow(chat_id, None):
            pass


async def first_event(scene: Scene, chat_id: ChatId) -> StreamEvent:
    async with asyncio.timeout(60), scene.hub.follow(chat_id, None) as events:
        return await anext(events)


@requirement("L133", "L137")
def test_chat_that_cannot_be_read_refuses_its_own_readers_only() -> None:
    async def story(scene: Scene) -> None:
        odd = (await scene.stage.create(user())).chat_id
        scene.store.broken.add(odd)
        async with watched(scene, 1) as ((other, reader),):
            await refused(scene, odd)
            await refused(scene, odd)
            await scene.stage.do(other, SendMessage(user()))
            await reader.until(is_told)
            await scene.commit_silently(other)
            await reader.until(lambda r: len(r.view.queue) == 2)
            assert not reader.ended
            assert scene.hub.counters.feeds == 1, "a feed that failed is forgotten"
            scene.store.broken.clear()
            assert (await first_event(scene, odd)).kind is EventType.HISTORY_RESET

    virtually(story)


async def by_the_poll(scene: Scene, chat_id: ChatId) -> None:
    await scene.commit_silently(chat_id)


async def by_a_hint_after_a_gap(scene: Scene, chat_id: ChatId) -> None:
    """The hint is ahead of the feed, and what is between does not come."""
    await scene.commit_silently(chat_id)
    await scene.stage.do(chat_id, SendMessage(user()))


async def by_a_part_of_an_unknown_attempt(scene: Scene, chat_id: ChatId) -> None:
    chat = await scene.stage.world.load(chat_id)
    await scene.stage.say(replace(chat, history_version=Version(chat.history_version + 5)))


@requirement("L133", "L137")
@pytest.mark.parametrize(
    "met", [by_the_poll, by_a_hint_after_a_gap, by_a_part_of_an_unknown_attempt]
)
def test_feed_that_meets_an_unexpected_error_closes_only_itself(
    met: Callable[[Scene, ChatId], Awaitable[None]], caplog: pytest.LogCaptureFixture
) -> None:
    async def story(scene: Scene) -> None:
        async with watched(scene, 2) as ((odd, reader), (other, bystander)):
            scene.store.broken.add(odd)
            await met(scene, odd)
            await reader.until(lambda r: r.ended)
            assert scene.hub.counters.failed_reads == 1
            await scene.stage.do(other, SendMessage(user()))
            await bystander.until(is_told)
            await scene.commit_silently(other)
            await bystander.until(lambda r: len(r.view.queue) == 2)
            assert not bystander.ended
            scene.store.broken.clear()
            async with recording(scene.hub, odd, reader.cursor) as again:
                await scene.stage.do(odd, SendMessage(user()))
                await again.until(lambda r: r.view.queue != ())
                assert "history.reset" not in again.kinds

    virtually(story)
    closed = [r for r in caplog.records if "closed by an error" in r.message]
    assert [r.levelno for r in closed] == [logging.ERROR]


@requirement("L137")
def test_reader_whose_own_read_meets_an_unexpected_error_ends_alone() -> None:
    async def story(scene: Scene) -> None:
        async with watched(scene, 1) as ((chat_id, reader),):
            await until(lambda: scene.hub.counters.snapshots == 1)
            await scene.stage.do(chat_id, SendMessage(user()))
            await reader.until(is_told)
            scene.store.broken_pages.add(chat_id)
            async with scene.hub.follow(chat_id, None) as events:
                told: list[Any] = [event async for event in events]
            assert told == []
            assert scene.hub.counters.failed_reads == 1
            await scene.stage.do(chat_id, SendMessage(user()))
            await reader.until(lambda r: len(r.view.queue) == 2)
            assert not reader.ended

    virtually(story)


def test_feed_whose_bus_fails_ends_its_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(scene: Scene) -> None:
        async with watched(scene, 2) as ((odd, reader), (other, bystander)):

            def undecodable(_inline: bytes | None) -> None:
                raise ValueError("a word that this version does not know")

            with monkeypatch.context() as patched:
                patched.setattr("holdfast.stream.feed.decode_inline", undecodable)
                await scene.stage.do(odd, SendMessage(user()))
                await reader.until(lambda r: r.ended)
            await scene.stage.do(other, SendMessage(user()))
            await bystander.until(is_told)

    virtually(story)


@requirement("L137")
def test_reader_of_a_chat_that_is_too_new_is_told_so() -> None:
    """Not that the server is ill: another replica can read the chat."""

    async def story(scene: Scene) -> None:
        chat = await scene.stage.create(user())
        scene.store.too_new.add(chat.chat_id)
        for _ in range(2):
            with pytest.raises(FormatUnknown):
                async with scene.hub.follow(chat.chat_id, None):
                    raise AssertionError("followed")

    virtually(story)
