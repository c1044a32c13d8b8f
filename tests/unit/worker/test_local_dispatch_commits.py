"""Local dispatch on a fake store: commits that acquire their chat, and decisions without a load."""

import asyncio
from dataclasses import dataclass, field

import pytest
from typing_extensions import override

from holdfast.chats.changes import ChangeRequest, Sweep
from holdfast.chats.ledger import Ledger
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import (
    Archive,
    Await,
    Command,
    CommitStep,
    Create,
    DeclareTools,
    EditMessage,
    ExpireAwait,
    FinishTurn,
    Fork,
    SendMessage,
    Unarchive,
)
from holdfast.domain.errors import ChangedMeanwhile, TooManyBytes, TooManyChats, Unavailable
from holdfast.domain.fence import Fence
from holdfast.domain.ids import CallId, ChatId, Seq, Version
from holdfast.domain.messages import Role
from holdfast.domain.outcome import Outcome
from holdfast.domain.parts import Need
from holdfast.ports.store import JUST_THE_CHAT, IdempotencyKey, Loaded, LoadQuery, Stamp
from holdfast.worker.local_dispatch import LocalDispatch
from tests.support.builders import NOW, OWNER, a_tool, asks, reply, user
from tests.support.dispatch import dispatch_on
from tests.support.doubles import AlwaysRoom, HandClock, KeptHints, SeededIds
from tests.support.fake_store import FakeStore
from tests.support.virtual import virtual_runner as virtual_runner
from tests.support.world import ACTOR, TTL, keyed_by

SAID = SendMessage(user("more"))


class UnsureStore(FakeStore):
    """Counts loads; may lose the answer to a commit, never answer it, refuse it, or be overtaken
    so many times."""

    loads = 0
    answers = True
    hangs = False
    full = False
    losses = 0

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
        if self.losses:
            self.losses -= 1
            return None
        return await self._unsurely(await super().commit(outcome, fence=fence, keyed=keyed))

    async def _unsurely(self, stamp: Stamp | None) -> Stamp | None:
        if self.hangs:
            await asyncio.Event().wait()
        if not self.answers:
            raise Unavailable("no answer")
        return stamp


@dataclass
class Desk:
    store: UnsureStore
    hints: KeptHints
    room: AlwaysRoom
    dispatch: LocalDispatch
    ids: SeededIds = field(default_factory=SeededIds)

    async def create(self, *commands: Create) -> Chat:
        (command,) = commands or (Create(),)
        return (await self.dispatch.create(self.new(), command)).chat

    async def send(self, chat: Chat, key: str | None = None) -> Chat:
        keyed = None if key is None else keyed_by(key, SAID)
        request = ChangeRequest((SAID,), by=ACTOR, key=keyed)
        return (await self.dispatch.transact(chat.chat_id, request)).chat

    async def drive(self, chat: Chat, *commands: Command) -> Chat:
        request = ChangeRequest(commands, by=Fence.of(chat), snapshot=chat)
        return (await self.dispatch.transact(chat.chat_id, request)).chat

    async def finish(self, chat: Chat) -> Chat:
        return await self.drive(chat, CommitStep((reply(),)), FinishTurn())

    def another_process(self) -> Ledger:
        return Ledger(self.store, self.hints, HandClock())

    def new(self) -> Chat:
        return Chat(chat_id=self.ids.new_chat_id(), org_id=ACTOR.org_id, owner_id=OWNER)

    async def said(self, chat: Chat) -> int:
        page = await self.store.page(chat.chat_id, limit=100)
        return sum(message.body.role is Role.USER for message in page.messages)


async def a_desk() -> Desk:
    store, hints = UnsureStore(HandClock()), KeptHints()
    room = AlwaysRoom(SeededIds(5).new_worker_id())
    await store.join(room.worker_id, name="here", ttl=TTL)
    return Desk(store, hints, room, dispatch_on(store, hints, HandClock(), room))


# Commits that acquire.


