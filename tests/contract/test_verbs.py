"""The user's verbs, each through the one door."""

from dataclasses import replace
from uuid import UUID

import pytest

from holdfast.chats import answer, queue, rewrite, steer
from holdfast.chats.changes import ChangeRequest, Overseer
from holdfast.chats.declare import declare
from holdfast.chats.send import send
from holdfast.domain.audit import AuditAction, AuditEntry
from holdfast.domain.chat import Status
from holdfast.domain.commands import (
    Await,
    CommitStep,
    Decide,
    Fail,
    FinishInterrupt,
    FinishTurn,
    SendMessage,
)
from holdfast.domain.errors import ChatNotFound, QueuedNotFound
from holdfast.domain.fence import Fence
from holdfast.domain.ids import CallId, OrgId, QueuedId, Seq, Version
from holdfast.domain.parts import Need, ToolResult
from holdfast.domain.policy import TargetKind
from tests.requirements import requirement
from tests.support.builders import (
    ORG,
    OWNER,
    a_tool,
    asks,
    boundary,
    digest_for,
    error,
    reply,
    result,
    user,
)
from tests.support.world import ACTOR, World, keyed_by

C1 = CallId("c1")


@requirement("F03")
async def test_the_queue_is_the_users_to_change(world: World) -> None:
    chat = await world.running(user())
    for text in ("a", "b", "c"):
        await send(world.ledger, ACTOR, chat.chat_id, user(text))
    moved = await queue.move(world.ledger, ACTOR, chat.chat_id, QueuedId(3), before=QueuedId(1))
    assert [q.queued_id for q in moved.chat.queue] == [3, 1, 2]
    await queue.take(world.ledger, world.history, ACTOR, chat.chat_id, QueuedId(1))
    keyed = keyed_by("take", "2")
    taken = await queue.take(
        world.ledger, world.history, ACTOR, chat.chat_id, QueuedId(2), keyed=keyed
    )
    again = await queue.take(
        world.ledger, world.history, ACTOR, chat.chat_id, QueuedId(2), keyed=keyed
    )
    assert taken == again == user("b")
    with pytest.raises(QueuedNotFound):
        await queue.take(world.ledger, world.history, ACTOR, chat.chat_id, QueuedId(2))
    promoted = await queue.promote(world.ledger, ACTOR, chat.chat_id, QueuedId(3))
    assert promoted.chat.status is Status.INTERRUPTING


async def test_steering_and_rewriting(world: World) -> None:
    chat = await world.running(user("first"))
    await send(world.ledger, ACTOR, chat.chat_id, user("now"), when_busy="interrupt")
    fence = Fence.of(await world.load(chat.chat_id))
    request = ChangeRequest((FinishInterrupt(),), by=fence)
    running = await world.ledger.transact(chat.chat_id, request)
    assert running.chat.status is Status.RUNNING
    interrupted = await steer.interrupt(world.ledger, ACTOR, chat.chat_id)
    assert interrupted.chat.status is Status.INTERRUPTING
    edited = await rewrite.edit(world.ledger, ACTOR, chat.chat_id, Seq(1), user("second"))
    failed = await world.drive(edited.chat, Fail(error()))
    assert failed.chat.status is Status.FAILED
    retried = await steer.retry(world.ledger, ACTOR, chat.chat_id, model="other")
    assert (retried.chat.status, retried.chat.model) == (Status.RUNNING, "other")
    (again,) = await world.acquire(await world.a_worker())
    await world.drive(again, CommitStep((reply(),)), FinishTurn())
    compacting = await steer.compact(world.ledger, ACTOR, chat.chat_id)
    assert compacting.chat.compaction_requested
    (again,) = await world.acquire(await world.a_worker())
    await world.drive(again, CommitStep((boundary(),)), FinishTurn())
    restored = await rewrite.restore(world.ledger, ACTOR, chat.chat_id, Version(1))
    assert restored.chat.status is Status.IDLE
    assert (await steer.archive(world.ledger, ACTOR, chat.chat_id)).chat.archived
    assert not (await steer.unarchive(world.ledger, ACTOR, chat.chat_id)).chat.archived
    assert await world.violations([chat.chat_id]) == []


