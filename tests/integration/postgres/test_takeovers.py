"""The count of takeovers as PostgreSQL keeps it."""

from holdfast.adapters.postgres.pool import Pool
from tests.support.builders import user
from tests.support.world import postgres_world


async def test_the_count_of_takeovers_does_not_overflow(pool: Pool) -> None:
    world = postgres_world(pool)
    chat, dead = await world.create(user()), await world.a_worker()
    assert len(await world.acquire(dead)) == 1
    await pool.execute("update chats set takeovers = 32000 where id = $1", chat.chat_id)
    await world.lapse(dead)

    assert len(await world.acquire(await world.a_worker())) == 1

    kept = await pool.fetchval("select takeovers from chats where id = $1", chat.chat_id)
    assert kept == 32_000
