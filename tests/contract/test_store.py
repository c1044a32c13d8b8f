"""What every store promises: compare and set, all of an outcome or nothing of it."""

import asyncio
from uuid import UUID

import pytest

from holdfast.chats.changes import Actor, ChangeRequest
from holdfast.chats.create import create
from holdfast.domain.chat import Status
from holdfast.domain.commands import (
    Await,
    BeginAttempt,
    CommitStep,
    EditMessage,
    Fail,
    FinishInterrupt,
    FinishTurn,
    Interrupt,
    MoveQueued,
    PromoteQueued,
    RecordRetry,
    RequestCompaction,
    Restore,
    SendMessage,
    SubmitResults,
    TakeQueued,
)
from holdfast.domain.decide import decide
from holdfast.domain.errors import ChatNotFound, CommandRefused, FenceStale, KeyReused
from holdfast.domain.fence import Fence
from holdfast.domain.ids import (
    NO_STAMP,
    CallId,
    ChatId,
    ClientKey,
    OrgId,
    QueuedId,
    Seq,
    UserId,
    Version,
)
from holdfast.domain.messages import Ending, Role
from holdfast.domain.parts import Need, Text, ToolResult
from holdfast.domain.public_ids import CHAT_ID
from holdfast.ports.history import HistoryPage
from holdfast.ports.store import LoadQuery
from tests.requirements import requirement
from tests.support.builders import (
    NOW,
    asks,
    backoff,
    boundary,
    error,
    reply,
    result,
    results,
    system,
    user,
)
from tests.support.world import ACTOR, World, keyed_by


async def texts(world: World, chat_id: ChatId) -> list[str]:
    """The history, a word per message."""
    return [
        f"{m.body.role}:{part.text}" if isinstance(part := m.body.parts[0], Text) else m.body.role
        for m in await world.read(chat_id)
    ]


async def test_what_was_created_is_loaded_again(world: World) -> None:
    said = user("hello", model="m1", effort="high", web=False)
    chat = await world.create(system(), said)
    assert await world.load(chat.chat_id) == chat
    assert chat.status is Status.RUNNING
    assert (chat.model, chat.effort, chat.web) == ("m1", "high", False)
    history = await world.read(chat.chat_id)
    assert [m.seq for m in history] == [1, 2]
    assert [m.body for m in history] == [system(), said]
    assert all(m.revision == 1 and m.epoch == 0 for m in history)
    assert await world.store.load(world.ids.new_chat_id()) is None


async def test_a_turn_with_tools_ends_idle(world: World) -> None:
    chat = await world.running(user())
    first = await world.drive(chat, BeginAttempt())
    asked = await world.drive(first.chat, CommitStep((asks("c2", "c1"),)))
    assert [c.call_id for c in asked.chat.open_calls] == ["c2", "c1"]
    assert await world.load(chat.chat_id) == asked.chat

    answered = await world.drive(asked.chat, CommitStep((results("c1", "c2"),)))
    done = await world.drive(answered.chat, CommitStep((reply("done"),)), FinishTurn())

    assert done.chat.status is Status.IDLE
    assert done.chat.worker_id is None
    assert await world.load(chat.chat_id) == done.chat
    history = await world.read(chat.chat_id)
    assert [m.body.role for m in history] == ["user", "assistant", "tool", "assistant"]
    answers = [p.call_id for p in history[2].body.parts if isinstance(p, ToolResult)]
    assert answers == ["c2", "c1"], "results stand in the order of their calls"
    assert [m.revision for m in history] == [1, 4, 5, 6]
    assert await world.violations([chat.chat_id]) == []


async def test_a_stale_version_commits_nothing(world: World) -> None:
    chat = await world.create(user())
    loaded = await world.store.load(chat.chat_id)
    assert loaded is not None
    await world.do(chat.chat_id, SendMessage(user("second")))

    stale = decide(loaded.facts, SendMessage(user("third")), NOW)

    assert await world.store.commit(stale) is None
    assert [q.head for q in (await world.load(chat.chat_id)).queue] == [user("second")]


async def test_a_fence_of_another_epoch_commits_nothing(world: World) -> None:
    chat = await world.create(user())
    first = await world.a_worker()
    (stale,) = await world.acquire(first)
    await world.lapse(first)
    (fresh,) = await world.acquire(await world.a_worker())
    assert fresh.epoch == stale.epoch + 1

    with pytest.raises(FenceStale):
        await world.drive(stale, CommitStep((reply("from the dead"),)), FinishTurn())
    await world.drive(fresh, CommitStep((reply("alive"),)), FinishTurn())

    assert await texts(world, chat.chat_id) == ["user:hello", "assistant:alive"]
    assert [m.epoch for m in await world.read(chat.chat_id)] == [0, 2]


