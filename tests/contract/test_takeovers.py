"""What every implementation of leases promises of chats that keep losing their workers."""

from holdfast.domain.chat import Facts, Status
from holdfast.domain.commands import CommitStep, FinishTurn, Interrupt, RecordRetry, SendMessage
from holdfast.domain.decide import decide
from holdfast.domain.driving import taken_by
from holdfast.domain.ids import ChatId
from holdfast.ports.leases import Acquired, Suspect
from tests.requirements import requirement
from tests.support.builders import backoff, reply, user
from tests.support.world import RING, World


async def lose_a_worker(world: World) -> None:
    """All that waits is acquired by a worker that dies."""
    worker = await world.a_worker()
    await world.acquire(worker)
    await world.lapse(worker)


async def looked(world: World, alone_from: int, limit: int = 0) -> Acquired:
    return await world.leases.acquire(
        await world.a_worker(), limit=limit, ring_start=RING, alone_from=alone_from
    )


async def next_takeovers(world: World) -> dict[ChatId, int]:
    """Which takeover in a row the next one would be, of each chat whose worker is dead."""
    named = (await looked(world, alone_from=1)).suspects
    return {each.chat_id: each.takeovers for each in named}


@requirement("P3")
async def test_takeovers_in_a_row_are_counted(world: World) -> None:
    chat = await world.create(user())
    assert await next_takeovers(world) == {}, "it waits, but its worker is not dead"

    for deaths in (1, 2, 3, 4):
        await lose_a_worker(world)
        assert await next_takeovers(world) == {chat.chat_id: deaths}


@requirement("P3")
async def test_a_release_begins_the_count_anew(world: World) -> None:
    chat = await world.create(user())
    await lose_a_worker(world)
    await lose_a_worker(world)
    worker = await world.a_worker()
    await world.acquire(worker)
    await world.leases.release(worker, [chat.chat_id])
    assert await next_takeovers(world) == {}

    await lose_a_worker(world)

    assert await next_takeovers(world) == {chat.chat_id: 1}


async def test_an_attempt_that_a_provider_failed_is_no_takeover(world: World) -> None:
    running = await world.running(user())
    waiting = (await world.drive(running, RecordRetry(backoff()))).chat
    assert waiting.worker_id is not None
    await world.leases.leave(waiting.worker_id)

    await lose_a_worker(world)

    assert await next_takeovers(world) == {running.chat_id: 1}


async def test_a_commit_that_takes_the_chat_begins_the_count_anew(world: World) -> None:
    chat = await world.create(user())
    await lose_a_worker(world)
    await lose_a_worker(world)
    (owned,) = await world.acquire(await world.a_worker())
    rests = await world.drive(owned, CommitStep((reply(),)), FinishTurn())
    taker = await world.a_worker()
    said = decide(Facts(chat=rests.chat), SendMessage(user("again")), world.clock.now())
    assert await world.store.commit(taken_by(said, taker)) is not None

    await world.lapse(taker)

    assert await next_takeovers(world) == {chat.chat_id: 1}


@requirement("P3")
async def test_a_suspect_is_named_and_not_acquired(world: World) -> None:
    chat = await world.create(user())
    for _ in range(3):
        await lose_a_worker(world)
    other = await world.create(user())

    acquired = await looked(world, alone_from=3, limit=10)

    assert [each.chat_id for each in acquired.chats] == [other.chat_id]
    assert list(acquired.suspects) == [Suspect(chat.chat_id, 3)]
    assert (await world.load(chat.chat_id)).attempt == 3, "no attempt was begun"
    assert await world.violations([chat.chat_id]) == []


@requirement("S7")
async def test_a_chat_is_no_suspect_before_the_limit_nor_without_one(world: World) -> None:
    chat = await world.create(user())
    await lose_a_worker(world)
    await lose_a_worker(world)

    acquired = await looked(world, alone_from=3, limit=10)

    assert [each.chat_id for each in acquired.chats] == [chat.chat_id]
    assert list(acquired.suspects) == []
    worker_id = acquired.chats[0].worker_id
    assert worker_id is not None
    await world.lapse(worker_id)
    assert [c.chat_id for c in await world.acquire(await world.a_worker())] == [chat.chat_id]


@requirement("L80")
async def test_an_interrupt_of_a_suspect_is_acquired_by_any_worker(world: World) -> None:
    chat = await world.create(user())
    for _ in range(3):
        await lose_a_worker(world)
    await world.do(chat.chat_id, Interrupt())

    acquired = await looked(world, alone_from=3)

    assert [(c.chat_id, c.status) for c in acquired.chats] == [(chat.chat_id, Status.INTERRUPTING)]
    assert list(acquired.suspects) == []


async def test_who_asks_for_some_chats_gets_no_others(world: World) -> None:
    chats = [await world.create(user()) for _ in range(3)]
    await lose_a_worker(world)
    await world.do(chats[2].chat_id, Interrupt())
    waiting, stopping = await world.create(user()), await world.create(user())
    await world.do(stopping.chat_id, Interrupt())

    acquired = await world.leases.acquire(
        await world.a_worker(),
        limit=10,
        ring_start=RING,
        only=[chats[0].chat_id, waiting.chat_id],
    )

    assert [each.chat_id for each in acquired.chats] == [chats[0].chat_id]
    assert (await world.load(waiting.chat_id)).worker_id is None