async def test_create_and_send_acquire_the_chat_in_their_commit() -> None:
    desk = await a_desk()
    made = await desk.create(Create((user(),)))
    assert (made.worker_id, made.epoch, made.attempt) == (desk.room.worker_id, 1, 1)
    again = await desk.send(await desk.finish(made))
    assert (again.worker_id, again.epoch, again.attempt) == (desk.room.worker_id, 2, 1)

    (first, told), (second, more) = desk.room.filled
    assert (first.chat, second.chat) == (made, again)
    assert [len(told), len(more)] == [1, 1]
    assert [hint.runnable for hint in desk.hints.published] == [False, False, False]
    assert {hint.worker_id for hint in desk.hints.published} == {None}, "its worker knows"


async def test_only_a_chat_at_rest_that_becomes_runnable_is_acquired() -> None:
    desk = await a_desk()
    made = await desk.create()
    assert made.worker_id is None
    running = await desk.send(made)
    queued = await desk.send(running)
    assert (len(queued.queue), queued.epoch) == (1, running.epoch)
    assert len(desk.room.filled) == 1


async def test_a_fork_is_at_rest_and_not_acquired() -> None:
    desk = await a_desk()
    source = await desk.finish(await desk.create(Create((user(),))))
    fork = (await desk.dispatch.fork(desk.new(), source.chat_id, Fork())).chat
    assert (fork.status, fork.worker_id) == (Status.IDLE, None)
    assert len(desk.room.filled) == 1
    loads = desk.store.loads
    await desk.send(fork)
    assert desk.store.loads == loads, "what this process commits is remembered"


async def test_an_edit_with_expected_versions_acquires_the_chat() -> None:
    desk = await a_desk()
    rests = await desk.finish(await desk.create(Create((user(),))))
    edit = EditMessage(Seq(1), user("instead"))
    stale = ChangeRequest((edit,), by=ACTOR, expected={Version(99)})
    with pytest.raises(ChangedMeanwhile):
        await desk.dispatch.transact(rests.chat_id, stale)
    request = ChangeRequest((edit,), by=ACTOR, expected={rests.history_version})
    edited = (await desk.dispatch.transact(rests.chat_id, request)).chat
    assert edited.worker_id == desk.room.worker_id


async def test_a_sweep_does_not_acquire_the_chat_that_it_resumes() -> None:
    desk = await a_desk()
    made = await desk.create(Create((user(),)))
    step = CommitStep((asks("a", needs=Need.RESULT),))
    await desk.drive(made, step, Await(Need.RESULT, (CallId("a"),), NOW))
    request = ChangeRequest((ExpireAwait(),), by=Sweep())
    resumed = (await desk.dispatch.transact(made.chat_id, request)).chat
    assert (resumed.status, resumed.worker_id) == (Status.RUNNING, None)
    assert desk.hints.published[-1].runnable
    assert len(desk.room.filled) == 1


async def test_without_room_all_workers_hear_of_the_chat() -> None:
    desk = await a_desk()
    desk.room.open = False
    made = await desk.create(Create((user(),)))
    assert made.worker_id is None
    assert [hint.runnable for hint in desk.hints.published] == [True]


async def test_a_lapsed_lease_leaves_the_slot_and_the_message_is_kept() -> None:
    desk = await a_desk()
    rests = await desk.create()
    desk.store.lapse(desk.room.worker_id)
    made = await desk.create(Create((user(),)))
    said = await desk.send(rests)
    assert [made.worker_id, said.worker_id] == [None, None]
    assert [made.status, said.status] == [Status.RUNNING] * 2
    assert desk.room.filled == []
    # Asked with what was remembered, and with what was loaded; never a third time.
    assert desk.room.left == 3


async def test_an_overtaken_commit_leaves_its_slot() -> None:
    desk = await a_desk()
    rests = await desk.create()
    desk.store.losses = 3
    said = await desk.send(rests)
    assert (said.status, said.worker_id) == (Status.RUNNING, None), "later tries do not acquire"
    assert (desk.room.filled, desk.room.doubted, desk.room.left) == ([], [], 2)