async def test_a_runner_cannot_answer_a_history_that_was_edited(world: World) -> None:
    chat = await world.running(user("old"))
    await world.do(chat.chat_id, EditMessage(Seq(1), user("new")))

    with pytest.raises(FenceStale):
        await world.drive(chat, CommitStep((reply("to the old one"),)))

    assert await texts(world, chat.chat_id) == ["user:new"]


async def test_a_runner_goes_on_when_only_the_queue_moved(world: World) -> None:
    chat = await world.running(user())
    await world.do(chat.chat_id, SendMessage(user("next")))

    done = await world.drive(chat, CommitStep((reply(),)), FinishTurn())

    assert done.chat.status is Status.RUNNING
    assert done.chat.worker_id == chat.worker_id
    assert await texts(world, chat.chat_id) == ["user:hello", "assistant:hi", "user:next"]
    assert await world.violations([chat.chat_id]) == []


async def test_the_queue_keeps_its_order_through_every_change(world: World) -> None:
    chat = await world.running(user())
    for text in ("a", "b", "c", "d"):
        await world.do(chat.chat_id, SendMessage(user(text, model=f"model-{text}")))
    await world.do(chat.chat_id, MoveQueued(QueuedId(4), QueuedId(1)))
    taken = await world.do(chat.chat_id, TakeQueued(QueuedId(2)))
    assert taken.answer.queued_id == 2
    urgent = await world.do(chat.chat_id, SendMessage(user("u"), when_busy="interrupt"))
    assert urgent.chat.status is Status.INTERRUPTING
    await world.do(chat.chat_id, PromoteQueued(QueuedId(3)))

    loaded = await world.load(chat.chat_id)
    assert [q.queued_id for q in loaded.queue] == [3, 5, 4, 1]
    assert [q.urgent for q in loaded.queue] == [True, True, False, False]
    assert await world.violations([chat.chat_id]) == []

    partial = reply("I was say", ending=Ending.INTERRUPTED)
    fence = Fence.of(await world.load(chat.chat_id))
    request = ChangeRequest((FinishInterrupt((partial,)),), by=fence)
    done = await world.ledger.transact(chat.chat_id, request)
    assert done.chat.status is Status.RUNNING
    assert done.chat.model == "model-c"
    assert await texts(world, chat.chat_id) == ["user:hello", "assistant:I was say", "user:c"]
    kept = await world.history.queued(chat.chat_id, QueuedId(2))
    assert kept == user("b", model="model-b")
    assert await world.violations([chat.chat_id]) == []


async def test_facts_of_every_kind_survive_the_journey(world: World) -> None:
    chat = await world.running(user())
    retried = await world.drive(chat, RecordRetry(backoff()))
    assert (await world.load(chat.chat_id)).backoff == backoff()
    asked = await world.drive(retried.chat, CommitStep((asks("c1", needs=Need.RESULT),)))
    waits = await world.drive(asked.chat, Await(Need.RESULT, (CallId("c1"),), NOW))
    assert await world.load(chat.chat_id) == waits.chat
    assert waits.chat.worker_id is None
    answered = await world.do(chat.chat_id, SubmitResults((result("c1"),)))
    assert answered.chat.status is Status.RUNNING
    (again,) = await world.acquire(await world.a_worker())
    failed = await world.drive(again, Fail(error()))
    assert await world.load(chat.chat_id) == failed.chat
    assert failed.chat.error == error()
    assert await world.violations([chat.chat_id]) == []


async def test_an_edit_hides_and_a_restore_brings_back(world: World) -> None:
    chat = await world.running(user("one"))
    first = await world.drive(chat, CommitStep((reply("1", cost_micros=5),)), FinishTurn())
    edited = await world.do(chat.chat_id, EditMessage(Seq(1), user("two")))
    (again,) = await world.acquire(await world.a_worker())
    await world.drive(again, CommitStep((reply("2"),)), FinishTurn())
    assert await texts(world, chat.chat_id) == ["user:two", "assistant:2"]

    (path,) = await world.history.older_paths(chat.chat_id, limit=10)
    assert (path.version, path.first_seq, path.messages) == (first.chat.version, 1, 2)
    old = await world.history.page(chat.chat_id, limit=10, as_of=path.version)
    assert [m.seq for m in old.messages] == [1, 2]

    restored = await world.do(chat.chat_id, Restore(path.version))
    assert restored.chat.status is Status.IDLE
    assert await world.load(chat.chat_id) == restored.chat
    assert await texts(world, chat.chat_id) == ["user:one", "assistant:1"]
    copies = await world.read(chat.chat_id)
    assert [(m.seq, m.copied_from, m.body.cost_micros) for m in copies] == [
        (5, 1, None),
        (6, 2, None),
    ]
    between = await world.history.page(chat.chat_id, limit=10, as_of=edited.chat.version)
    assert [m.seq for m in between.messages] == [3]
    assert await world.violations([chat.chat_id]) == []


