"""Lists of chats: who sees what, in which order, page by page; and the verbs about lists."""

from dataclasses import replace

import pytest

from holdfast.adapters.postgres.listing import PostgresListing
from holdfast.chats import listing
from holdfast.chats.changes import ChangeRequest
from holdfast.chats.publishing_listing import PublishingListing
from holdfast.chats.send import send
from holdfast.chats.steer import archive
from holdfast.domain.chat import Status
from holdfast.domain.commands import CommitStep, FinishTurn, SendMessage
from holdfast.domain.denials import FieldRefused, NotAllowed, NotFound
from holdfast.domain.errors import ChangedMeanwhile, ChatNotFound, TooSlow
from holdfast.domain.ids import ChatId, Seq
from holdfast.domain.policy import Action, Principal, Scope
from holdfast.domain.public_ids import CHAT_ID
from holdfast.ports.listing import ChatPatch, Entry, ListFilter
from tests.requirements import requirement
from tests.support.builders import reply, user
from tests.support.doubles import KeptHints
from tests.support.identity import Realm, principal
from tests.support.world import postgres_world


async def ids(realm: Realm, who: Principal, wanted: ListFilter | None = None) -> list[ChatId]:
    return [e.chat_id for e in (await listing.page(realm.listing, who, wanted)).entries]


async def speak(realm: Realm, who: Principal, chat_id: ChatId) -> None:
    request = ChangeRequest((SendMessage(user("more")),), by=listing.driver(who))
    await realm.ledger.transact(chat_id, request)


@requirement("A1")
async def test_one_sees_ones_own_and_what_is_shared_and_nothing_else(
    realm: Realm, admin: Principal
) -> None:
    _, bob = await realm.add(admin, "Bob")
    other = await realm.another_org()
    mine, his, private = (
        await realm.chat(admin),
        await realm.chat(bob),
        await realm.chat(admin),
    )
    foreign = await realm.chat(other)
    await listing.share(realm.listing, realm.clock, admin, mine, bob.user_id)

    assert await ids(realm, admin) == [private, mine]
    assert await ids(realm, bob) == [his, mine]
    assert await ids(realm, other) == [foreign]
    assert await ids(realm, bob, ListFilter(whose="own")) == [his]
    assert await ids(realm, bob, ListFilter(whose="shared")) == [mine]
    assert [s.user_id for s in await listing.shares(realm.listing, admin, mine)] == [bob.user_id]

    await listing.unshare(realm.listing, realm.clock, admin, mine, bob.user_id)
    await listing.unshare(realm.listing, realm.clock, admin, mine, bob.user_id)
    assert await ids(realm, bob) == [his]


@requirement("A1", "L128")
async def test_a_chat_of_others_answers_like_an_unknown_one(realm: Realm, admin: Principal) -> None:
    _, bob = await realm.add(admin, "Bob")
    _, cid = await realm.add(admin, "Cid")
    other = await realm.another_org()
    chat_id = await realm.chat(admin)
    unknown = ChatId(realm.chance.new_id())
    await listing.share(realm.listing, realm.clock, admin, chat_id, cid.user_id)
    port, clock = realm.listing, realm.clock

    async def answers(who: Principal, chat_id: ChatId, *, reads: bool) -> list[str]:
        asked = [
            listing.find(port, who, chat_id, Action.DRIVE),
            listing.update(port, who, chat_id, ChatPatch(title="mine now")),
            listing.update(port, who, chat_id, ChatPatch(pinned=True)),
            listing.update(port, who, chat_id, ChatPatch(labels=("mine",))),
            listing.share(port, clock, who, chat_id, bob.user_id),
            listing.unshare(port, clock, who, chat_id, cid.user_id),
            listing.shares(port, who, chat_id),
            send(realm.ledger, listing.driver(who), chat_id, user("run for me")),
            archive(realm.ledger, listing.driver(who), chat_id),
        ]
        if not reads:
            asked += [
                listing.find(port, who, chat_id),
                listing.mark_read(port, who, chat_id, Seq(1)),
            ]
        said: list[str] = []
        for each in asked:
            with pytest.raises(ChatNotFound) as refused:
                await each
            said.append(str(refused.value).replace(CHAT_ID.encode(chat_id), "ID"))
        return said

    for who in (bob, other):
        assert await answers(who, chat_id, reads=False) == await answers(who, unknown, reads=False)
    assert await answers(cid, chat_id, reads=True), "who may read may do nothing else"
    assert (await listing.find(port, cid, chat_id)).chat_id == chat_id
    mine = await listing.find(port, admin, chat_id)
    assert (mine.title, mine.pinned, mine.labels, mine.archived) == (None, False, (), False)


