"""Every owner gets a turn, however many wait and however close their identifiers lie."""

import random
from collections.abc import Callable
from uuid import UUID

import pytest

from holdfast.adapters.postgres.pool import Pool
from holdfast.domain.ids import UserId
from holdfast.worker.fair_start import FairStart
from holdfast.worker.lease_context import chance_uuid
from tests.support.builders import user
from tests.support.world import postgres_world

OWNERS = 40


async def acquires_until_all_had_a_turn(
    pool: Pool, start: Callable[[], UUID], met: Callable[[UserId], None]
) -> int:
    """One chat at a time, and whoever had a turn wants another at once."""
    world = postgres_world(pool)
    worker = await world.a_worker()
    owners = [await world.another_owner() for _ in range(OWNERS)]
    for owner in owners:
        await world.create(user(), owner=owner)
    served: set[UserId] = set()
    for count in range(1, 15 * OWNERS):
        (chat,) = (await world.leases.acquire(worker, limit=1, ring_start=start())).chats
        met(chat.owner_id)
        served.add(chat.owner_id)
        if len(served) == OWNERS:
            return count
        await pool.execute(
            "update chats set worker_id = null, runnable_since = clock_timestamp() where id = $1",
            chat.chat_id,
        )
    raise AssertionError(f"{OWNERS - len(served)} owners never had a turn")


async def test_every_owner_gets_a_turn(pool: Pool) -> None:
    ring = FairStart(random.Random(1).random)

    assert await acquires_until_all_had_a_turn(pool, ring.start, ring.met) < 10 * OWNERS


async def test_mutant_a_start_anywhere_among_all_identifiers_starves_owners(pool: Pool) -> None:
    chance = random.Random(1).random
    with pytest.raises(AssertionError, match="never had a turn"):
        await acquires_until_all_had_a_turn(pool, lambda: chance_uuid(chance), lambda _: None)