async def test_a_restore_into_the_middle_of_a_turn_closes_its_calls(world: World) -> None:
    chat = await world.running(user())
    asked = await world.drive(chat, CommitStep((asks("c1", "c2"),)))
    answered = await world.drive(asked.chat, CommitStep((results("c1", "c2"),)))
    await world.drive(answered.chat, CommitStep((reply(),)), FinishTurn())

    await world.do(chat.chat_id, Restore(asked.chat.version))

    history = await world.read(chat.chat_id)
    assert [m.body.role for m in history] == [Role.USER, Role.ASSISTANT, Role.TOOL]
    closing = [p for p in history[2].body.parts if isinstance(p, ToolResult)]
    assert [(p.call_id, p.synthetic) for p in closing] == [
        ("c1", "unknown_outcome"),
        ("c2", "unknown_outcome"),
    ]
    assert await world.violations([chat.chat_id]) == []


async def test_a_repeated_request_gets_the_first_answer(world: World) -> None:
    chat = await world.running(user())
    first = await world.do(chat.chat_id, SendMessage(user("once")), key="k1")
    await world.do(chat.chat_id, SendMessage(user("other")))

    again = await world.do(chat.chat_id, SendMessage(user("once")), key="k1")

    assert again.repeated
    assert again.answer == first.answer
    assert again.chat.version == 4
    with pytest.raises(KeyReused):
        await world.do(chat.chat_id, SendMessage(user("something else")), key="k1")
    heads = [q.head for q in (await world.load(chat.chat_id)).queue]
    assert heads == [user("once", client_key="k1"), user("other")]


async def test_a_chat_is_created_once_per_key(world: World) -> None:
    keyed = keyed_by("new", "body")
    first = await create(world.ledger, world.ids, ACTOR, (user(),), keyed=keyed)
    again = await create(world.ledger, world.ids, ACTOR, (user(),), keyed=keyed)

    assert not first.repeated
    assert again.repeated
    assert again.chat.chat_id == first.chat.chat_id
    assert again.answer == first.answer
    with pytest.raises(KeyReused):
        await create(world.ledger, world.ids, ACTOR, (), keyed=keyed_by("new", "other"))


@requirement("M3")
async def test_a_history_that_was_brought_along_is_made_whole(world: World) -> None:
    chat = await world.create(user(), asks("c1", "c2"), results("c1"))
    assert chat.status is Status.RUNNING
    assert [m.body.role for m in await world.read(chat.chat_id)] == [
        Role.USER,
        Role.ASSISTANT,
        Role.TOOL,
        Role.TOOL,
    ]
    finished = await world.create(user(), reply())
    assert finished.status is Status.IDLE
    assert await world.violations([chat.chat_id, finished.chat_id]) == []


async def test_numbers_that_no_column_holds_are_simply_not_there(world: World) -> None:
    chat = await world.running(user())
    done = await world.drive(chat, CommitStep((reply(),)), FinishTurn())
    for number in (2**31, 2**63, 2**70, -1):
        with pytest.raises(CommandRefused):
            await world.do(chat.chat_id, EditMessage(Seq(number), user()))
        with pytest.raises(CommandRefused):
            await world.do(chat.chat_id, Restore(Version(number)))
    assert len((await world.history.page(chat.chat_id, limit=9, before=Seq(2**70))).messages) == 2
    as_of = await world.history.page(chat.chat_id, limit=9, as_of=Version(2**70))
    assert len(as_of.messages) == 2
    changes = await world.history.changes_since(chat.chat_id, Version(2**70), limit=9)
    assert changes is not None
    assert changes.version == done.chat.version