async def test_who_saw_an_older_entry_is_told_so_and_changes_nothing(
    realm: Realm, admin: Principal
) -> None:
    chat_id = await realm.chat(admin)
    seen = (await listing.find(realm.listing, admin, chat_id)).listed
    hints = KeptHints()
    told = PublishingListing(realm.listing, hints)
    await listing.update(realm.listing, admin, chat_id, ChatPatch(title="renamed meanwhile"))

    for late in (
        listing.update(told, admin, chat_id, ChatPatch(title="late"), expected={seen}),
        listing.update(told, admin, chat_id, ChatPatch(pinned=True), expected={seen}),
        listing.update(told, admin, chat_id, ChatPatch(labels=("late",)), expected={seen}),
    ):
        with pytest.raises(ChangedMeanwhile):
            await late
    entry = await listing.find(realm.listing, admin, chat_id)
    assert (entry.title, entry.pinned, entry.labels) == ("renamed meanwhile", False, ())
    assert hints.published == []


@requirement("L129")
async def test_a_reader_moves_no_cursor_but_their_own(realm: Realm, admin: Principal) -> None:
    _, bob = await realm.add(admin, "Bob")
    chat_id = await realm.chat(admin, user())
    await listing.share(realm.listing, realm.clock, admin, chat_id, bob.user_id)

    async def read(who: Principal) -> Entry:
        return await listing.find(realm.listing, who, chat_id)

    assert await listing.mark_read(realm.listing, bob, chat_id, Seq(1)) == 1
    assert ((await read(bob)).unread, (await read(admin)).unread) == (False, True)
    assert await listing.mark_read(realm.listing, admin, chat_id, Seq(99)) == 1, "not beyond"
    assert await listing.mark_read(realm.listing, bob, chat_id, Seq(0)) == 1, "only forward"
    assert (await read(admin)).read_seq == 1


async def test_what_is_about_lists_changes_no_version(realm: Realm, admin: Principal) -> None:
    chat_id = await realm.chat(admin, user())
    before = await listing.find(realm.listing, admin, chat_id)
    told = len(realm.hints.published)
    await listing.update(realm.listing, admin, chat_id, ChatPatch(title="  A \n title "))
    await listing.update(realm.listing, admin, chat_id, ChatPatch(pinned=True))
    await listing.update(
        realm.listing,
        admin,
        chat_id,
        ChatPatch(
            labels=(
                "b",
                "a",
                "b",
            )
        ),
    )
    await listing.mark_read(realm.listing, admin, chat_id, Seq(1))
    after = await listing.find(realm.listing, admin, chat_id)
    assert (after.title, after.title_source) == ("A title", "user")
    assert (after.pinned, after.labels) == (True, ("b", "a"))
    assert after.version == before.version
    assert after.touched_at == before.touched_at
    assert len(realm.hints.published) == told
    loaded = await realm.ledger._store.load(chat_id)  # pyright: ignore[reportPrivateUsage]
    assert loaded is not None
    assert loaded.facts.chat.version == before.version


async def test_the_order_is_by_when_a_person_last_spoke(realm: Realm, admin: Principal) -> None:
    first, second = await realm.chat(admin), await realm.chat(admin)
    assert await ids(realm, admin) == [second, first]
    await speak(realm, admin, first)
    assert await ids(realm, admin) == [first, second]
    before = (await listing.find(realm.listing, admin, first)).touched_at
    await archive(realm.ledger, listing.driver(admin), second)
    await speak(realm, admin, first)  # queued: accepted all the same
    after = (await listing.find(realm.listing, admin, first)).touched_at
    assert after > before
    assert await ids(realm, admin) == [first]
    assert await ids(realm, admin, ListFilter(archived=True)) == [second]
    assert await ids(realm, admin, ListFilter(archived=None)) == [first, second]


