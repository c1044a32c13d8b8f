"""Watching a list: what changed since a mark, as the database has it, and nothing left out."""

import asyncio
from typing import Any

import orjson
import pytest

from holdfast.adapters.postgres.listing import PostgresListing
from holdfast.adapters.postgres.policy import actor_parameters
from holdfast.adapters.postgres.queries import load_query
from holdfast.adapters.postgres.store import fetch_rows
from holdfast.chats import listing
from holdfast.chats.changes import ChangeRequest
from holdfast.chats.publishing_listing import PublishingListing
from holdfast.chats.steer import archive, unarchive
from holdfast.domain.commands import SendMessage
from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import ChatId, Seq
from holdfast.domain.policy import Action, Filter, Principal, TargetKind, rule_for
from holdfast.domain.public_ids import CHAT_ID
from holdfast.ports.listing import ChatPatch, ListChanges, Mark
from holdfast.stream.list_watcher import PING, Watcher, parse_mark
from holdfast.stream.options import WatchCounters, WatchOptions
from tests.support.builders import user
from tests.support.doubles import KeptHints
from tests.support.identity import Realm, principal

PROMPT = WatchOptions(read_every_s=0.0, ping_every_s=0.1, retry_s=0.01)


def watcher(
    realm: Realm, who: Principal, after: Mark | None, options: WatchOptions = PROMPT
) -> Watcher:
    return Watcher(who, realm.listing, after, options, WatchCounters())


async def heard(watching: Watcher) -> list[tuple[str, Any]]:
    """What it says now, up to a silence."""
    told: list[tuple[str, Any]] = []
    watching.wake()
    async with asyncio.timeout(60):
        async for event in watching:
            if event is PING:
                if watching.is_stale:  # on a busy machine the ping may come before the read
                    continue
                return told
            told.append((event.kind.value, orjson.loads(event.data)))
    raise AssertionError("it ended")


told_of = CHAT_ID.encode


def ids(told: list[tuple[str, Any]]) -> list[tuple[str, str]]:
    return [(kind, data.get("id") or data["chat_id"]) for kind, data in told]


async def changes(realm: Realm, who: Principal, since: Mark) -> ListChanges:
    may = rule_for(who, Action.READ, TargetKind.CHAT)
    return await realm.listing.changes(may, since, limit=100)


async def settled(realm: Realm) -> Mark:
    """A mark after all that happened. Transactions in any database of the server hold it back."""
    last = await realm.pool.fetchval("select pg_current_xact_id()::text::bigint")
    async with asyncio.timeout(60):
        while (reached := await realm.listing.reached()) <= last:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return reached


async def speak(realm: Realm, who: Principal, chat_id: ChatId) -> None:
    request = ChangeRequest((SendMessage(user("more")),), by=listing.driver(who))
    await realm.ledger.transact(chat_id, request)


async def test_a_snapshot_first_and_then_each_change_as_it_is(
    realm: Realm, admin: Principal
) -> None:
    one, two = await realm.chat(admin), await realm.chat(admin)
    await listing.update(realm.listing, admin, one, ChatPatch(pinned=True))
    watching = watcher(realm, admin, None)

    ((kind, snapshot),) = await heard(watching)
    assert kind == "chats.snapshot"
    assert [each["id"] for each in snapshot["chats"]] == [told_of(one), told_of(two)], "pins first"
    assert snapshot["after"] is None
    assert await heard(watching) == [], "nothing changed, and nothing is told twice"

    await listing.update(realm.listing, admin, two, ChatPatch(title="A name"))
    await listing.update(realm.listing, admin, two, ChatPatch(labels=("work",)))
    ((kind, entry),) = await heard(watching)
    assert (kind, entry["title"], entry["labels"]) == ("chat.updated", "A name", ["work"])
    watching.mark = await settled(realm)
    await speak(realm, admin, two)
    ((_, entry),) = await heard(watching)
    assert (entry["status"], entry["unread"], entry["last_seq"]) == ("running", True, 1)
    watching.mark = await settled(realm)
    await listing.mark_read(realm.listing, admin, two, Seq(1))
    ((_, entry),) = await heard(watching)
    assert (entry["unread"], entry["read_seq"]) == (False, 1)

    driver = listing.driver(admin)
    watching.mark = await settled(realm)
    await archive(realm.ledger, driver, one)
    assert await heard(watching) == [
        ("chat.removed", {"chat_id": told_of(one), "reason": "archived"})
    ]
    watching.mark = await settled(realm)
    await unarchive(realm.ledger, driver, one)
    assert ids(await heard(watching)) == [("chat.updated", told_of(one))]