@requirement("L24")
async def test_a_compaction_that_was_accepted_is_not_dropped_by_the_end_of_the_turn(
    world: World,
) -> None:
    chat = await world.running(user())
    await world.do(chat.chat_id, RequestCompaction())
    on = await world.drive(chat, CommitStep((reply(),)), FinishTurn())
    assert on.chat.status is Status.RUNNING
    assert on.chat.compaction_requested
    done = await world.drive(on.chat, CommitStep((boundary(),)), FinishTurn())
    assert done.chat.status is Status.IDLE


async def test_pages_are_stable_while_messages_arrive(world: World) -> None:
    chat = await world.create(*(user(str(n)) for n in range(1, 8)))
    newest = await world.history.page(chat.chat_id, limit=3)
    assert [m.seq for m in newest.messages] == [5, 6, 7]
    (running,) = await world.acquire(await world.a_worker())
    await world.drive(running, CommitStep((reply(),)))

    middle = await world.history.page(chat.chat_id, limit=3, before=newest.before)
    assert [m.seq for m in middle.messages] == [2, 3, 4]
    last = await world.history.page(chat.chat_id, limit=3, before=middle.before)
    assert [m.seq for m in last.messages] == [1]
    assert last.before is None


async def test_changes_bring_a_reader_from_any_version_to_the_present(world: World) -> None:
    chat = await world.running(user("one"))
    done = await world.drive(chat, CommitStep((reply("1"),)), FinishTurn())
    edited = await world.do(chat.chat_id, EditMessage(Seq(1), user("two")))

    fresh = await world.history.changes_since(chat.chat_id, Version(0), limit=10)
    assert fresh is not None
    assert ([m.seq for m in fresh.written], fresh.hidden_from) == ([3], None)
    behind = await world.history.changes_since(chat.chat_id, done.chat.version, limit=10)
    assert behind is not None
    assert ([m.seq for m in behind.written], behind.hidden_from) == ([3], 1)
    assert behind.version == edited.chat.version
    level = await world.history.changes_since(chat.chat_id, edited.chat.version, limit=10)
    assert level is not None
    assert (level.written, level.hidden_from, level.complete) == ((), None, True)
    partly = await world.history.changes_since(chat.chat_id, Version(0), limit=1)
    assert partly is not None
    assert not partly.complete
    assert await world.history.changes_since(world.ids.new_chat_id(), Version(0), limit=1) is None


@requirement("L16")
async def test_a_boundary_is_stored_between_steps(world: World) -> None:
    chat = await world.running(user())
    compacted = await world.drive(chat, CommitStep((boundary(),)))
    assert not compacted.chat.compactable
    assert compacted.chat.owes_reply, "the task goes on without a user message (L16)"
    done = await world.drive(compacted.chat, CommitStep((reply(),)), FinishTurn())
    assert done.chat.status is Status.IDLE
    assert await world.violations([chat.chat_id]) == []


async def test_strangers_find_nothing(world: World) -> None:
    chat = await world.create(user())
    for stranger in (
        Actor(chat.org_id, UserId(UUID(int=99))),
        Actor(OrgId(UUID(int=98)), chat.owner_id),
    ):
        with pytest.raises(ChatNotFound) as known:
            await world.ledger.transact(chat.chat_id, ChangeRequest((Interrupt(),), by=stranger))
        assert str(known.value) == f"Chat {CHAT_ID.encode(chat.chat_id)} was not found."


async def test_hints_follow_commits_and_only_commits(world: World) -> None:
    chat = await world.running(user())
    await world.do(chat.chat_id, Interrupt())
    await world.do(chat.chat_id, Interrupt())
    await world.do(chat.chat_id, SendMessage(user()), key="k")
    with pytest.raises(KeyReused):
        await world.do(chat.chat_id, SendMessage(user("x")), key="k")

    told = [(hint.version, hint.status) for hint in world.hints.published]
    assert told == [(1, "running"), (3, "interrupting"), (4, "interrupting")]
    runnable = [hint.runnable for hint in world.hints.published]
    assert runnable == [True, False, False], "workers hear of what nobody drives"


async def test_changes_can_be_read_as_of_a_version(world: World) -> None:
    first = await world.running(user("one"))
    said = await world.drive(first, CommitStep((reply("two"),)), FinishTurn())
    edited = await world.do(first.chat_id, EditMessage(Seq(1), user("other")))

    then = await world.history.changes_since(
        first.chat_id, Version(1), limit=10, as_of=said.chat.version
    )
    now = await world.history.changes_since(first.chat_id, Version(1), limit=10)

    assert then is not None
    assert now is not None
    assert (then.version, then.hidden_from) == (said.chat.version, None)
    assert [m.seq for m in then.written] == [2]
    assert (now.version, now.hidden_from) == (edited.chat.version, 1)
    assert [m.seq for m in now.written] == [3]