async def test_only_what_a_person_says_touches_a_chat(realm: Realm, admin: Principal) -> None:
    chat_id = await realm.chat(admin, user())
    before = await listing.find(realm.listing, admin, chat_id)
    world = postgres_world(realm.pool)
    (driven,) = await world.acquire(await world.a_worker())
    await world.drive(driven, CommitStep((reply(),)), FinishTurn())
    after = await listing.find(realm.listing, admin, chat_id)
    assert after.version > before.version
    assert after.touched_at == before.touched_at


async def test_wanted_chats_are_found_by_status_label_and_title(
    realm: Realm, admin: Principal
) -> None:
    plain, running, named = (
        await realm.chat(admin),
        await realm.chat(admin, user()),
        await realm.chat(admin),
    )
    await listing.update(realm.listing, admin, named, ChatPatch(title="100% of Ärger_s"))
    await listing.update(
        realm.listing,
        admin,
        plain,
        ChatPatch(
            labels=(
                "work",
                "urgent",
            )
        ),
    )
    assert await ids(realm, admin, ListFilter(statuses=frozenset({Status.RUNNING}))) == [running]
    assert await ids(realm, admin, ListFilter(label="urgent")) == [plain]
    assert await ids(realm, admin, ListFilter(label="urg")) == []
    for text in ("100%", "ÄRGER", "r_s", "% OF"):
        assert await ids(realm, admin, ListFilter(title_has=text)) == [named], text
    assert await ids(realm, admin, ListFilter(title_has="r%s")) == [], "no wildcards"
    with pytest.raises(FieldRefused):
        await ids(realm, admin, ListFilter(title_has="x" * 300))


@requirement("L93")
async def test_pages_give_each_chat_once_while_chats_change(realm: Realm, admin: Principal) -> None:
    chats = [await realm.chat(admin) for _ in range(11)]
    # Several were touched in the same instant: then the id decides.
    await realm.pool.execute(
        "update chats set touched_at = date_trunc('hour', touched_at) where id = any($1::uuid[])",
        chats[2:7],
    )
    seen: list[ChatId] = []
    after: str | None = None
    for number in range(20):
        page = await listing.page(realm.listing, admin, limit=3, after=after)
        seen += [entry.chat_id for entry in page.entries]
        if number == 1:
            await speak(realm, admin, seen[0])  # moves to the front: seen already
            await realm.chat(admin)  # new at the front
            await archive(realm.ledger, listing.driver(admin), seen[1])
        after = page.after
        if after is None:
            break
    assert len(seen) == len(set(seen)) == 11
    assert set(seen) == set(chats)


async def test_the_last_page_says_so(realm: Realm, admin: Principal) -> None:
    for _ in range(4):
        await realm.chat(admin)
    page = await listing.page(realm.listing, admin, limit=4)
    assert (len(page.entries), page.after) == (4, None)
    page = await listing.page(realm.listing, admin, limit=3)
    assert page.after is not None
    rest = await listing.page(realm.listing, admin, limit=3, after=page.after)
    assert (len(rest.entries), rest.after) == (1, None)


@pytest.mark.parametrize("cursor", ["", "x", "é", "AAAA", "MjAyNi0wMS0wMSB4", "=" * 9, "a" * 5000])
async def test_what_is_no_cursor_is_refused(realm: Realm, admin: Principal, cursor: str) -> None:
    with pytest.raises(FieldRefused):
        await listing.page(realm.listing, admin, after=cursor)


async def test_pins_come_first_and_once(realm: Realm, admin: Principal) -> None:
    _, bob = await realm.add(admin, "Bob")
    chats = [await realm.chat(admin) for _ in range(6)]
    his = await realm.chat(bob)
    await listing.share(realm.listing, realm.clock, bob, his, admin.user_id)
    await listing.update(realm.listing, bob, his, ChatPatch(pinned=True))
    for chat_id in (chats[0], chats[3]):
        assert (await listing.update(realm.listing, admin, chat_id, ChatPatch(pinned=True))).pinned

    first = await listing.page(realm.listing, admin, limit=3, pinned="first")
    second = await listing.page(realm.listing, admin, limit=3, pinned="first", after=first.after)
    shown = [entry.chat_id for entry in (*first.entries, *second.entries)]
    assert shown == [chats[3], chats[0], his, chats[5], chats[4], chats[2], chats[1]]
    assert [e.pinned for e in first.entries] == [True, True, False, False, False]
    assert second.after is None

    await listing.update(realm.listing, admin, chats[3], ChatPatch(pinned=False))
    assert await ids(realm, admin, ListFilter(pinned=True)) == [chats[0]]