async def test_whoever_was_away_is_told_what_changed_and_nothing_of_others(
    realm: Realm, admin: Principal
) -> None:
    _, bob = await realm.add(admin, "Bob")
    other = await realm.another_org()
    mine, secret = await realm.chat(admin), await realm.chat(admin)
    await realm.chat(other)
    bobs = watcher(realm, bob, None)
    assert [kind for kind, _ in await heard(bobs)] == ["chats.snapshot"]
    mark = bobs.mark

    await listing.share(realm.listing, realm.clock, admin, mine, bob.user_id)
    await listing.update(realm.listing, admin, secret, ChatPatch(title="secret"))
    assert ids(await heard(watcher(realm, bob, mark))) == [("chat.updated", told_of(mine))]
    assert ids(await heard(bobs)) == [("chat.updated", told_of(mine))]
    await listing.update(realm.listing, admin, mine, ChatPatch(title="ours"))
    ((_, entry),) = await heard(bobs)
    assert (entry["title"], entry["pinned"]) == ("ours", False)

    away = bobs.mark
    await listing.unshare(realm.listing, realm.clock, admin, mine, bob.user_id)
    await listing.update(realm.listing, admin, mine, ChatPatch(title="mine again"))
    gone = [("chat.removed", {"chat_id": told_of(mine), "reason": "unshared"})]
    assert await heard(watcher(realm, bob, away)) == gone
    assert await heard(bobs) == gone
    assert (await realm.listing.changed_for({bob.user_id: away or Mark(1)}))[1] == {bob.user_id}
    after_all = await settled(realm)
    assert (await realm.listing.changed_for({bob.user_id: after_all}))[1] == frozenset()


async def test_a_change_that_commits_late_is_not_left_out(realm: Realm, admin: Principal) -> None:
    """The race: a transaction gets its number, another one after it commits and is read, and only
    then does the first commit. A mark beyond its number would have left it out for ever."""
    slow, quick = await realm.chat(admin), await realm.chat(admin)
    mark = await realm.listing.reached()
    async with realm.pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute(
            "update chats set title = 'late', title_source = 'user',"
            " changed_in = pg_current_xact_id()::text::bigint where id = $1",
            slow,
        )
        await listing.update(realm.listing, admin, quick, ChatPatch(title="quick"))
        before = await changes(realm, admin, mark)
        titles = {entry.chat_id: entry.title for entry in before.entries}
        assert titles[quick] == "quick"
        assert titles.get(slow) is None
        polled, _ = await realm.listing.changed_for({admin.user_id: mark})
        await transaction.commit()

    for reached in (before.reached, polled):
        after = await changes(realm, admin, reached)
        assert (slow, "late") in {(entry.chat_id, entry.title) for entry in after.entries}
        found = await realm.listing.changed_for({admin.user_id: reached})
        assert found[1] == {admin.user_id}


async def test_marks_that_nobody_gave_and_too_many_changes_begin_anew(
    realm: Realm, admin: Principal
) -> None:
    chats = [await realm.chat(admin) for _ in range(4)]
    beyond = Mark(await realm.listing.reached() + 10**9)
    assert [kind for kind, _ in await heard(watcher(realm, admin, beyond))] == ["chats.snapshot"]

    few = WatchOptions(
        read_every_s=0.0, ping_every_s=0.1, retry_s=0.01, snapshot_max=2, changes_max=3
    )
    mark = await realm.listing.reached()
    for chat_id in chats:
        await listing.update(realm.listing, admin, chat_id, ChatPatch(title="new"))
    ((kind, snapshot),) = await heard(watcher(realm, admin, mark, few))
    assert (kind, len(snapshot["chats"])) == ("chats.snapshot", 2)
    older = await listing.page(realm.listing, admin, after=snapshot["after"], pinned="first")
    assert [entry.chat_id for entry in older.entries] == [chats[1], chats[0]]

    for text in ("", "0", "-1", "1.5", "1e3", "٣", "9" * 30, "x"):
        assert parse_mark(text) is None, text
    assert parse_mark("123") == 123


async def test_numbers_of_another_server_are_not_news(realm: Realm, admin: Principal) -> None:
    """A dump that is restored elsewhere brings transactions along that are yet to come there."""
    chat_id = await realm.chat(admin)
    await realm.pool.execute("update chats set changed_in = $1", 2**60)
    mark = await realm.listing.reached()
    assert (await changes(realm, admin, mark)).entries == ()
    assert (await realm.listing.changed_for({admin.user_id: mark}))[1] == frozenset()
    await listing.update(realm.listing, admin, chat_id, ChatPatch(title="now"))
    assert [e.chat_id for e in (await changes(realm, admin, mark)).entries] == [chat_id]