async def test_a_declared_tool_is_kept_as_it_was_declared(world: World) -> None:
    tools = (replace(a_tool("mail"), open_world=True), a_tool())
    chat = await world.create(user())
    await declare(world.ledger, ACTOR, chat.chat_id, tools)
    assert (await world.load(chat.chat_id)).tools == tools


async def test_declaring_the_same_tools_again_changes_nothing(world: World) -> None:
    chat = await world.create(user())
    declared = await declare(world.ledger, ACTOR, chat.chat_id, [a_tool("look_up")])
    again = await declare(world.ledger, ACTOR, chat.chat_id, [a_tool("look_up")])
    assert declared.chat.tools == (a_tool("look_up"),)
    assert again.chat.version == declared.chat.version == chat.version + 1


async def test_answering_what_a_turn_waits_for(world: World) -> None:
    chat = await world.running(user())
    asked = await world.drive(
        chat, CommitStep((asks("c1", needs=Need.APPROVAL),)), Await(Need.APPROVAL, (C1,))
    )
    assert asked.chat.worker_id is None
    approved = await answer.decide_calls(
        world.ledger, ACTOR, chat.chat_id, (Decide(C1, "approve", digest_for(C1)),)
    )
    assert approved.chat.status is Status.RUNNING

    other = await world.running(user())
    await world.drive(
        other, CommitStep((asks("c1", needs=Need.RESULT),)), Await(Need.RESULT, (C1,))
    )
    given = replace(result("c1"), runs_at="client")
    done = await answer.submit_results(world.ledger, ACTOR, other.chat_id, [given])
    assert done.chat.status is Status.RUNNING
    assert [m.body.parts for m in done.messages] == [(given,)]
    assert await world.violations([chat.chat_id, other.chat_id]) == []


@pytest.mark.parametrize(("window", "bytes_max"), [(None, 32 * 1024), (8_192, 3_276)])
@requirement("L147", "X5")
async def test_result_of_a_client_is_cut_as_those_of_our_tools_are(
    world: World, window: int | None, bytes_max: int
) -> None:
    chat = await world.running(user())
    waits = CommitStep((asks("c1", "c2", needs=Need.RESULT),))
    await world.drive(chat, waits, Await(Need.RESULT, (C1, CallId("c2"))))
    long = result("c1", "a" + "x" * 900_000 + "b")
    given = [replace(long, failed=True), result("c2", "short")]

    done = await answer.submit_results(
        world.ledger, ACTOR, chat.chat_id, given, window_tokens=window
    )

    cut, short = (p for p in done.messages[0].body.parts if isinstance(p, ToolResult))
    assert isinstance(cut.output, str)
    assert 0.9 * bytes_max < len(cut.output.encode()) <= bytes_max
    assert (cut.output[0], cut.output[-1], cut.failed) == ("a", "b", True)
    assert short == result("c2", "short")


async def test_an_overseer_stops_chats_of_the_organisation_only(world: World) -> None:
    chat = await world.running(user())
    await send(world.ledger, ACTOR, chat.chat_id, user("next"))
    entry = AuditEntry(
        org_id=ORG,
        at=world.clock.now(),
        action=AuditAction.CHAT_STOPPED,
        actor_id=OWNER,
        target_kind=TargetKind.CHAT,
        target_id=chat.chat_id,
    )
    other = Overseer(OrgId(UUID(int=404)))
    with pytest.raises(ChatNotFound):
        await steer.stop(world.ledger, other, chat.chat_id, entry)
    with pytest.raises(AssertionError):
        ChangeRequest((SendMessage(user()),), by=Overseer(ORG))

    stopped = await steer.stop(world.ledger, Overseer(ORG), chat.chat_id, entry)

    assert stopped.chat.status is Status.INTERRUPTING
    assert stopped.chat.queue_paused
    again = await steer.stop(world.ledger, Overseer(ORG), chat.chat_id, entry)
    assert again.chat.version == stopped.chat.version, "nothing was left to stop"


async def test_an_unknown_chat_is_not_found(world: World) -> None:
    with pytest.raises(ChatNotFound):
        await steer.interrupt(world.ledger, ACTOR, world.ids.new_chat_id())