async def test_bounds_of_pins_labels_and_titles(
    realm: Realm, admin: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "PINS_MAX", 1)
    one, two = await realm.chat(admin), await realm.chat(admin)
    await listing.update(realm.listing, admin, one, ChatPatch(pinned=True))
    await listing.update(realm.listing, admin, one, ChatPatch(pinned=True))
    with pytest.raises(FieldRefused):
        await listing.update(realm.listing, admin, two, ChatPatch(pinned=True))
    for wrong in ([""], ["x" * 61], [str(number) for number in range(21)]):
        with pytest.raises(FieldRefused):
            await listing.update(realm.listing, admin, one, ChatPatch(labels=tuple(wrong)))
    for title in ("", " \n ", "x" * 201):
        with pytest.raises(FieldRefused):
            await listing.update(realm.listing, admin, one, ChatPatch(title=title))


async def test_metadata_is_merged_and_bounded_in_pairs(
    realm: Realm, admin: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "METADATA_PAIRS_MAX", 2)
    chat_id = await realm.chat(admin)

    async def change(**pairs: str | None) -> Entry:
        patch = ChatPatch(metadata=pairs)
        return await listing.update(realm.listing, admin, chat_id, patch)

    await change(team="red", ticket="7")
    with pytest.raises(FieldRefused) as refused:
        await change(more="x")
    assert refused.value.field == "metadata"
    assert (await change(ticket=None, more="x")).metadata == {"team": "red", "more": "x"}


async def test_a_bound_that_another_request_freed_meanwhile_is_a_conflict(
    realm: Realm, admin: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_args: object, **_named: object) -> None:
        return None

    chat_id = await realm.chat(admin)
    monkeypatch.setattr(PublishingListing, "update", refused)
    monkeypatch.setattr(PostgresListing, "update", refused)
    with pytest.raises(ChangedMeanwhile):
        await listing.update(realm.listing, admin, chat_id, ChatPatch(title="A title"))


async def test_a_chat_may_be_created_with_title_labels_and_metadata() -> None:
    facts = listing.new_facts(" A  title ", ("a", "b", "a"), {"k": "v"})
    assert (facts.title, facts.labels, facts.metadata) == ("A title", ("a", "b"), {"k": "v"})
    assert listing.new_facts(None, (), {}).title is None


async def test_only_a_principal_that_may_approve_decides_about_tool_calls(
    admin: Principal,
) -> None:
    assert listing.approver(admin) == listing.driver(admin)
    with pytest.raises(NotAllowed):
        listing.approver(replace(admin, scopes=frozenset({Scope.READ})))


@requirement("A1")
async def test_a_chat_is_shared_within_the_organisation_only(
    realm: Realm, admin: Principal
) -> None:
    other = await realm.another_org()
    bob, _ = await realm.add(admin, "Bob")
    chat_id = await realm.chat(admin)
    unknown = realm.chance.new_id()

    async def share(with_user: object) -> None:
        await listing.share(realm.listing, realm.clock, admin, chat_id, with_user)  # pyright: ignore[reportArgumentType]

    for with_user in (other.user_id, unknown, admin.user_id):
        with pytest.raises(NotFound):
            await share(with_user)
    await share(bob.user_id)
    await share(bob.user_id)  # twice is once
    assert (await realm.actions(admin.org_id)).count("chat.shared") == 1
    assert await realm.pool.fetchval("select count(*) from chat_shares") == 1