async def test_a_lost_answer_leaves_a_doubt() -> None:
    desk = await a_desk()
    rests = await desk.create()
    desk.store.answers = False
    with pytest.raises(Unavailable):
        await desk.create(Create((user(),)))
    with pytest.raises(Unavailable):
        await desk.send(rests)
    assert [chat.worker_id for chat in desk.room.doubted] == [desk.room.worker_id] * 2
    assert (desk.room.filled, desk.room.left) == ([], 0)


async def test_a_commit_over_quota_leaves_its_slot_without_a_doubt() -> None:
    desk = await a_desk()
    rests = await desk.create()
    desk.store.full = True
    with pytest.raises(TooManyChats):
        await desk.create(Create((user(),)))
    with pytest.raises(TooManyBytes):
        await desk.send(rests)
    assert (desk.room.filled, desk.room.doubted, desk.room.left) == ([], [], 2)


async def test_a_cancelled_sender_leaves_a_doubt() -> None:
    desk = await a_desk()
    rests = await desk.create()
    desk.store.hangs = True
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(60):
            await desk.send(rests)
    assert [chat.chat_id for chat in desk.room.doubted] == [rests.chat_id]


async def test_the_runner_has_two_rounds_of_the_loop_before_the_sender_is_answered() -> None:
    desk = await a_desk()
    rests = await desk.create()
    rounds = 0

    async def count() -> None:
        nonlocal rounds
        while True:
            rounds += bool(desk.room.filled)
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await desk.send(rests)
    counting.cancel()
    assert rounds == 2


# Decisions without a load.


async def test_a_chat_that_this_process_left_at_rest_is_not_loaded() -> None:
    desk = await a_desk()
    made = await desk.create(Create((user(),)))
    await desk.send(await desk.finish(made), key="k")
    assert desk.store.loads == 0


async def test_a_chat_that_another_process_changed_is_loaded() -> None:
    desk = await a_desk()
    made = await desk.create()
    await desk.another_process().transact(made.chat_id, ChangeRequest((SAID,), by=ACTOR))
    loads = desk.store.loads
    second = await desk.send(made)
    assert desk.store.loads == loads + 1
    assert [len(second.queue), await desk.said(second)] == [1, 1]


async def test_a_refusal_by_remembered_facts_is_decided_again_after_a_load() -> None:
    """Archived here, brought back elsewhere: as far as we remember, nothing may be said in it."""
    desk = await a_desk()
    made = await desk.create()
    await desk.dispatch.transact(made.chat_id, ChangeRequest((Archive(),), by=ACTOR))
    unarchive = ChangeRequest((Unarchive(),), by=ACTOR)
    await desk.another_process().transact(made.chat_id, unarchive)
    assert (await desk.send(made)).status is Status.RUNNING


async def test_only_messages_are_decided_by_remembered_facts() -> None:
    """What changes nothing is not committed, so nothing would compare what was remembered."""
    desk = await a_desk()
    made = await desk.create()
    declare = ChangeRequest((DeclareTools((a_tool(),)),), by=ACTOR)
    await desk.another_process().transact(made.chat_id, declare)
    request = ChangeRequest((DeclareTools(()),), by=ACTOR)
    assert (await desk.dispatch.transact(made.chat_id, request)).chat.tools == ()
    loaded = await desk.store.load(made.chat_id)
    assert loaded is not None
    assert loaded.facts.chat.tools == ()


async def test_expected_versions_are_compared_with_loaded_facts() -> None:
    desk = await a_desk()
    made = await desk.create()
    elsewhere = desk.another_process()
    changed = await elsewhere.transact(made.chat_id, ChangeRequest((SAID,), by=ACTOR))
    request = ChangeRequest((SAID,), by=ACTOR, expected={changed.chat.history_version})
    assert len((await desk.dispatch.transact(made.chat_id, request)).chat.queue) == 1


async def test_a_repeat_is_known_without_a_load() -> None:
    desk = await a_desk()
    made = await desk.create()
    rests = await desk.finish(await desk.send(made, key="k"))
    request = ChangeRequest((SAID,), by=ACTOR, key=keyed_by("k", SAID))
    again = await desk.dispatch.transact(rests.chat_id, request)
    assert again.repeated
    assert await desk.said(rests) == 1
    assert len(desk.room.filled) == 1
