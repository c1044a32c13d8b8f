"""What every store promises of a commit that acquires the chat it makes runnable."""

from dataclasses import replace

import pytest

from holdfast.domain.chat import Chat, Facts
from holdfast.domain.commands import (
    Await,
    BeginAttempt,
    CommitStep,
    Create,
    FinishTurn,
    SendMessage,
    SubmitResults,
)
from holdfast.domain.decide import decide, decide_all
from holdfast.domain.driving import taken_by
from holdfast.domain.ids import CallId, ClientKey, Epoch, WorkerId
from holdfast.domain.outcome import Outcome
from holdfast.domain.parts import Need
from holdfast.ports.store import IdempotencyKey
from tests.requirements import requirement
from tests.support.builders import ORG, OWNER, asks, reply, result, user
from tests.support.world import World

KEYED = IdempotencyKey(ClientKey("once"), b"digest")


async def at_rest(world: World) -> Chat:
    chat = await world.running(user())
    return (await world.drive(chat, CommitStep((reply(),)), FinishTurn())).chat


def sent(world: World, chat: Chat) -> Outcome:
    return decide(Facts(chat=chat), SendMessage(user("again")), world.clock.now())


def made(world: World) -> Outcome:
    chat = Chat(chat_id=world.ids.new_chat_id(), org_id=ORG, owner_id=OWNER)
    return decide(Facts(chat=chat), Create((user(),)), world.clock.now())


@requirement("S5", "S6", "P3")
async def test_what_is_taken_is_as_if_it_were_acquired_right_behind(world: World) -> None:
    chat, worker = await at_rest(world), await world.a_worker()
    taken = taken_by(sent(world, chat), worker)

    stamp = await world.store.commit(taken)

    assert stamp is not None
    assert stamp.epoch == chat.epoch + 1
    stored = await world.load(chat.chat_id)
    assert stored == taken.chat
    begun = decide_all(
        Facts(chat=chat), (SendMessage(user("again")), BeginAttempt()), world.clock.now()
    )
    assert stored == replace(begun.chat, worker_id=worker, epoch=stamp.epoch)
    assert (await world.read(chat.chat_id))[-1].epoch == stamp.epoch
    assert await world.acquire(await world.a_worker()) == []
    assert await world.violations([chat.chat_id]) == []


async def test_a_chat_may_be_taken_as_it_is_made(world: World) -> None:
    worker = await world.a_worker()
    taken = taken_by(made(world), worker)

    stamp = await world.store.create(taken)

    assert stamp is not None
    assert stamp.epoch == 1
    assert await world.load(taken.chat.chat_id) == taken.chat
    assert await world.acquire(await world.a_worker()) == []
    assert await world.violations([taken.chat.chat_id]) == []


@requirement("S5")
async def test_who_has_no_lease_takes_nothing(world: World) -> None:
    chat, lapsed = await at_rest(world), await world.a_worker()
    await world.lapse(lapsed)
    stranger = WorkerId(world.ids.new_worker_id())

    for worker in (lapsed, stranger):
        assert await world.store.commit(taken_by(sent(world, chat), worker), keyed=KEYED) is None
        assert await world.store.create(taken_by(made(world), worker)) is None

    assert await world.load(chat.chat_id) == chat
    assert await world.store.commit(sent(world, chat), keyed=KEYED), "its key was not used up"


async def test_what_moved_meanwhile_is_not_taken(world: World) -> None:
    chat, worker = await at_rest(world), await world.a_worker()
    taken = taken_by(sent(world, chat), worker)
    assert await world.store.commit(sent(world, chat))
    now = await world.load(chat.chat_id)

    assert await world.store.commit(taken) is None

    assert await world.load(chat.chat_id) == now


@requirement("S5")
async def test_who_took_and_died_is_followed_by_another(world: World) -> None:
    chat, dead = await at_rest(world), await world.a_worker()
    await world.store.commit(taken_by(sent(world, chat), dead))
    await world.lapse(dead)

    (rescued,) = await world.acquire(await world.a_worker())

    assert rescued.epoch == chat.epoch + 2
    assert rescued.attempt == 2


@requirement("X1")
async def test_calls_that_waited_are_of_the_epoch_that_takes_them(world: World) -> None:
    """Under an older one their runner would take them for started, and of unknown outcome."""
    chat = await world.running(user())
    chat = (
        await world.drive(
            chat,
            CommitStep((asks("a", "b", needs=Need.RESULT),)),
            Await(Need.RESULT, (CallId("a"), CallId("b"))),
        )
    ).chat
    worker = await world.a_worker()
    submitted = decide(
        Facts(chat=chat), SubmitResults((result("a"), result("b"))), world.clock.now()
    )

    stamp = await world.store.commit(taken_by(submitted, worker))

    assert stamp is not None
    assert stamp.epoch == Epoch(chat.epoch + 1)
    stored = await world.load(chat.chat_id)
    assert stored == taken_by(submitted, worker).chat
    assert {call.epoch for call in stored.open_calls} <= {stamp.epoch}


@pytest.mark.parametrize("taken", [True, False])
@requirement("M1")
async def test_a_key_that_was_used_changes_nothing(world: World, *, taken: bool) -> None:
    """Whoever decides without a load does not know of the receipt: the key itself says no."""
    chat = await world.create()
    first = await world.store.commit(sent(world, chat), keyed=KEYED)
    assert first is not None
    (owned,) = await world.acquire(await world.a_worker())
    rests = (await world.drive(owned, CommitStep((reply(),)), FinishTurn())).chat
    again = sent(world, rests)

    outcome = taken_by(again, await world.a_worker()) if taken else again
    assert await world.store.commit(outcome, keyed=KEYED) is None

    assert await world.load(chat.chat_id) == rests
    assert len(await world.read(chat.chat_id)) == 2