async def test_an_admin_stops_the_chat_of_another_user_and_the_log_says_so(
    realm: Realm, admin: Principal
) -> None:
    _, bob = await realm.add(admin, "Bob")
    foreign = await realm.another_org()
    with pytest.raises(NotAllowed):
        listing.overseer(bob)
    entry = listing.stopped_by(admin, realm.clock, ChatId(realm.chance.new_id()))
    assert (entry.action, entry.actor_id, entry.detail) == ("chat.stopped", admin.user_id, {})
    assert listing.overseer(foreign).org_id != listing.overseer(admin).org_id


async def test_an_admin_oversees_chats_but_not_what_they_say(
    realm: Realm, admin: Principal
) -> None:
    _, bob = await realm.add(admin, "Bob")
    his, mine = await realm.chat(bob), await realm.chat(admin)
    await realm.chat(await realm.another_org())
    await listing.update(realm.listing, bob, his, ChatPatch(title="secret plan"))
    await listing.update(realm.listing, bob, his, ChatPatch(labels=("secret",)))
    page = await listing.oversee(realm.listing, admin, ListFilter(title_has="nothing"), limit=1)
    assert [entry.chat_id for entry in page.entries] == [mine]
    page = await listing.oversee(realm.listing, admin, limit=1, after=page.after)
    (entry,) = page.entries
    assert (entry.chat_id, entry.title, entry.labels) == (his, None, ())
    assert page.after is None
    with pytest.raises(NotAllowed):
        await listing.oversee(realm.listing, bob)
    with pytest.raises(ChatNotFound):
        await listing.find(realm.listing, admin, his)


@requirement("L128")
async def test_a_key_that_may_only_read_drives_nothing(realm: Realm, admin: Principal) -> None:
    reader = principal(admin.org_id, admin.user_id, admin.role, frozenset({Scope.READ}))
    with pytest.raises(NotAllowed):
        listing.driver(reader)
    with pytest.raises(NotAllowed):
        await listing.update(realm.listing, reader, await realm.chat(admin), ChatPatch(title="x"))
    assert len(await ids(realm, reader)) == 1


@pytest.mark.parametrize(
    "wanted",
    [
        ListFilter(title_has="needle"),
        ListFilter(label="needle"),
        ListFilter(statuses=frozenset(Status)),
    ],
)
async def test_a_search_looks_at_so_many_chats_and_goes_on_after_them(
    realm: Realm, admin: Principal, wanted: ListFilter
) -> None:
    """A word that is nowhere must not read all of somebody's chats at once; what is further back is
    found by the next page."""
    first = await realm.chat(admin)
    await listing.update(realm.listing, admin, first, ChatPatch(title="the needle"))
    await listing.update(realm.listing, admin, first, ChatPatch(labels=("needle",)))
    hay = [await realm.chat(admin) for _ in range(7)]
    told = PublishingListing(realm.listing, KeptHints())
    found, after, pages = list[ChatId](), None, 0
    while pages == 0 or after is not None:
        page = await listing.page(told, admin, wanted, limit=5, after=after, looks_max=2)
        found += [entry.chat_id for entry in page.entries]
        assert len(page.entries) <= 3, "one more than it may look at"
        after, pages = page.after, pages + 1
    assert pages == 3
    assert found == ([*reversed(hay), first] if wanted.statuses else [first])


async def test_what_is_shared_is_searched_whole_and_a_list_is_no_search(
    realm: Realm, admin: Principal
) -> None:
    _, bob = await realm.add(admin, "Bob")
    chats = [await realm.chat(admin) for _ in range(5)]
    for chat_id in chats:
        await listing.update(realm.listing, admin, chat_id, ChatPatch(title="the needle"))
        await listing.share(realm.listing, realm.clock, admin, chat_id, bob.user_id)
    shared = ListFilter(title_has="needle", whose="shared")
    page = await listing.page(realm.listing, bob, shared, looks_max=2)
    assert (len(page.entries), page.after) == (5, None)
    page = await listing.page(realm.listing, admin, looks_max=2)
    assert (len(page.entries), page.after) == (5, None)


async def test_a_list_that_takes_too_long_is_ended(realm: Realm, admin: Principal) -> None:
    impatient = PostgresListing(realm.pool, within_s=1e-6)
    with pytest.raises(TooSlow):
        await listing.page(impatient, admin)
    assert impatient.too_slow == 1
    assert (await listing.page(realm.listing, admin)).entries == (), "the pool is well"
