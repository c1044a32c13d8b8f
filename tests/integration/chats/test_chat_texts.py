"""Titles, labels and summaries in the database: compared before they are set; and mutants."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from holdfast.adapters.postgres import chat_texts as texts_module
from holdfast.adapters.postgres.chat_texts import PostgresChatTexts
from holdfast.chats import listing
from holdfast.chats.changes import ChangeRequest
from holdfast.chats.publishing_listing import PublishingListing
from holdfast.domain.chat import Chat, ListedFacts, Status
from holdfast.domain.commands import (
    Archive,
    Create,
    EditMessage,
    Fork,
    Interrupt,
    RequestCompaction,
    SendMessage,
    Unarchive,
)
from holdfast.domain.ids import ChatId, Seq
from holdfast.domain.policy import Principal
from holdfast.domain.titles import TitleSource
from holdfast.ports.listing import ChatPatch, Entry
from tests.model.mutants import Mutant, change_commit, change_statement
from tests.requirements import requirement
from tests.support.builders import reply, user
from tests.support.identity import Realm


@dataclass
class Lists:
    realm: Realm
    admin: Principal

    @property
    def texts(self) -> PostgresChatTexts:
        return PostgresChatTexts(self.realm.pool)

    async def chat(self) -> Chat:
        """At rest, after one turn."""
        return await self.load(await self.realm.chat(self.admin, user("What is kelp?"), reply()))

    async def load(self, chat_id: ChatId) -> Chat:
        loaded = await self.realm.ledger._store.load(chat_id)  # pyright: ignore[reportPrivateUsage]
        assert loaded is not None
        return loaded.facts.chat

    async def entry(self, chat: Chat) -> Entry:
        return await listing.find(self.realm.listing, self.admin, chat.chat_id)

    async def ask(self, chat: Chat, *commands: object) -> Chat:
        request = ChangeRequest(commands, by=listing.driver(self.admin))  # pyright: ignore[reportArgumentType]
        return (await self.realm.ledger.transact(chat.chat_id, request)).chat

    async def rename(self, chat: Chat, title: str | None) -> None:
        patch = ChatPatch(title=title)
        await listing.update(self.realm.listing, self.admin, chat.chat_id, patch)

    async def label(self, chat: Chat, label: str = "Kelp explained") -> bool:
        written = await self.texts.set_turn_label(
            chat.chat_id, label, version=chat.version, stamp=chat.stamp
        )
        return written is not None

    async def title(self, chat: Chat, title: str = "About \x00 kelp", seq: int = 1) -> bool:
        written = await self.texts.set_title(
            chat.chat_id, title, TitleSource.MODEL, made_of=Seq(seq)
        )
        return written is not None


@pytest.fixture
def lists(realm: Realm, admin: Principal) -> Lists:
    return Lists(realm, admin)


# Each of these says whether a protection is there.


async def keeps_a_title_of_a_user(lists: Lists) -> bool:
    chat = await lists.chat()
    await lists.rename(chat, "mine")
    return not await lists.title(chat) and (await lists.entry(chat)).title == "mine"


async def keeps_a_title_of_a_user_unasked(lists: Lists) -> bool:
    chat = await lists.chat()
    await lists.rename(chat, "mine")
    return not await lists.texts.claim_title(chat.chat_id, tries_max=2)


async def names_no_chat_after_a_hidden_message(lists: Lists) -> bool:
    chat = await lists.chat()
    await lists.ask(chat, EditMessage(Seq(1), user("Something else")))
    return not await lists.title(chat)


async def asks_for_a_title_twice_at_most(lists: Lists) -> bool:
    chat = await lists.chat()
    tries = [await lists.texts.claim_title(chat.chat_id, tries_max=2) for _ in range(3)]
    return tries == [True, True, False]


async def writes_no_label_of_an_earlier_turn(lists: Lists) -> bool:
    """A compaction changes nothing that was said until it is made: only the version tells."""
    chat = await lists.chat()
    running = await lists.ask(chat, RequestCompaction())
    stopped = await lists.ask(running, Interrupt())
    assert stopped.status is Status.INTERRUPTING
    await lists.realm.pool.execute(
        "update chats set status = 'idle', compaction_requested = false, runnable_since = null"
        " where id = $1",
        chat.chat_id,
    )  # as the worker leaves it
    return not await lists.label(chat) and (await lists.entry(chat)).turn_label is None


async def clears_the_label_with_the_next_turn(lists: Lists) -> bool:
    chat = await lists.chat()
    assert await lists.label(chat)
    await lists.ask(chat, SendMessage(user("more")))
    return (await lists.entry(chat)).turn_label is None


async def writes_no_summary_of_an_earlier_history(lists: Lists) -> bool:
    chat = await lists.chat()
    await lists.ask(chat, SendMessage(user("more")))
    written = await lists.texts.set_summary(
        chat.chat_id, "Kelp.", seq=chat.last_seq, history=chat.history
    )
    return written is None


async def loses_its_texts_with_the_first_message(lists: Lists) -> bool:
    chat = await lists.chat()
    assert await lists.title(chat)
    await lists.texts.set_summary(chat.chat_id, "Kelp.", seq=chat.last_seq, history=chat.history)
    await lists.ask(chat, EditMessage(Seq(1), user("What is moss?")))
    entry = await lists.entry(chat)
    return (entry.title, entry.title_source, entry.summary) == (
        "What is moss?",
        "first_words",
        None,
    )


async def keeps_the_title_of_a_first_message_that_stays(lists: Lists) -> bool:
    chat = await lists.chat()
    chat = await lists.ask(chat, SendMessage(user("more")))
    await lists.ask(chat, EditMessage(chat.last_seq, user("less")))
    return (await lists.entry(chat)).title == "What is kelp?"


async def keeps_a_title_of_a_user_when_the_first_message_goes(lists: Lists) -> bool:
    chat = await lists.chat()
    await lists.rename(chat, "mine")
    await lists.ask(chat, EditMessage(Seq(1), user("What is moss?")))
    entry = await lists.entry(chat)
    return (entry.title, entry.title_source) == ("mine", "user")


Check = Callable[[Lists], Awaitable[bool]]
CHECKS: list[Check] = [
    keeps_a_title_of_a_user,
    keeps_a_title_of_a_user_unasked,
    names_no_chat_after_a_hidden_message,
    asks_for_a_title_twice_at_most,
    writes_no_label_of_an_earlier_turn,
    clears_the_label_with_the_next_turn,
    writes_no_summary_of_an_earlier_history,
    loses_its_texts_with_the_first_message,
    keeps_the_title_of_a_first_message_that_stays,
    keeps_a_title_of_a_user_when_the_first_message_goes,
]


@requirement("L68")
@requirement("L13")
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_a_text_is_compared_before_it_is_set(lists: Lists, check: Check) -> None:
    assert await check(lists)


def covers_a_title_of_a_user(patch: pytest.MonkeyPatch) -> None:
    """The server writes its title over that of a user."""
    change_statement(
        patch,
        texts_module,
        "SET_TITLE",
        "title_source is distinct from 'user'",
        "version > 0",
    )


def claims_a_title_of_a_user(patch: pytest.MonkeyPatch) -> None:
    """A model is asked for a title although the user gave one."""
    old = "title_source is distinct from 'user' and "
    change_statement(patch, texts_module, "CLAIM", old, "")


def names_after_a_hidden_message(patch: pytest.MonkeyPatch) -> None:
    """A chat is called after a message that an edit has hidden."""
    change_statement(patch, texts_module, "SET_TITLE", " and m.removed_revision is null", "")


def counts_no_tries(patch: pytest.MonkeyPatch) -> None:
    """A model that names no chat is asked with every turn."""
    old, new = "title_tries = title_tries + 1", "title_tries = title_tries"
    change_statement(patch, texts_module, "CLAIM", old, new)


def writes_a_late_label(patch: pytest.MonkeyPatch) -> None:
    """The label of an earlier turn comes back after an interrupt."""
    old, new = (
        "version = :version and stamp = :stamp",
        "version >= :version and :stamp::bigint <> -1",
    )
    change_statement(patch, texts_module, "SET_LABEL", old, new)


def keeps_the_label(patch: pytest.MonkeyPatch) -> None:
    """A chat goes on under the label of an earlier turn."""
    old = "when status = 'idle' and :status = 'idle' and history_version = :history_version"
    change_commit(patch, old, "when true")


def writes_a_late_summary(patch: pytest.MonkeyPatch) -> None:
    """A summary of what an edit has hidden."""
    old = "history_version = :history_version and history_stamp = :history_stamp"
    new = ":history_version::bigint > 0 and :history_stamp::bigint <> -1"
    change_statement(patch, texts_module, "SET_SUMMARY", old, new)


def keeps_texts_of_hidden_messages(patch: pytest.MonkeyPatch) -> None:
    """Readers are shown a title that was made of what the owner edited away."""
    old = ":hidden_from::integer is not null and chats.title_source is distinct from 'user'"
    change_commit(patch, old, ":hidden_from::integer is not null and chats.title_source = 'nobody'")


def keeps_a_summary_of_hidden_messages(patch: pytest.MonkeyPatch) -> None:
    """Readers are shown a summary of what the owner edited away."""
    old = (
        "summary = case when :hidden_from::integer is null then summary end,\n"
        "        summary_seq = case when :hidden_from::integer is null then summary_seq end,"
    )
    change_commit(patch, old, "")


def retitles_with_every_edit(patch: pytest.MonkeyPatch) -> None:
    """An edit in the middle takes the title of the first message away."""
    change_commit(patch, "m.seq < :hidden_from and m.role = 'user'", "m.seq < 0")


def takes_titles_of_users_away(patch: pytest.MonkeyPatch) -> None:
    """An edit of the first message replaces a title that a user gave."""
    old = ":hidden_from::integer is not null and chats.title_source is distinct from 'user'"
    change_commit(patch, old, ":hidden_from::integer is not null")


MUTANTS: list[tuple[Mutant, Check]] = [
    (covers_a_title_of_a_user, keeps_a_title_of_a_user),
    (claims_a_title_of_a_user, keeps_a_title_of_a_user_unasked),
    (names_after_a_hidden_message, names_no_chat_after_a_hidden_message),
    (counts_no_tries, asks_for_a_title_twice_at_most),
    (writes_a_late_label, writes_no_label_of_an_earlier_turn),
    (keeps_the_label, clears_the_label_with_the_next_turn),
    (writes_a_late_summary, writes_no_summary_of_an_earlier_history),
    (keeps_texts_of_hidden_messages, loses_its_texts_with_the_first_message),
    (keeps_a_summary_of_hidden_messages, loses_its_texts_with_the_first_message),
    (retitles_with_every_edit, keeps_the_title_of_a_first_message_that_stays),
    (takes_titles_of_users_away, keeps_a_title_of_a_user_when_the_first_message_goes),
]


@pytest.mark.parametrize(("mutant", "check"), MUTANTS, ids=[m.__name__ for m, _ in MUTANTS])
async def test_mutant(
    lists: Lists, mutant: Mutant, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    assert not await check(lists), mutant.__doc__


# What is written.


async def test_a_chat_is_called_by_its_first_words_until_there_is_a_title(lists: Lists) -> None:
    chat = await lists.chat()
    entry = await lists.entry(chat)
    assert (entry.title, entry.title_source) == ("What is kelp?", "first_words")

    assert await lists.texts.claim_title(chat.chat_id, tries_max=2)
    assert await lists.title(chat)
    entry = await lists.entry(chat)
    assert (entry.title, entry.title_source) == ("About \x00 kelp", "model")
    assert not await lists.texts.claim_title(chat.chat_id, tries_max=2)
    assert await lists.texts.known(ChatId(lists.realm.chance.new_id())) is None


async def test_a_chat_without_messages_is_called_by_the_first_that_comes(lists: Lists) -> None:
    chat = await lists.load(await lists.realm.chat(lists.admin))
    assert (await lists.entry(chat)).title is None
    chat = await lists.ask(chat, SendMessage(user("Look at this")))
    assert (await lists.entry(chat)).title == "Look at this"

    named = await lists.load(await lists.realm.chat(lists.admin))
    await lists.rename(named, "mine")
    await lists.ask(named, SendMessage(user("Look at this")))
    entry = await lists.entry(named)
    assert (entry.title, entry.title_source) == ("mine", "user")


async def test_a_title_that_comes_with_the_chat_is_the_users(lists: Lists) -> None:
    who = lists.admin
    chat = Chat(
        chat_id=ChatId(lists.realm.chance.new_id()), org_id=who.org_id, owner_id=who.user_id
    )
    given = Create((user("hi"), reply()), listed=ListedFacts(title="Given"))
    chat = (await lists.realm.ledger.create(chat, given)).chat
    entry = await lists.entry(chat)
    assert (entry.title, entry.title_source) == ("Given", "user")


async def test_a_fork_is_called_as_its_source(lists: Lists) -> None:
    chat, who = await lists.chat(), lists.admin
    await lists.rename(chat, "A plan")
    new = Chat(chat_id=ChatId(lists.realm.chance.new_id()), org_id=who.org_id, owner_id=who.user_id)
    fork = (await lists.realm.ledger.fork(new, chat.chat_id, Fork())).chat
    entry = await lists.entry(fork)
    assert (entry.title, entry.title_source) == ("A plan", "first_words")


async def test_a_label_stays_while_the_chat_rests(lists: Lists) -> None:
    chat = await lists.chat()
    assert await lists.label(chat)
    chat = await lists.ask(chat, Archive())
    chat = await lists.ask(chat, Unarchive())
    entry = await lists.entry(chat)
    assert entry.turn_label == "Kelp explained"
    assert listing.entry_json(entry)["turn_label"] == "Kelp explained"


async def test_a_summary_says_what_it_knows(lists: Lists) -> None:
    chat = await lists.chat()
    owner = await lists.texts.set_summary(
        chat.chat_id, "Kelp.", seq=chat.last_seq, history=chat.history
    )
    assert owner == lists.admin.user_id
    assert (await lists.entry(chat)).summary == "Kelp."
    known = await lists.texts.known(chat.chat_id)
    assert known is not None
    assert (known.summary_seq, known.title_source, known.title_tries) == (2, "first_words", 0)


async def test_overseers_see_no_words(lists: Lists) -> None:
    chat = await lists.chat()
    await lists.label(chat)
    (entry,) = (await listing.oversee(lists.realm.listing, lists.admin)).entries
    assert (entry.title, entry.turn_label, entry.summary) == (None, None, None)


async def test_a_title_that_is_taken_away_is_sought_again(lists: Lists) -> None:
    sought: list[ChatId] = []
    told = PublishingListing(lists.realm.listing, lists.realm.hints, sought.append)
    chat = await lists.chat()
    for _ in range(2):
        await lists.texts.claim_title(chat.chat_id, tries_max=2)
    await listing.update(told, lists.admin, chat.chat_id, ChatPatch(title="mine"))
    await listing.update(told, lists.admin, chat.chat_id, ChatPatch(pinned=True))
    assert sought == []
    await listing.update(told, lists.admin, chat.chat_id, ChatPatch(title=None))
    assert sought == [chat.chat_id]
    assert await lists.texts.claim_title(chat.chat_id, tries_max=2), "the tries count anew"
