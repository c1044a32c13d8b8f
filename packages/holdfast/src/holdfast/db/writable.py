"""Whether the database takes writes now."""

from typing import Final

from holdfast.db.pool import Pool
from holdfast.db.queries import load_query
from holdfast.db.store import fetch_row
from holdfast.domain.errors import DatabaseReadOnly

IS_WRITABLE: Final = load_query("is_writable")


async def check_writable(pool: Pool) -> None:
    """Raises `DatabaseReadOnly`, or `Unavailable` without an answer. Writes nothing."""
    row = await fetch_row(pool, IS_WRITABLE)
    if row is None or not row["writable"]:
        raise DatabaseReadOnly("the database is read-only")
