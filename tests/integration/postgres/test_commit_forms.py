"""Every form of the commit statement compares the same, and treats the owner alike."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from holdfast.adapters.postgres.commits import CommitForm, form_of
from holdfast.adapters.postgres.pool import Pool
from holdfast.domain.audit import AuditAction, AuditEntry
from holdfast.domain.chat import Chat, Facts
from holdfast.domain.commands import CommitStep, DeclareTools, FinishTurn
from holdfast.domain.decide import decide, decide_all
from holdfast.domain.fence import Fence
from holdfast.domain.ids import Epoch, QueuedId, VersionStamp, WorkerId
from holdfast.domain.outcome import Outcome, QueueMove
from tests.requirements import requirement
from tests.support.builders import NOW, ORG, OWNER, a_tool, reply, user
from tests.support.world import World, postgres_world

ENTRY = AuditEntry(org_id=ORG, at=NOW, action=AuditAction.CALL_APPROVED, actor_id=OWNER)
LOST = (
    "update chats set lost = json_build_object('history_version', history_version, 'workers', 1,"
    " 'since', now(), 'until', now()) where id = $1"
)

Widen = Callable[[Outcome], Outcome]


def as_it_is(outcome: Outcome) -> Outcome:
    return outcome


def in_full(outcome: Outcome) -> Outcome:
    """The same effect in the full form: it moves a queued message that does not exist."""
    return replace(outcome, moved=(QueueMove(QueuedId(99), 1, urgent=False),))


def with_a_rider(outcome: Outcome) -> Outcome:
    return replace(outcome, riders=(ENTRY,))


WIDENED = pytest.mark.parametrize("widen", [as_it_is, in_full, with_a_rider])


@pytest.fixture
def world(pool: Pool) -> World:
    return postgres_world(pool)


def finished(world: World, chat: Chat) -> Outcome:
    return decide_all(Facts(chat=chat), (CommitStep((reply(),)), FinishTurn()), world.clock.now())


def declared(world: World, chat: Chat, taker: WorkerId | None = None) -> Outcome:
    """A change that leaves history alone; a taker acquires the chat with it."""
    outcome = decide(Facts(chat=chat), DeclareTools((a_tool(),)), world.clock.now())
    if taker is None:
        return outcome
    epoch = Epoch(chat.epoch + 1)
    return replace(outcome, chat=replace(outcome.chat, worker_id=taker, epoch=epoch))


TAKEOVERS = "update chats set takeovers = 2 where id = $1"


async def takeovers(pool: Pool, chat: Chat) -> int:
    return await pool.fetchval("select takeovers from chats where id = $1", chat.chat_id)


async def is_lost_known(pool: Pool, chat: Chat) -> bool:
    return await pool.fetchval("select lost is not null from chats where id = $1", chat.chat_id)


async def test_every_form_is_tried(world: World) -> None:
    chat, worker = await world.create(user()), await world.a_worker()
    widened = [in_full, with_a_rider, as_it_is]
    forms = {form_of(widen(declared(world, chat))) for widen in widened}
    taken = {form_of(widen(declared(world, chat, worker))) for widen in widened}
    assert forms | taken == set(CommitForm)


@requirement("S4")
@WIDENED
async def test_commit_with_a_stale_fence_is_refused(world: World, widen: Widen) -> None:
    chat = await world.running(user())
    outcome, fence = widen(finished(world, chat)), Fence.of(chat)
    another = await world.a_worker()
    for stale in (replace(fence, epoch=Epoch(0)), replace(fence, worker_id=another)):
        assert await world.store.commit(outcome, fence=stale) is None
    assert await world.load(chat.chat_id) == chat

    assert await world.store.commit(outcome, fence=fence)
    assert (await world.load(chat.chat_id)).worker_id is None, "released"


@WIDENED
@pytest.mark.parametrize("taken", [False, True], ids=["kept", "taken"])
async def test_commit_on_another_history_is_refused(
    world: World, widen: Widen, *, taken: bool
) -> None:
    chat = await world.create(user())
    outcome = widen(declared(world, chat, await world.a_worker() if taken else None))
    stamp = VersionStamp(chat.stamp + 1)
    assert await world.store.commit(replace(outcome, before=replace(chat, stamp=stamp))) is None
    assert await world.load(chat.chat_id) == chat
    assert await world.store.commit(outcome)
    assert await world.store.commit(outcome) is None, "the version has moved"


@requirement("S5")
@WIDENED
async def test_chat_with_an_owner_is_not_taken(world: World, pool: Pool, widen: Widen) -> None:
    """Also if its version is the one that was read."""
    chat = await world.create(user())
    owner, taker = await world.a_worker(), await world.a_worker()
    await pool.execute("update chats set worker_id = $2 where id = $1", chat.chat_id, owner)

    assert await world.store.commit(widen(declared(world, chat, taker))) is None

    assert (await world.load(chat.chat_id)).worker_id == owner


@WIDENED
async def test_commit_without_a_taker_leaves_owner_and_lost_workers_alone(
    world: World, pool: Pool, widen: Widen
) -> None:
    chat = await world.running(user())
    await pool.execute(LOST, chat.chat_id)
    await pool.execute(TAKEOVERS, chat.chat_id)

    assert await world.store.commit(widen(declared(world, chat)))

    stored = await world.load(chat.chat_id)
    assert (stored.worker_id, stored.epoch) == (chat.worker_id, chat.epoch)
    assert await is_lost_known(pool, chat)
    assert await takeovers(pool, chat) == 2, "a message of a user does not clear a suspicion (P3)"


@WIDENED
async def test_taken_chat_has_lost_no_workers(world: World, pool: Pool, widen: Widen) -> None:
    chat, taker = await world.create(user()), await world.a_worker()
    await pool.execute(LOST, chat.chat_id)
    await pool.execute(TAKEOVERS, chat.chat_id)

    assert await world.store.commit(widen(declared(world, chat, taker)))

    stored = await world.load(chat.chat_id)
    assert (stored.worker_id, stored.epoch) == (taker, chat.epoch + 1)
    assert not await is_lost_known(pool, chat)
    assert await takeovers(pool, chat) == 0
