"""Commits that share a transaction: each is still a compare-and-set of its own."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from holdfast.adapters.postgres.leases import PostgresLeases
from holdfast.adapters.postgres.pool import Pool, PoolOptions, open_pool
from holdfast.adapters.postgres.store import PostgresStore
from holdfast.domain.chat import Chat, Facts
from holdfast.domain.commands import SendMessage
from holdfast.domain.decide import decide
from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import ClientKey, Version
from holdfast.domain.outcome import Outcome
from holdfast.ports.store import IdempotencyKey, Stamp
from tests.requirements import requirement
from tests.support.builders import ORG, OWNER, user
from tests.support.database import add_user, temporary_database
from tests.support.world import World, postgres_world

CROWD = 40
ROUNDS = 12


@pytest.fixture
def world(pool: Pool) -> World:
    return postgres_world(pool)


async def chats_of(world: World, count: int = CROWD) -> list[Chat]:
    return [await world.create(user("first")) for _ in range(count)]


def queued(world: World, chat: Chat) -> Outcome:
    """The chats owe a reply, so what is said now waits in the queue: no driver is needed."""
    return decide(Facts(chat=chat), SendMessage(user("more")), world.clock.now())


async def transactions(pool: Pool, chats: Sequence[Chat]) -> int:
    """By which these chats were last written."""
    ids = [chat.chat_id for chat in chats]
    return await pool.fetchval(
        "select count(distinct xmin::text) from chats where id = any($1)", ids
    )


@requirement("M1", "S2")
async def test_a_crowd_shares_transactions_and_each_is_told_its_own(
    world: World, pool: Pool
) -> None:
    chats = await chats_of(world)
    stale = {3, 17, 30}
    outcomes = [
        queued(world, replace(chat, version=Version(chat.version + 1)) if n in stale else chat)
        for n, chat in enumerate(chats)
    ]
    assert await transactions(pool, chats) == CROWD

    stamps = await asyncio.gather(*map(world.store.commit, outcomes))

    assert await transactions(pool, chats) < CROWD / 2
    assert {n for n, stamp in enumerate(stamps) if stamp is None} == stale
    for n, (chat, stamp) in enumerate(zip(chats, stamps, strict=True)):
        stored = await world.load(chat.chat_id)
        assert stored.version == chat.version + (n not in stale)
        assert stamp is None or stamp.epoch == stored.epoch
    assert await world.violations([chat.chat_id for chat in chats]) == []


@requirement("M1")
async def test_a_key_that_was_used_before_refuses_nobody_else(world: World) -> None:
    chats = await chats_of(world)
    used = chats[7]
    assert await world.store.commit(queued(world, used), keyed=_keyed(7))
    chats[7] = await world.load(used.chat_id)

    stamps = await asyncio.gather(
        *(world.store.commit(queued(world, chat), keyed=_keyed(n)) for n, chat in enumerate(chats))
    )

    assert [n for n, stamp in enumerate(stamps) if stamp is None] == [7]
    assert (await world.load(used.chat_id)).version == chats[7].version, "not even a part of it"


def _keyed(number: int) -> IdempotencyKey:
    return IdempotencyKey(ClientKey(f"key {number}"), b"digest")


@requirement("R3")
async def test_a_chat_that_somebody_has_locked_is_the_only_one_that_waits_in_vain(
    template: str,
) -> None:
    options = PoolOptions(connections_min=8, connections_max=8, lock_timeout_ms=300)
    async with temporary_database(template) as url, open_pool(url, options) as pool:
        await add_user(pool, ORG, OWNER)
        world = postgres_world(pool)
        chats = await chats_of(world)
        async with pool.acquire() as other, other.transaction():
            await other.execute("select from chats where id = $1 for update", chats[20].chat_id)
            told = await asyncio.gather(
                *(world.store.commit(queued(world, chat)) for chat in chats),
                return_exceptions=True,
            )
        assert [n for n, each in enumerate(told) if not isinstance(each, Stamp)] == [20]
        assert isinstance(told[20], Unavailable)


@requirement("R3")
async def test_crowds_of_two_replicas_and_a_release_never_wait_for_one_another(
    world: World, pool: Pool
) -> None:
    """Whoever locks several does so in one order; a deadlock would hold them for a second."""
    worker = await world.a_worker()
    leases, stores = PostgresLeases(pool), (world.store, PostgresStore(pool))
    chats = await chats_of(world, 24)
    ids = [chat.chat_id for chat in chats]
    before = await _deadlocks(pool)  # the database may have been used by other tests
    for _ in range(ROUNDS):
        await pool.execute("update chats set worker_id = $1 where id = any($2)", worker, ids)
        now = [await world.load(chat_id) for chat_id in ids]
        outcomes = [queued(world, chat) for chat in now]
        told = await asyncio.gather(
            *(stores[0].commit(outcome) for outcome in outcomes),
            *(stores[1].commit(outcome) for outcome in reversed(outcomes)),
            leases.release(worker, [*reversed(ids)]),
        )
        done = told[: len(ids)], told[len(ids) : 2 * len(ids)][::-1]
        assert all((one is None) != (other is None) for one, other in zip(*done, strict=True))
    assert await _deadlocks(pool) == before


async def _deadlocks(pool: Pool) -> int:
    await pool.execute("select pg_stat_force_next_flush()")
    await pool.execute("select pg_stat_clear_snapshot()")
    count = await pool.fetchval(
        "select deadlocks from pg_stat_database where datname = current_database()"
    )
    return int(count)
