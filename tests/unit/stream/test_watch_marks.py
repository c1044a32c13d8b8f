"""A watcher's mark moves only past what the watcher was told, or what did not change."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import ApiKeyId, ChatId, OrgId, UserId
from holdfast.domain.policy import EVERY_SCOPE, Credential, OrgRole, Principal
from holdfast.ports.bus import Gap, Hint
from holdfast.ports.listing import ListChanges, Mark
from holdfast.stream.list_watcher import WatchEventType
from holdfast.stream.list_watchers import ListWatchers
from holdfast.stream.options import WatchOptions
from tests.requirements import requirement
from tests.support.virtual import run_virtually

OPTIONS = WatchOptions(read_every_s=0.0)
WHO = Principal(
    org_id=OrgId(UUID(int=1)),
    user_id=UserId(UUID(int=2)),
    role=OrgRole.MEMBER,
    scopes=EVERY_SCOPE,
    credential=Credential("api_key", ApiKeyId(UUID(int=3))),
)
FIRST, SECOND = ChatId(UUID(int=4)), ChatId(UUID(int=5))
OLD, KNOWN, NEWEST = Mark(100), Mark(899), Mark(900)


class Listing:
    """An empty list in which nothing changes; single answers are held back or fail."""

    def __init__(self) -> None:
        self.asked: list[Mark] = []
        self.polls: list[Mark] = []
        self.polls_answered = 0
        self.poll_answers = asyncio.Event()
        self.poll_answers.set()
        self.read_answers = asyncio.Event()
        self.read_answers.set()
        self.too_much_since: Mark | None = None
        self.changed: list[ChatId] = []
        self.failures: list[Exception] = []
        self.page_failures: list[Exception] = []
        self.poll_failures: list[Exception] = []

    async def reached(self) -> Mark:
        return NEWEST

    async def page(self, *_args: Any, **_more: Any) -> tuple[()]:
        if self.page_failures:
            raise self.page_failures.pop()
        return ()

    async def changes(self, _may: object, since: Mark, *, limit: int) -> ListChanges:
        assert limit
        self.asked.append(since)
        await self.read_answers.wait()
        if since == OLD and self.failures:
            raise self.failures.pop()
        entries: Any = [
            SimpleNamespace(chat_id=chat_id, touched_at=number, archived=False, version=1)
            for number, chat_id in enumerate(self.changed)
        ]
        complete = since != self.too_much_since
        return ListChanges(reached=NEWEST, entries=entries, gone=(), complete=complete)

    async def changed_for(self, since: Mapping[UserId, Mark]) -> tuple[Mark, frozenset[UserId]]:
        self.polls += since.values()
        if self.poll_failures:
            raise self.poll_failures.pop()
        await self.poll_answers.wait()
        self.polls_answered += 1
        return NEWEST, frozenset()


class Bus:
    """Of which nothing is heard."""

    def __init__(self) -> None:
        self.failures: list[Exception] = []
        self.subscriptions = 0

    @asynccontextmanager
    async def subscribe_lists(self, _user_id: UserId) -> AsyncGenerator[AsyncIterator[Hint | Gap]]:
        self.subscriptions += 1
        if self.failures:
            raise self.failures.pop()

        async def nothing() -> AsyncIterator[Hint | Gap]:
            await asyncio.Event().wait()
            yield Gap()

        yield nothing()


class Scene:
    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self.listing = Listing()
        self.bus = Bus()
        self._tasks = tasks
        self.watching = ListWatchers(cast("Any", self.listing), cast("Any", self.bus), OPTIONS)
        self.running: list[asyncio.Task[None]] = []

    def tab(self, after: Mark | None) -> list[WatchEventType]:
        """A watcher in a task of its own, and what it is told."""
        told: list[WatchEventType] = []

        async def watch() -> None:
            async with self.watching.follow(WHO, after) as events:
                while True:
                    told.append((await anext(events)).kind)

        self.running.append(self._tasks.create_task(watch()))
        return told


@asynccontextmanager
async def a_scene() -> AsyncGenerator[Scene]:
    async with asyncio.TaskGroup() as tasks:
        scene = Scene(tasks)
        async with scene.watching:
            yield scene
            for task in scene.running:
                task.cancel()


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110 - virtual time
            await asyncio.sleep(0.01)


def test_poll_does_not_move_the_mark_of_a_watcher_that_came_later() -> None:
    async def story() -> None:
        async with a_scene() as scene:
            listing = scene.listing
            listing.poll_answers.clear()
            listing.failures = [Unavailable("away for a moment")]
            scene.tab(KNOWN)
            await until(lambda: listing.polls != [])
            listing.read_answers.clear()
            scene.tab(OLD)
            await until(lambda: listing.asked[-1] == OLD)
            listing.poll_answers.set()
            await until(lambda: listing.polls_answered == 1)
            listing.read_answers.set()
            await until(lambda: listing.failures == [])
            reads = len(listing.asked)
            await until(lambda: len(listing.asked) > reads)
            assert listing.asked[reads:] == [OLD], "what changed since is told"

    run_virtually(story())


def test_poll_does_not_move_a_mark_that_changed_meanwhile() -> None:
    """The watcher has another mark than the one that the poll asked about."""

    async def story() -> None:
        async with a_scene() as scene, scene.watching.follow(WHO, KNOWN) as watcher:
            listing = scene.listing
            listing.poll_answers.clear()
            reading = asyncio.create_task(anext(watcher))
            await until(lambda: listing.polls != [])
            watcher.mark = OLD
            listing.poll_answers.set()
            await until(lambda: len(listing.polls) == 2)
            assert listing.polls[1] == OLD
            reading.cancel()

    run_virtually(story())


def test_poll_moves_the_marks_that_it_asked_about() -> None:
    async def story() -> None:
        async with a_scene() as scene, scene.watching.follow(WHO, KNOWN) as watcher:
            reading = asyncio.create_task(anext(watcher))
            await until(lambda: watcher.mark == NEWEST)
            watcher.mark = KNOWN
            await until(lambda: watcher.mark == NEWEST)
            assert scene.listing.polls == [KNOWN]
            reading.cancel()

    run_virtually(story())


@pytest.mark.parametrize("after", [None, OLD])
def test_snapshot_whose_page_fails_is_read_again(after: Mark | None) -> None:
    async def story() -> None:
        async with a_scene() as scene:
            scene.listing.too_much_since = OLD
            scene.listing.page_failures = [Unavailable("away for a moment")]
            told = scene.tab(after)
            await until(lambda: scene.watching.counters.failed_reads == 1)
            await until(lambda: WatchEventType.CHATS_SNAPSHOT in told)

    run_virtually(story())


def test_changes_that_cannot_be_encoded_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    failures = [ValueError("a word that this version does not know")]

    def entry_json(entry: Any) -> dict[str, Any]:
        if entry.chat_id == SECOND and failures:
            raise failures.pop()
        return {"chat_id": str(entry.chat_id)}

    monkeypatch.setattr("holdfast.stream.list_watcher.lists.entry_json", entry_json)

    async def story() -> None:
        async with a_scene() as scene:
            scene.listing.changed = [FIRST, SECOND]
            told = scene.tab(OLD)
            await until(lambda: told == [WatchEventType.CHAT_UPDATED] * 2)
            assert scene.listing.asked == [OLD, OLD]

    run_virtually(story())


@requirement("L133")
def test_watching_goes_on_after_unexpected_errors() -> None:
    async def story() -> None:
        async with a_scene() as scene:
            listing, bus = scene.listing, scene.bus
            listing.failures = [ValueError("a word that this version does not know")]
            listing.poll_failures = [ValueError("a word that this version does not know")]
            bus.failures = [ValueError("a word that this version does not know")]
            scene.tab(OLD)
            await until(lambda: len(listing.asked) == 2 and listing.asked == [OLD, OLD])
            await until(lambda: len(listing.polls) == 2 and bus.subscriptions == 2)
            assert scene.watching.counters.failed_reads == 3
            assert not any(task.done() for task in scene.running)

    run_virtually(story())


class DoubtfulBus(Bus):
    """One that loses its connection again and again, for every list."""

    @asynccontextmanager
    async def subscribe_lists(self, _user_id: UserId) -> AsyncGenerator[AsyncIterator[Hint | Gap]]:
        async def gaps() -> AsyncIterator[Hint | Gap]:
            while True:
                await asyncio.sleep(0.001)
                yield Gap()

        yield gaps()


@requirement("L149")
def test_doubts_in_a_row_share_polls() -> None:
    options = WatchOptions(read_every_s=0.25)
    lasts_s = 10.0

    async def story() -> None:
        listing = Listing()
        watching = ListWatchers(cast("Any", listing), cast("Any", DoubtfulBus()), options)
        async with watching, watching.follow(WHO, KNOWN) as events:
            await anext(events)  # a ping: nothing changes here
            before = watching.counters.polls
            await asyncio.sleep(lasts_s)
            polls = watching.counters.polls - before
            assert lasts_s / options.poll_every_s < polls <= 1 + lasts_s / options.read_every_s

    run_virtually(story())
