"""What every implementation of leases promises."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from holdfast.chats.answer import expire
from holdfast.chats.changes import ChangeRequest, Sweep
from holdfast.domain.chat import Chat, Facts, Status
from holdfast.domain.commands import (
    Await,
    BeginAttempt,
    CommitStep,
    FinishTurn,
    Interrupt,
    RecordRetry,
    SendMessage,
)
from holdfast.domain.decide import decide
from holdfast.domain.errors import FenceStale, NotYetExpired
from holdfast.domain.ids import CallId
from holdfast.domain.parts import Need
from holdfast.ports.leases import Unreadable
from tests.requirements import requirement
from tests.support.builders import OWNER, asks, backoff, reply, user
from tests.support.world import TTL, World


@requirement("S5", "L72")
async def test_a_chat_has_one_owner_at_a_time(world: World) -> None:
    await world.create(user())
    first, second = await world.a_worker(), await world.a_worker()

    (owned,) = await world.acquire(first)
    assert (owned.worker_id, owned.epoch) == (first, 1)
    assert await world.acquire(second) == []

    await world.lapse(first)
    (rescued,) = await world.acquire(second)
    assert (rescued.worker_id, rescued.epoch) == (second, 2)


@requirement("P3", "L52")
async def test_acquiring_begins_an_attempt_as_the_command_would(world: World) -> None:
    before = await world.create(user())

    (owned,) = await world.acquire(await world.a_worker())

    asked = decide(Facts(chat=before), BeginAttempt(), world.clock.now()).chat
    assert owned == replace(asked, worker_id=owned.worker_id, epoch=owned.epoch)
    assert owned == await world.load(before.chat_id)


async def test_acquiring_begins_nothing_in_a_backoff_or_an_interrupt(world: World) -> None:
    waits, stops = await world.running(user()), await world.running(user())
    waiting = (await world.drive(waits, RecordRetry(backoff()))).chat
    stopping = (await world.do(stops.chat_id, Interrupt())).chat
    for chat in (waiting, stopping):
        assert chat.worker_id is not None
        await world.leases.leave(chat.worker_id)

    again = {chat.chat_id: chat for chat in await world.acquire(await world.a_worker())}

    for chat in (waiting, stopping):
        now = again[chat.chat_id]
        assert (now.version, now.attempt) == (chat.version, chat.attempt)
        assert now.epoch == chat.epoch + 1


@requirement("S5")
async def test_a_lapsed_worker_neither_renews_nor_acquires(world: World) -> None:
    await world.create(user())
    worker = await world.a_worker()
    assert await world.leases.heartbeat(worker, ttl=TTL) is not None

    await world.lapse(worker)

    assert await world.leases.heartbeat(worker, ttl=TTL) is None
    assert await world.acquire(worker) == []


@requirement("L72")
async def test_what_is_released_is_acquired_at_once(world: World) -> None:
    first, second = await world.a_worker(), await world.a_worker()
    one, two = await world.create(user()), await world.create(user())
    held = await world.acquire(first)
    assert len(held) == 2

    assert await world.leases.release(first, [one.chat_id]) == [one.chat_id]
    assert await world.leases.release(second, [two.chat_id]) == []
    assert [chat.chat_id for chat in await world.acquire(second)] == [one.chat_id]

    assert await world.leases.leave(first) == [two.chat_id]
    assert await world.leases.heartbeat(first, ttl=TTL) is None
    assert [chat.chat_id for chat in await world.acquire(second)] == [two.chat_id]
    with pytest.raises(FenceStale):
        await world.drive(held[0], CommitStep((reply(),)), FinishTurn())


async def test_what_a_worker_holds_unknowingly_is_released_and_the_rest_kept(world: World) -> None:
    mine, other = await world.a_worker(), await world.a_worker()
    chats = [await world.create(user()) for _ in range(3)]
    await world.acquire(mine)
    others = await world.create(user())
    assert [chat.chat_id for chat in await world.acquire(other)] == [others.chat_id]

    released = await world.leases.release_all_but(mine, [chats[1].chat_id])

    assert set(released) == {chats[0].chat_id, chats[2].chat_id}
    assert (await world.load(chats[1].chat_id)).worker_id == mine
    assert (await world.load(others.chat_id)).worker_id == other
    assert len(await world.leases.release_all_but(mine, [])) == 1


@requirement("L139")
async def test_an_acquire_whose_answer_was_lost_costs_no_attempt(world: World) -> None:
    chat, kept = await world.create(user()), await world.create(user())
    worker = await world.a_worker()
    await world.acquire(worker)

    await world.leases.release_all_but(worker, [kept.chat_id])

    assert _attempts(await world.load(chat.chat_id)) == 0
    assert _attempts(await world.load(kept.chat_id)) == 1
    (again,) = await world.acquire(worker)
    assert (again.attempt, _attempts(again)) == (2, 1), "its number is not used twice"


@requirement("L139")
async def test_a_chat_released_before_it_was_driven_costs_no_attempt(world: World) -> None:
    chat, driven = await world.create(user()), await world.create(user())
    worker = await world.a_worker()
    await world.acquire(worker)

    both = [chat.chat_id, driven.chat_id]
    await world.leases.release(worker, both, undriven=[chat.chat_id])

    assert _attempts(await world.load(chat.chat_id)) == 0
    assert _attempts(await world.load(driven.chat_id)) == 1


async def test_a_release_forgives_no_attempt_of_another_step(world: World) -> None:
    """Acquiring begins no attempt in a backoff, so there is none to forgive."""
    running = await world.running(user())
    waiting = (await world.drive(running, RecordRetry(backoff()))).chat
    assert waiting.worker_id is not None
    await world.leases.leave(waiting.worker_id)
    worker = await world.a_worker()
    await world.acquire(worker)

    await world.leases.release_all_but(worker, [])

    assert _attempts(await world.load(waiting.chat_id)) == _attempts(waiting) == 1


@requirement("L137")
async def test_a_chat_set_aside_waits_until_it_is_changed(world: World) -> None:
    chat, other = await world.create(user()), await world.create(user())
    worker, stranger = await world.a_worker(), await world.a_worker()
    await world.acquire(worker)
    unreadable = [Unreadable(chat.chat_id, "a word of the next version")]

    assert await world.leases.set_aside(stranger, unreadable) == []
    assert await world.leases.set_aside(worker, unreadable) == [chat.chat_id]

    aside = await world.load(chat.chat_id)
    assert (aside.status, aside.worker_id, _attempts(aside)) == (Status.RUNNING, None, 0)
    assert (await world.load(other.chat_id)).worker_id == worker
    assert await world.acquire(stranger) == []
    await world.do(chat.chat_id, SendMessage(user("next")))
    assert [c.chat_id for c in await world.acquire(stranger)] == [chat.chat_id]


@requirement("L137")
async def test_a_wait_of_a_chat_set_aside_is_left_alone(world: World) -> None:
    running = await world.running(user())
    step = CommitStep((asks("c1", needs=Need.ANSWER),))
    deadline = world.clock.now() + timedelta(minutes=5)
    waits = await world.drive(running, step, Await(Need.ANSWER, (CallId("c1"),), deadline))
    await world.pass_deadline(waits.chat)

    why = Unreadable(running.chat_id, "a word of the next version")
    assert await world.leases.set_aside(await world.a_worker(), [why]) == [running.chat_id]

    assert await world.leases.expired_awaits(limit=10) == []


@requirement("L80")
async def test_acquiring_keeps_to_the_limit_but_interrupts_go_before(world: World) -> None:
    chats = [await world.create(user()) for _ in range(5)]
    await world.do(chats[4].chat_id, Interrupt())

    acquired = await world.acquire(await world.a_worker(), limit=2)

    got = {chat.chat_id for chat in acquired}
    assert got == {chats[0].chat_id, chats[1].chat_id, chats[4].chat_id}


@requirement("L80")
async def test_interrupts_of_the_dead_go_before_too(world: World) -> None:
    dead, alive = await world.a_worker(), await world.a_worker()
    chats = [await world.create(user()) for _ in range(3)]
    assert len(await world.acquire(dead)) == 3
    await world.do(chats[1].chat_id, Interrupt())
    await world.lapse(dead)

    assert [c.chat_id for c in await world.acquire(alive, limit=0)] == [chats[1].chat_id]


async def test_owners_take_turns(world: World) -> None:
    busy = [await world.create(user()) for _ in range(6)]
    other = await world.create(user(), owner=await world.another_owner())
    worker = await world.a_worker()

    first = await world.acquire(worker, limit=2)
    assert {chat.chat_id for chat in first} == {busy[0].chat_id, other.chat_id}

    late = await world.create(user(), owner=await world.another_owner())
    (second,) = await world.acquire(worker, limit=1)
    assert second.chat_id == late.chat_id, "who has none comes before who has one"
    (third,) = await world.acquire(worker, limit=1)
    assert third.chat_id == busy[1].chat_id


async def test_what_is_at_rest_is_not_acquired(world: World) -> None:
    chat = await world.running(user())
    await world.drive(chat, CommitStep((reply(),)), FinishTurn())
    waits = await world.running(user())
    step = CommitStep((asks("c1", needs=Need.RESULT),))
    await world.drive(waits, step, Await(Need.RESULT, (CallId("c1"),)))
    await world.create()

    assert await world.acquire(await world.a_worker()) == []


async def test_what_is_acquired_comes_with_its_queue(world: World) -> None:
    chat = await world.create(user())
    await world.do(chat.chat_id, SendMessage(user("next")))

    (acquired,) = await world.acquire(await world.a_worker())

    assert [queued.head for queued in acquired.queue] == [user("next")]
    assert acquired == await world.load(chat.chat_id)


@requirement("L84")
async def test_a_wait_ends_at_its_deadline_and_not_before(world: World) -> None:
    running = await world.running(user())
    step = CommitStep((asks("c1", needs=Need.ANSWER),))
    deadline = world.clock.now() + timedelta(minutes=5)
    waits = await world.drive(running, step, Await(Need.ANSWER, (CallId("c1"),), deadline))
    assert await world.leases.expired_awaits(limit=10) == []
    with pytest.raises(NotYetExpired):
        await expire(world.ledger, running.chat_id)

    await world.pass_deadline(waits.chat)

    assert await world.leases.expired_awaits(limit=10) == [running.chat_id]
    ended = await expire(world.ledger, running.chat_id)
    assert ended.chat.status is Status.RUNNING
    assert await world.leases.expired_awaits(limit=10) == []


async def test_chats_of_a_disabled_user_are_named_until_nothing_of_them_goes_on(
    world: World,
) -> None:
    other = await world.another_owner()
    kept = await world.create(user(), owner=other)
    idle = await world.create()
    runs, stops, waits = [await world.running(user()) for _ in range(3)]
    await world.do(runs.chat_id, SendMessage(user("next")))
    await world.drive(waits, CommitStep((asks("c1", needs=Need.ANSWER),)))
    await world.drive(await world.load(waits.chat_id), Await(Need.ANSWER, (CallId("c1"),), None))
    await world.do(stops.chat_id, SendMessage(user("next"), "interrupt"))
    assert await world.leases.stopping_chats(limit=10) == []

    await world.disable(OWNER)

    named = await world.leases.stopping_chats(limit=10)
    assert {each.chat_id for each in named} == {runs.chat_id, stops.chat_id, waits.chat_id}
    assert {each.org_id for each in named} == {runs.org_id}
    assert len(await world.leases.stopping_chats(limit=2)) == 2
    for each in named:
        await world.ledger.transact(each.chat_id, ChangeRequest((Interrupt(),), by=Sweep()))
    assert await world.leases.stopping_chats(limit=10) == []
    assert (await world.load(waits.chat_id)).status is Status.IDLE
    assert (await world.load(stops.chat_id)).queue_paused
    assert (await world.load(kept.chat_id)).status is Status.RUNNING
    assert (await world.load(idle.chat_id)).status is Status.IDLE


async def test_dead_workers_are_forgotten_once_they_hold_nothing(world: World) -> None:
    await world.create(user())
    dead = await world.a_worker()
    await world.acquire(dead)
    await world.lapse(dead)
    assert await world.leases.forget(lapsed_for=timedelta(0)) == []

    alive = await world.a_worker()
    await world.acquire(alive)

    assert await world.leases.forget(lapsed_for=timedelta(0)) == [dead]
    assert await world.leases.forget(lapsed_for=timedelta(0)) == []


async def test_the_ring_reaches_every_owner_from_every_start(world: World) -> None:
    owners = [await world.another_owner() for _ in range(5)]
    chats = {(await world.create(user(), owner=owner)).chat_id for owner in owners}
    for start in (UUID(int=0), UUID(owners[2].hex), UUID(int=2**128 - 1)):
        worker = await world.a_worker()
        acquired = await world.leases.acquire(worker, limit=10, ring_start=start)
        assert {chat.chat_id for chat in acquired.chats} == chats
        await world.leases.leave(worker)


def _attempts(chat: Chat) -> int:
    """Those that count."""
    return chat.attempt - chat.attempts_forgiven