async def test_heads_say_where_chats_stand(world: World) -> None:
    one, two = await world.create(user()), await world.running(user())

    heads = await world.history.heads([one.chat_id, two.chat_id, world.ids.new_chat_id()])

    now = {chat.chat_id: await world.load(chat.chat_id) for chat in (one, two)}
    assert {head.chat_id for head in heads} == set(now)
    for head in heads:
        chat = now[head.chat_id]
        assert (head.version, head.history_version, head.status, head.worker_id, head.epoch) == (
            *(chat.version, chat.history_version, chat.status),
            *(chat.worker_id, chat.epoch),
        )


async def test_only_chats_that_stand_elsewhere_are_told(world: World) -> None:
    still, ahead = await world.create(user()), await world.create(user())
    gone = world.ids.new_chat_id()
    known = {
        still.chat_id: (still.version, still.stamp),
        ahead.chat_id: (Version(ahead.version - 1), ahead.stamp),
        gone: (Version(3), NO_STAMP),
    }

    assert dict(await world.history.moved(known)) == {ahead.chat_id: ahead.version, gone: None}
    assert list(await world.history.moved({})) == []
    behind = {still.chat_id: (Version(still.version + 1), still.stamp)}
    assert dict(await world.history.moved(behind)) == {still.chat_id: still.version}


@requirement("R7")
async def test_a_commit_tells_of_its_messages_as_they_are_stored(world: World) -> None:
    made = await world.create(user())
    (chat,) = await world.acquire(await world.a_worker())
    one = await world.drive(chat, CommitStep((asks("c1"),)))
    two = await world.drive(one.chat, CommitStep((results("c1"),)), CommitStep((reply(),)))

    stored = await world.read(made.chat_id)

    assert [*one.messages, *two.messages] == list(stored[1:])


async def test_chats_that_are_loaded_in_the_same_instant_do_not_mix(world: World) -> None:
    """Each with its own key and its own message to be edited; one that is not there is nobody's."""
    chats = [await world.create(user(f"hello {number}")) for number in range(3)]
    await world.do(chats[1].chat_id, SendMessage(user("once")), key="k1")
    nobody = ChatId(UUID(int=7))
    asked = [
        (chats[0].chat_id, LoadQuery(key=ClientKey("k1"))),
        (chats[1].chat_id, LoadQuery(key=ClientKey("k1"))),
        (nobody, LoadQuery(target=Seq(1))),
        (chats[2].chat_id, LoadQuery(target=Seq(1))),
        (chats[1].chat_id, LoadQuery(target=Seq(9))),
    ]

    found = await asyncio.gather(*(world.store.load(*each) for each in asked))

    assert found == [await world.store.load(*each) for each in asked]
    assert [None if each is None else each.facts.chat.chat_id for each in found] == [
        None if chat_id == nobody else chat_id for chat_id, _ in asked
    ]
    assert [each is not None and each.receipt is not None for each in found] == [
        *(False, True, False, False, False)
    ]
    assert [each is not None and each.facts.target is not None for each in found] == [
        *(False, False, False, True, False)
    ]


async def test_histories_that_are_read_in_the_same_instant_do_not_mix(world: World) -> None:
    """Each as of its version, cut to its limit; of an edit neither too much nor too little."""
    one = await world.create(*(user(f"one {number}") for number in range(4)))
    other = await world.create(user("other"))
    edited = await world.do(other.chat_id, EditMessage(Seq(1), user("another")))
    asked = [
        (one.chat_id, 10, one.version),
        (other.chat_id, 10, other.version),
        (one.chat_id, 2, one.version),
        (other.chat_id, 10, edited.chat.version),
        (ChatId(UUID(int=7)), 10, Version(3)),
    ]

    async def page(chat_id: ChatId, limit: int, as_of: Version) -> HistoryPage:
        return await world.history.page(chat_id, limit=limit, as_of=as_of)

    found = await asyncio.gather(*(page(*each) for each in asked))

    assert found == [await page(*each) for each in asked]
    assert [len(each.messages) for each in found] == [4, 1, 2, 1, 0]
    assert [each.before for each in found] == [None, None, Seq(3), None, None]
    assert found[1].messages[0].body.parts == (Text("other"),)
    assert found[3].messages[0].body.parts == (Text("another"),)
