"""Watching by hints: at once, without a poll; and what a gap in them leads to."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from holdfast.adapters.postgres.store import PostgresStore
from holdfast.chats import listing
from holdfast.chats.changes import ChangeRequest
from holdfast.chats.ledger import Ledger
from holdfast.chats.publishing_listing import PublishingListing
from holdfast.domain.commands import SendMessage
from holdfast.domain.errors import Unavailable
from holdfast.domain.policy import Principal
from holdfast.domain.public_ids import CHAT_ID
from holdfast.ports.bus import Bus
from holdfast.ports.listing import ChatPatch, Mark
from holdfast.stream.list_watcher import Watcher, WatchEventType
from holdfast.stream.list_watchers import ListWatchers
from holdfast.stream.options import WatchOptions
from tests.support.builders import user
from tests.support.buses import until
from tests.support.fake_bus import FakeBusServer
from tests.support.identity import Realm

NEVER_POLLS = WatchOptions(read_every_s=0.0, poll_every_s=600.0, ping_every_s=600.0)


@dataclass
class Wired:
    """A realm whose changes are told on a bus, and those who watch there."""

    realm: Realm
    server: FakeBusServer
    bus: Bus
    watching: ListWatchers

    @property
    def told(self) -> PublishingListing:
        return PublishingListing(self.realm.listing, self.bus)


@asynccontextmanager
async def wired(realm: Realm) -> AsyncGenerator[Wired]:
    server = FakeBusServer()
    async with (
        server.open() as bus,
        ListWatchers(realm.listing, bus, NEVER_POLLS) as watching,
    ):
        yield Wired(realm, server, bus, watching)


async def said(watcher: Watcher, words: bytes) -> None:
    async with asyncio.timeout(60):
        async for event in watcher:
            if words in event.data:
                return
    raise AssertionError("it ended")


async def test_a_hint_wakes_those_whose_list_it_is_about(realm: Realm, admin: Principal) -> None:
    _, bob = await realm.add(admin, "Bob")
    chat_id = await realm.chat(admin)
    async with wired(realm) as here, here.watching.follow(admin, None) as mine:
        assert (await anext(mine)).kind is WatchEventType.CHATS_SNAPSHOT
        async with here.watching.follow(bob, None) as his:
            assert (await anext(his)).kind is WatchEventType.CHATS_SNAPSHOT
            await listing.update(here.told, admin, chat_id, ChatPatch(title="renamed"))
            await said(mine, b"renamed")
            ledger = Ledger(PostgresStore(realm.pool), here.bus, realm.clock)
            request = ChangeRequest((SendMessage(user()),), by=listing.driver(admin))
            await ledger.transact(chat_id, request)
            await said(mine, b'"running"')
            await listing.share(here.told, realm.clock, admin, chat_id, bob.user_id)
            await said(his, b"renamed")
            await listing.unshare(here.told, realm.clock, admin, chat_id, bob.user_id)
            await said(his, b'"unshared"')
        await until(lambda: here.watching.counters.watchers == 1)
        assert here.watching.counters.polls == 0


async def test_after_a_gap_one_poll_finds_what_was_lost(realm: Realm, admin: Principal) -> None:
    async with (
        wired(realm) as here,
        here.watching.follow(admin, None) as one,
        here.watching.follow(admin, None) as two,
    ):
        for watcher in (one, two):
            assert (await anext(watcher)).kind is WatchEventType.CHATS_SNAPSHOT
        await here.server.stop()
        chat_id = await realm.chat(admin)  # of which nobody tells
        await here.server.start()
        for watcher in (one, two):
            await said(watcher, CHAT_ID.encode(chat_id).encode())
        assert here.watching.counters.polls >= 1


async def test_who_stops_ends_what_is_watched_and_takes_no_more(
    realm: Realm, admin: Principal
) -> None:
    async with wired(realm) as here:
        async with here.watching.follow(admin, Mark(1)) as watcher:
            here.watching.stop()
            assert [event async for event in watcher] == []
        with pytest.raises(Unavailable):
            async with here.watching.follow(admin, None):
                pass
