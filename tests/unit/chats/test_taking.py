"""A commit that gives the chat to the worker of the same process, and one that needs no load."""

import asyncio
from dataclasses import dataclass, field

import pytest
from typing_extensions import override

from holdfast.chats.idle_cache import IdleCache
from holdfast.chats.ledger import Ledger
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import Archive, CommitStep, Create, FinishTurn, SendMessage, Unarchive
from holdfast.domain.errors import TooManyBytes, TooManyChats, Unavailable
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId
from holdfast.domain.messages import Role
from holdfast.domain.outcome import Outcome
from holdfast.ports.store import JUST_THE_CHAT, IdempotencyKey, Loaded, LoadQuery, Stamp
from tests.support.builders import OWNER, a_chat, a_tool, open_call, reply, user
from tests.support.doubles import AlwaysRoom, HandClock, KeptHints, SeededIds
from tests.support.fake_store import FakeStore
from tests.support.virtual import virtual_runner as virtual_runner
from tests.support.world import ACTOR, TTL, keyed_by

SAID = SendMessage(user("more"))


class Unsure(FakeStore):
    """Counts loads; may lose the answer to a commit, or never come to it."""

    loads = 0
    answers = True
    hangs = False
    full = False

    @override
    async def load(self, chat_id: ChatId, asking: LoadQuery = JUST_THE_CHAT) -> Loaded | None:
        self.loads += 1
        return await super().load(chat_id, asking)

    @override
    async def create(self, outcome: Outcome, keyed: IdempotencyKey | None = None) -> Stamp | None:
        if self.full:
            raise TooManyChats(1)
        return await self._unsurely(await super().create(outcome, keyed))

    @override
    async def commit(
        self, outcome: Outcome, *, fence: Fence | None = None, keyed: IdempotencyKey | None = None
    ) -> Stamp | None:
        if self.full:
            raise TooManyBytes(1)
        return await self._unsurely(await super().commit(outcome, fence=fence, keyed=keyed))

    async def _unsurely(self, stamp: Stamp | None) -> Stamp | None:
        if self.hangs:
            await asyncio.Event().wait()
        if not self.answers:
            raise Unavailable("no answer")
        return stamp


@dataclass
class Desk:
    store: Unsure
    hints: KeptHints
    room: AlwaysRoom
    ledger: Ledger
    ids: SeededIds = field(default_factory=SeededIds)

    async def send(self, chat: Chat, key: str | None = None) -> Chat:
        keyed = None if key is None else keyed_by(key, SAID)
        done = await self.ledger.transact(chat.chat_id, SAID, by=ACTOR, keyed=keyed)
        return done.chat

    async def finish(self, chat: Chat) -> Chat:
        done = await self.ledger.transact(
            chat.chat_id, CommitStep((reply(),)), FinishTurn(), by=Fence.of(chat), snapshot=chat
        )
        return done.chat

    def new(self) -> Chat:
        return Chat(chat_id=self.ids.new_chat_id(), org_id=ACTOR.org_id, owner_id=OWNER)

    async def said(self, chat: Chat) -> int:
        page = await self.store.page(chat.chat_id, limit=100)
        return sum(message.body.role is Role.USER for message in page.messages)


async def a_desk() -> Desk:
    store, hints = Unsure(HandClock()), KeptHints()
    room = AlwaysRoom(SeededIds(5).new_worker_id())
    await store.join(room.worker_id, name="here", ttl=TTL)
    return Desk(store, hints, room, Ledger(store, hints, HandClock(), room, IdleCache()))


async def test_what_is_made_and_what_is_said_are_taken_at_once() -> None:
    desk = await a_desk()
    made = (await desk.ledger.create(desk.new(), Create((user(),)))).chat
    assert (made.worker_id, made.epoch, made.attempt) == (desk.room.worker_id, 1, 1)
    again = await desk.send(await desk.finish(made))
    assert (again.worker_id, again.epoch, again.attempt) == (desk.room.worker_id, 2, 1)

    (first, told), (second, more) = desk.room.filled
    assert (first.chat, second.chat) == (made, again)
    assert [len(told), len(more)] == [1, 1]
    assert [hint.runnable for hint in desk.hints.published] == [False, False, False]
    assert {hint.worker_id for hint in desk.hints.published} == {None}, "its worker knows"


async def test_what_is_queued_or_only_noted_is_not_taken() -> None:
    desk = await a_desk()
    made = (await desk.ledger.create(desk.new(), Create())).chat
    assert made.worker_id is None
    running = await desk.send(made)
    await desk.send(running)
    assert len(desk.room.filled) == 1


async def test_without_room_everybody_hears_of_it() -> None:
    desk = await a_desk()
    desk.room.open = False
    made = (await desk.ledger.create(desk.new(), Create((user(),)))).chat
    assert made.worker_id is None
    assert [hint.runnable for hint in desk.hints.published] == [True]


