"""The key by which replicas of a deployment authenticate what they tell each other on the bus."""

from typing import Final

from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.queries import load_query
from holdfast.adapters.postgres.store import fetch_row, fetch_rows

BUS_KEY: Final = load_query("bus_key")
NEW_BUS_KEY: Final = load_query("new_bus_key")


async def read_bus_key(pool: Pool) -> bytes:
    """The migration made it. A database whose rows were restored without it gets a new one."""
    row = await fetch_row(pool, BUS_KEY)
    if row is None:
        await fetch_rows(pool, NEW_BUS_KEY)
        row = await fetch_row(pool, BUS_KEY)
    assert row is not None, "it was there, or was made"
    return row["key"]