class Faltering(PostgresListing):
    """Answers every second time."""

    asked = 0

    async def changes(self, may: Filter, since: Mark, *, limit: int) -> ListChanges:  # pyright: ignore[reportImplicitOverride]
        self.asked += 1
        if self.asked % 2:
            raise Unavailable("not now")
        return await super().changes(may, since, limit=limit)


async def test_a_database_that_is_away_is_asked_again(realm: Realm, admin: Principal) -> None:
    mark = await realm.listing.reached()
    chat_id = await realm.chat(admin)
    faltering = Faltering(realm.pool)
    watching = Watcher(admin, faltering, mark, PROMPT, WatchCounters())
    assert ids(await heard(watching)) == [("chat.updated", told_of(chat_id))]
    assert faltering.asked == 2


async def test_verbs_about_lists_tell_whose_list_they_changed(
    realm: Realm, admin: Principal
) -> None:
    _, bob = await realm.add(admin, "Bob")
    chat_id = await realm.chat(admin)
    hints = KeptHints()
    told = PublishingListing(realm.listing, hints)
    clock = realm.clock

    await listing.update(told, admin, chat_id, ChatPatch(title="A name"))
    await listing.update(told, admin, chat_id, ChatPatch(pinned=True))
    await listing.update(told, admin, chat_id, ChatPatch(labels=("work",)))
    await listing.mark_read(told, admin, chat_id, Seq(1))
    await listing.share(told, clock, admin, chat_id, bob.user_id)
    await listing.share(told, clock, admin, chat_id, bob.user_id)  # nothing to do
    await listing.mark_read(told, bob, chat_id, Seq(1))
    await listing.unshare(told, clock, admin, chat_id, bob.user_id)
    await listing.unshare(told, clock, admin, chat_id, bob.user_id)  # nothing to do
    nobody = principal(admin.org_id, bob.user_id)
    assert (
        await told.mark_read(rule_for(nobody, Action.READ, TargetKind.CHAT), chat_id, Seq(1))
        is None
    )

    assert {hint.chat_id for hint in hints.published} == {chat_id}
    assert {hint.version for hint in hints.published} == {0}, "readers of the chat are told nothing"
    a, b = admin.user_id, bob.user_id
    assert [hint.listed_for for hint in hints.published] == [a, a, a, a, b, b, b]

    assert [s.user_id for s in await listing.shares(told, admin, chat_id)] == []
    assert (await listing.page(told, admin)).entries[0].title == "A name"
    assert await told.reached() > 0
    assert (await told.changed_for({b: Mark(1)}))[1] == {b}
    assert (
        await told.changes(rule_for(admin, Action.READ, TargetKind.CHAT), Mark(1), limit=5)
    ).entries


class Unfiltered(PostgresListing):
    """Mutant: what changed is shown without asking the policy."""

    async def changes(self, may: Filter, since: Mark, *, limit: int) -> ListChanges:  # pyright: ignore[reportImplicitOverride]
        found = await super().changes(may, since, limit=limit)
        query = load_query("watch_begin", "watch_end")
        rows = await fetch_rows(
            self._pool, query, **actor_parameters(may), since=since, limit=limit + 1
        )
        shown = {row["id"] for row in rows} - {entry.chat_id for entry in found.entries}
        by_owner = [
            entry
            for chat_id in shown - {None}
            for entry in (await listing.page(self, self.owner)).entries
            if entry.chat_id == chat_id
        ]
        return ListChanges(
            reached=found.reached,
            entries=(*found.entries, *by_owner),
            gone=tuple(set(found.gone) - shown),
            complete=True,
        )

    owner: Principal


@pytest.mark.parametrize("mutant", [False, True])
async def test_without_the_filter_what_was_taken_back_is_still_shown(
    realm: Realm, admin: Principal, *, mutant: bool
) -> None:
    _, bob = await realm.add(admin, "Bob")
    chat_id = await realm.chat(admin)
    await listing.share(realm.listing, realm.clock, admin, chat_id, bob.user_id)
    mark = await realm.listing.reached()
    await listing.unshare(realm.listing, realm.clock, admin, chat_id, bob.user_id)

    store = Unfiltered(realm.pool) if mutant else PostgresListing(realm.pool)
    if isinstance(store, Unfiltered):
        store.owner = admin
    told = ids(await heard(Watcher(bob, store, mark, PROMPT, WatchCounters())))
    assert told == [("chat.updated" if mutant else "chat.removed", told_of(chat_id))]