async def test_a_lapsed_lease_costs_nobody_a_message() -> None:
    desk = await a_desk()
    rests = (await desk.ledger.create(desk.new(), Create())).chat
    desk.store.lapse(desk.room.worker_id)
    made = (await desk.ledger.create(desk.new(), Create((user(),)))).chat
    said = await desk.send(rests)
    assert [made.worker_id, said.worker_id] == [None, None]
    assert [made.status, said.status] == [Status.RUNNING] * 2
    assert desk.room.filled == []
    # Asked with what was remembered, and with what was loaded; never a third time.
    assert desk.room.left == 3


async def test_an_answer_that_is_lost_leaves_a_doubt() -> None:
    desk = await a_desk()
    rests = (await desk.ledger.create(desk.new(), Create())).chat
    desk.store.answers = False
    with pytest.raises(Unavailable):
        await desk.ledger.create(desk.new(), Create((user(),)))
    with pytest.raises(Unavailable):
        await desk.send(rests)
    assert [chat.worker_id for chat in desk.room.doubted] == [desk.room.worker_id] * 2
    assert (desk.room.filled, desk.room.left) == ([], 0)


async def test_what_a_quota_refuses_leaves_no_doubt() -> None:
    desk = await a_desk()
    rests = (await desk.ledger.create(desk.new(), Create())).chat
    desk.store.full = True
    with pytest.raises(TooManyChats):
        await desk.ledger.create(desk.new(), Create((user(),)))
    with pytest.raises(TooManyBytes):
        await desk.send(rests)
    assert (desk.room.filled, desk.room.doubted, desk.room.left) == ([], [], 2)


async def test_whoever_hangs_up_meanwhile_leaves_a_doubt() -> None:
    desk = await a_desk()
    rests = (await desk.ledger.create(desk.new(), Create())).chat
    desk.store.hangs = True
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(60):
            await desk.send(rests)
    assert [chat.chat_id for chat in desk.room.doubted] == [rests.chat_id]


# Without a load.


async def test_what_we_left_at_rest_is_not_loaded_again() -> None:
    desk = await a_desk()
    made = (await desk.ledger.create(desk.new(), Create((user(),)))).chat
    await desk.send(await desk.finish(made), key="k")
    assert desk.store.loads == 0


async def test_what_others_changed_is_loaded() -> None:
    desk = await a_desk()
    other = Ledger(desk.store, desk.hints, HandClock())
    made = (await desk.ledger.create(desk.new(), Create())).chat
    await other.transact(made.chat_id, SAID, by=ACTOR)
    loads = desk.store.loads
    second = await desk.send(made)
    assert desk.store.loads == loads + 1
    assert [len(second.queue), await desk.said(second)] == [1, 1]


async def test_what_is_remembered_refuses_nobody() -> None:
    """Archived here, brought back elsewhere: as far as we remember, nothing may be said in it."""
    desk = await a_desk()
    other = Ledger(desk.store, desk.hints, HandClock())
    made = (await desk.ledger.create(desk.new(), Create())).chat
    await desk.ledger.transact(made.chat_id, Archive(), by=ACTOR)
    await other.transact(made.chat_id, Unarchive(), by=ACTOR)
    assert (await desk.send(made)).status is Status.RUNNING


async def test_a_repeat_is_known_though_nothing_was_loaded() -> None:
    desk = await a_desk()
    made = (await desk.ledger.create(desk.new(), Create())).chat
    rests = await desk.finish(await desk.send(made, key="k"))
    keyed = keyed_by("k", SAID)
    again = await desk.ledger.transact(rests.chat_id, SAID, by=ACTOR, keyed=keyed)
    assert again.repeated
    assert await desk.said(rests) == 1
    assert len(desk.room.filled) == 1


def test_only_what_is_small_and_at_rest_is_remembered() -> None:
    resting = IdleCache()
    for chat in (
        a_chat(Status.RUNNING),
        a_chat(Status.INTERRUPTING),
        a_chat(tools=(a_tool(),)),
        a_chat(queue=1),
        a_chat(open_calls=(open_call("a"),)),
    ):
        resting.note(chat)
        assert resting.recall(chat.chat_id) is None
    rests = a_chat()
    resting.note(rests)
    resting.note(a_chat(Status.RUNNING))
    assert resting.recall(rests.chat_id) is None, "it runs: what was remembered is over"


def test_who_has_been_silent_longest_is_forgotten_first() -> None:
    resting, ids = IdleCache(chats_max=2), SeededIds()
    chats = [a_chat(chat_id=ids.new_chat_id()) for _ in range(3)]
    resting.note(chats[0])
    resting.note(chats[1])
    resting.note(chats[0])
    resting.note(chats[2])
    assert len(resting) == 2
    assert [resting.recall(chat.chat_id) for chat in chats] == [chats[0], None, chats[2]]
    assert len(resting) == 0, "given once"
