"""Titles, labels and summaries beside real turns: on other replicas at once, in no turn's way."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest

from holdfast.bootstrap import Adapters, Server
from holdfast.chats import listing
from holdfast.chats.changes import Actor, ChangeRequest
from holdfast.chats.publishing_listing import PublishingListing
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import Interrupt, SendMessage
from holdfast.domain.ids import ChatId, SignInId
from holdfast.domain.policy import EVERY_SCOPE, Credential, OrgRole, Principal
from holdfast.ports.listing import ChatPatch, Entry
from holdfast.ports.models import Ask, Models, ModelStream, Route, Usage
from tests.requirements import requirement
from tests.support.builders import ORG, OWNER, user
from tests.support.buses import until
from tests.support.replica import Replicas, ask, at_rest
from tests.support.scripted import Failed, Hold, Item, ScriptedStream, says
from tests.support.waits import HANG_S

WHO = Principal(
    org_id=ORG,
    user_id=OWNER,
    role=OrgRole.ADMIN,
    scopes=EVERY_SCOPE,
    credential=Credential("session", SignInId(UUID(int=5))),
)
NAMER = "namer"
LONG = 'Tell me. [[sim: say "Kelp grows fast. It is a brown alga of cold seas." | words=40]]'


@dataclass
class Namer:
    """The model for titles in front of those for turns. `script`: what it says to each request."""

    models: Models
    script: Callable[[Ask], list[Item]]
    asked: list[Ask] = field(default_factory=list[Ask])

    def stream(self, ask: Ask) -> ModelStream:
        if ask.model != NAMER:
            return self.models.stream(ask)
        self.asked.append(ask)
        return ScriptedStream(self.script(ask))

    def cost_micros(self, model: str | None, usage: Usage | None, at: datetime) -> int | None:
        return self.models.cost_micros(model, usage, at)

    def context_window(self, model: str | None) -> int | None:
        return self.models.context_window(model)

    def route(self, model: str | None) -> Route:
        return self.models.route(model)


def words(ask: Ask) -> list[Item]:
    """What each kind of text asks for."""
    (instruction,) = ask.system
    if "title" in instruction:
        return says("Kelp and its growth")
    return says("Kelp explained" if "last turn" in instruction else "A chat about kelp.")


@dataclass
class Named:
    """A replica that serves people, and a worker that drives turns and names chats."""

    api: Server
    worker: Server
    namer: Namer

    async def entry(self, chat: Chat | ChatId) -> Entry:
        people = self.api.adapters.people
        assert people is not None
        chat_id = chat.chat_id if isinstance(chat, Chat) else chat
        return await listing.find(people.listing, WHO, chat_id)

    async def until(self, chat: Chat, true: Callable[[Entry], bool]) -> Entry:
        async with asyncio.timeout(HANG_S):
            while not true(entry := await self.entry(chat)):  # noqa: ASYNC110 - of another process
                await asyncio.sleep(0.02)
            return entry

    async def send(self, chat: Chat, text: str) -> Chat:
        request = ChangeRequest((SendMessage(user(text)),), by=Actor(ORG, OWNER))
        await self.api.ledger.transact(chat.chat_id, request)
        return await at_rest(self.api, chat.chat_id)

    async def rename(self, chat: Chat, title: str | None) -> None:
        people = self.api.adapters.people
        assert people is not None
        assert self.api.texts is not None
        told = PublishingListing(people.listing, self.api.adapters.bus, self.api.texts.seek_title)
        await listing.update(told, WHO, chat.chat_id, ChatPatch(title=title))

    def count(self, kind: str, outcome: str) -> int:
        assert self.worker.texts is not None
        return self.worker.texts.counters.texts[kind, outcome]


@asynccontextmanager
async def named(
    cell: Replicas, script: Callable[[Ask], list[Item]] = words, mode: str = "all"
) -> AsyncGenerator[Named]:
    namers: list[Namer] = []

    def around(adapters: Adapters) -> Adapters:
        namers.append(Namer(adapters.models, script))
        return replace(adapters, models=namers[-1])

    given: dict[str, Any] = {"chat_texts": mode, "title_model": NAMER}
    async with (
        cell.open(around, role="api", **given) as api,
        cell.open(around, role="worker", **given) as worker,
    ):
        yield Named(api, worker, namers[1])


@requirement("L67")
@requirement("F01")
async def test_watchers_on_another_replica_hear_of_title_label_and_summary(cell: Replicas) -> None:
    async with named(cell) as here:
        watching = here.api.watching
        assert watching is not None
        async with watching.follow(WHO, None) as watcher, asyncio.timeout(HANG_S):
            chat = await ask(here.api, user(LONG))
            told = b""
            while b'"summary":"A chat about kelp."' not in told:
                told = (await anext(watcher)).data
        assert b'"title":"Kelp and its growth","title_source":"model"' in told
        assert b'"turn_label":"Kelp explained"' in told
        entry = await here.entry(chat)
        assert (entry.title, entry.turn_label) == ("Kelp and its growth", "Kelp explained")
        # No version counts it, and no message says it.
        assert (await at_rest(here.api, chat.chat_id)).last_seq == 2
        assert here.worker.texts is not None
        counters = here.worker.texts.counters
        assert (counters.input_tokens, counters.output_tokens) == (30, 15)
        assert 'holdfast_chat_texts_total{kind="title",outcome="made"} 1.0' in (
            here.worker.metrics.text().decode()
        )


@requirement("L68")
async def test_no_turn_waits_for_a_title_model_that_hangs(cell: Replicas) -> None:
    """Also with more chats than the maker has tasks: all turns end while it hangs."""
    hold = Hold()
    async with named(cell, lambda _: [hold, *says("Too late")], mode="titles") as here:
        async with asyncio.TaskGroup() as group:
            sent = [group.create_task(ask(here.api, user(f"Chat {n}"))) for n in range(30)]
        chats = [task.result() for task in sent]
        for chat in chats:
            assert (await at_rest(here.api, chat.chat_id)).status is Status.IDLE
        entries = [await here.entry(chat) for chat in chats]
        assert [each.title for each in entries] == [f"Chat {n}" for n in range(30)]
        assert {each.title_source for each in entries} == {"first_words"}
        assert 0 < len(here.namer.asked) <= 8, "the calls that hang are bounded"
        assert here.count("title", "made") == 0


@requirement("L68")
async def test_a_title_that_a_user_gives_meanwhile_stays(cell: Replicas) -> None:
    hold = Hold()
    async with named(cell, lambda _: [hold, *says("Kelp and its growth")], "titles") as here:
        chat = await ask(here.api, user("What is kelp?"))
        await until(lambda: len(here.namer.asked) == 1)
        await here.rename(chat, "mine")
        hold.until.set()
        await until(lambda: here.count("title", "late") == 1)
        entry = await here.entry(chat)
        assert (entry.title, entry.title_source) == ("mine", "user")
        await here.send(chat, "more")
        assert len(here.namer.asked) == 1, "and no model is asked again"


@requirement("L68")
async def test_a_title_that_comes_after_the_first_reply_is_taken(cell: Replicas) -> None:
    hold = Hold()
    async with named(cell, lambda _: [hold, *says("Kelp and its growth")], "titles") as here:
        chat = await ask(here.api, user("What is kelp?"))
        await at_rest(here.api, chat.chat_id)
        hold.until.set()
        entry = await here.until(chat, lambda each: each.title_source == "model")
        assert entry.title == "Kelp and its growth"


@requirement("L13")
async def test_an_interrupt_clears_the_label_and_nothing_writes_it_back(cell: Replicas) -> None:
    async with named(cell) as here:
        chat = await ask(here.api, user(LONG))
        await here.until(chat, lambda each: each.turn_label == "Kelp explained")
        labels = here.count("turn_label", "made")
        request = ChangeRequest(
            (SendMessage(user("Go on. [[sim: words=400 | rate=20]]")),), by=Actor(ORG, OWNER)
        )
        await here.api.ledger.transact(chat.chat_id, request)
        assert (await here.entry(chat)).turn_label is None, "the next turn takes it away"
        stop = ChangeRequest((Interrupt(),), by=Actor(ORG, OWNER))
        await here.api.ledger.transact(chat.chat_id, stop)
        stopped = await at_rest(here.api, chat.chat_id)
        assert stopped.status is Status.IDLE
        asked = len(here.namer.asked)
        # A chat after it is labelled, so everything before it in the queue was looked at.
        other = await ask(here.api, user(LONG))
        await here.until(other, lambda each: each.turn_label is not None)
        entry = await here.entry(chat)
        assert entry.turn_label is None
        assert listing.entry_json(entry)["turn_label"] is None
        assert here.count("turn_label", "made") == labels + 1
        assert len(here.namer.asked) > asked


async def test_a_label_under_way_is_dropped_when_the_chat_moves_on(cell: Replicas) -> None:
    hold = Hold()

    def script(ask: Ask) -> list[Item]:
        return [hold, *words(ask)] if "last turn" in ask.system[0] else words(ask)

    async with named(cell, script) as here:
        chat = await ask(here.api, user(LONG))
        await until(lambda: any("last turn" in each.system[0] for each in here.namer.asked))
        await here.api.ledger.transact(
            chat.chat_id,
            ChangeRequest(
                (SendMessage(user("Go on. [[sim: words=400 | rate=20]]")),), by=Actor(ORG, OWNER)
            ),
        )
        stop = ChangeRequest((Interrupt(),), by=Actor(ORG, OWNER))
        await here.api.ledger.transact(chat.chat_id, stop)
        await at_rest(here.api, chat.chat_id)
        hold.until.set()
        await until(lambda: here.count("turn_label", "late") == 1)
        assert (await here.entry(chat)).turn_label is None


@pytest.mark.parametrize("broken", ["too many words to be a title of this chat at all", ""])
async def test_a_rejected_title_leaves_the_first_words(cell: Replicas, broken: str) -> None:
    async with named(cell, lambda _: says(broken), "titles") as here:
        chat = await ask(here.api, user("What is kelp?"))
        await until(lambda: here.count("title", "rejected") >= 1)
        await here.send(chat, "more")
        await until(lambda: here.count("title", "rejected") == 2)
        entry = await here.entry(chat)
        assert (entry.title, entry.title_source) == ("What is kelp?", "first_words")
        assert len(here.namer.asked) == 2
        assert here.worker.texts is not None
        here.worker.texts.begun(await at_rest(here.api, chat.chat_id))
        other = await ask(here.api, user("x"))
        await until(lambda: any("User: x" in str(each.history) for each in here.namer.asked))
        assert sum("kelp" in str(each.history) for each in here.namer.asked) == 2, "never again"
        assert (await here.entry(other)).title == "x"


async def test_a_model_that_fails_leaves_a_plain_label(cell: Replicas) -> None:
    async with named(cell, lambda _: [Failed()]) as here:
        chat = await ask(here.api, user(LONG))
        entry = await here.until(chat, lambda each: each.turn_label is not None)
        assert (entry.turn_label, entry.summary) == ("Finished", None)
        assert here.count("turn_label", "failed") == 1


async def test_a_process_that_died_leaves_the_title_to_the_next_turn(cell: Replicas) -> None:
    async with named(cell, lambda _: [Hold()], "titles") as here:
        chat = await ask(here.api, user("What is kelp?"))
        await until(lambda: len(here.namer.asked) == 1)
        await at_rest(here.api, chat.chat_id)
    async with named(cell, mode="all") as here:
        await here.send(chat, "more")
        entry = await here.until(chat, lambda each: each.title_source == "model")
        assert entry.title == "Kelp and its growth"


async def test_a_title_that_is_taken_away_is_found_again(cell: Replicas) -> None:
    async with named(cell) as here:
        chat = await ask(here.api, user("What is kelp?"))
        await here.until(chat, lambda each: each.title_source == "model")
        await here.rename(chat, "mine")
        await here.rename(chat, None)
        entry = await here.until(chat, lambda each: each.title_source == "model")
        assert entry.title == "Kelp and its growth"


async def test_without_texts_no_model_is_asked(cell: Replicas) -> None:
    async with named(cell, mode="off") as here:
        chat = await ask(here.api, user("What is kelp?"))
        await at_rest(here.api, chat.chat_id)
        await here.rename(chat, None)
        entry = await here.until(chat, lambda each: each.title is not None)
        assert (entry.title, entry.title_source) == ("What is kelp?", "first_words")
        assert (entry.turn_label, entry.summary) == (None, None)
        assert here.namer.asked == []


async def test_the_simulator_names_chats(cell: Replicas) -> None:
    """Without a model of its own, the model of the chat does it; directives in a quoted chat are
    none of its business."""
    async with cell.open(chat_texts="all") as server:
        people = server.adapters.people
        assert people is not None
        chat = await ask(server, user(f"What is kelp, and how does it grow? {LONG}"))
        texts = server.texts
        assert texts is not None
        await until(lambda: sum(texts.counters.texts.values()) == 3)
        entry = await listing.find(people.listing, WHO, chat.chat_id)
        assert (entry.title, entry.title_source) == ("What is kelp and how", "model")
        assert entry.turn_label == "Simulator answered"
        assert entry.summary is not None
        assert "[[sim" not in entry.summary
