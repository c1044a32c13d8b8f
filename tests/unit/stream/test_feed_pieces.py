"""The pieces of a feed: reorder buffer, snapshot cache, backoff of reads."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from holdfast.domain.chat import Chat, Status
from holdfast.domain.ids import NO_VERSION, Version, VersionStamp
from holdfast.ports.bus import Hint, LivePart
from holdfast.stream import bundle as bundles
from holdfast.stream.bundle import Bundle
from holdfast.stream.cursor import Cursor
from holdfast.stream.reorder import EARLY_MAX, ReorderBuffer
from holdfast.stream.retry import ReadBackoff
from holdfast.stream.snapshot_cache import SNAPSHOT_KEPT_S, SnapshotCache
from tests.support.builders import CHAT, a_chat
from tests.support.virtual import run_virtually


class Timers:
    """Counts the timers that a buffer starts; none of them ends."""

    def __init__(self) -> None:
        self.started: list[asyncio.TimerHandle] = []

    def later(
        self, delay_s: float, _work: Callable[[], Coroutine[Any, Any, None]]
    ) -> asyncio.TimerHandle:
        self.started.append(asyncio.get_running_loop().call_later(delay_s, lambda: None))
        return self.started[-1]


async def overdue() -> None:
    raise AssertionError("no timer ends in these tests")


def hint(version: int) -> Hint:
    return Hint(CHAT, Version(version), Status.IDLE)


def version_of(news: Hint | LivePart) -> int:
    assert isinstance(news, Hint)
    return news.version


def test_reorder_buffer_yields_what_is_no_longer_ahead_in_order_of_arrival() -> None:
    async def story() -> None:
        timers = Timers()
        buffer = ReorderBuffer(timers.later, 60.0)
        for version in (3, 5, 4, 9):
            assert buffer.keep(hint(version), overdue)
        known = 1
        heard: list[int] = []

        def is_ahead(news: Hint | LivePart) -> bool:
            return version_of(news) > known + 1

        assert list(buffer.ready(is_ahead)) == []
        known = 2
        for news in buffer.ready(is_ahead):
            known = version_of(news)  # each item is checked after the one before it was handled
            heard.append(known)
        assert heard == [3, 4]
        assert len(buffer) == 2
        assert len(timers.started) == 1
        assert not timers.started[0].cancelled()

    asyncio.run(story())


def test_reorder_buffer_that_becomes_empty_stops_its_timer() -> None:
    async def story() -> None:
        timers = Timers()
        buffer = ReorderBuffer(timers.later, 60.0)
        buffer.keep(hint(3), overdue)
        assert list(buffer.ready(lambda _: False)) == [hint(3)]
        assert timers.started[0].cancelled()
        buffer.keep(hint(4), overdue)
        buffer.timer_ended()
        buffer.keep(hint(5), overdue)
        assert len(timers.started) == 3
        buffer.clear()
        assert len(buffer) == 0
        assert timers.started[2].cancelled()

    asyncio.run(story())


def test_full_reorder_buffer_refuses_news() -> None:
    async def story() -> None:
        buffer = ReorderBuffer(Timers().later, 60.0)
        assert all(buffer.keep(hint(version), overdue) for version in range(EARLY_MAX))
        assert not buffer.keep(hint(EARLY_MAX), overdue)
        assert len(buffer) == EARLY_MAX
        buffer.clear()

    asyncio.run(story())


def test_backoff_doubles_from_the_beginning_of_the_failed_read_up_to_its_maximum() -> None:
    backoff = ReadBackoff(1.0, 3.0)
    assert backoff.is_due(0.0)
    for began_s, pause_s in ((10.0, 1.0), (20.0, 2.0), (30.0, 3.0), (40.0, 3.0)):
        backoff.fail(began_s)
        assert not backoff.is_due(began_s + pause_s - 0.1)
        assert backoff.is_due(began_s + pause_s)
    backoff.succeed()
    backoff.fail(50.0)
    assert backoff.is_due(51.0)


class Reads:
    """Counts the reads of facts and of snapshots."""

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        self.facts = 0
        self.snapshots = 0

    async def read_facts(self) -> Chat:
        self.facts += 1
        await asyncio.sleep(0.1)
        return self.chat

    async def read_snapshot(self, chat: Chat) -> Bundle:
        self.snapshots += 1
        await asyncio.sleep(0.1)
        return bundles.of_nothing(chat)


@pytest.mark.parametrize(
    ("cursor", "since", "reads"),
    [
        (None, NO_VERSION, 0),
        (None, Version(6), 1),
        (Cursor(Version(5), 0, 0), Version(5), 0),
        (Cursor(Version(6), 0, 0), Version(5), 1),
    ],
    ids=["any", "feed is newer", "cursor is known", "cursor is newer"],
)
def test_cached_facts_are_read_again_only_if_they_are_too_old(
    cursor: Cursor | None, since: Version, reads: int
) -> None:
    async def story() -> None:
        source = Reads(a_chat(version=Version(7)))
        cache = SnapshotCache()
        cache.keep_newer(a_chat(version=Version(5)))
        cache.keep_newer(a_chat(version=Version(4)))
        chat = await cache.facts_for(cursor, since, source.read_facts)
        assert (chat.version, source.facts) == (7 if reads else 5, reads)

    run_virtually(story())


def test_readers_at_the_same_time_share_one_snapshot_of_the_same_commit() -> None:
    async def story() -> None:
        chat = a_chat(version=Version(5), stamp=VersionStamp(1))
        again = a_chat(version=Version(5), stamp=VersionStamp(2))
        source, cache = Reads(chat), SnapshotCache()

        async def snapshot(of: Chat) -> Bundle:
            return await cache.snapshot(of, source.read_snapshot)

        one, two = await asyncio.gather(snapshot(chat), snapshot(chat))
        assert one is two
        assert source.snapshots == 1
        assert (await snapshot(again)).stamp == 2  # the version was committed again (L146)
        await asyncio.sleep(SNAPSHOT_KEPT_S)
        await snapshot(again)
        assert source.snapshots == 3
        cache.close()
        await snapshot(again)
        assert source.snapshots == 4

    run_virtually(story())
