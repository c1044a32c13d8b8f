"""Bring a database's schema to what this version needs, or back."""

import logging
from importlib.resources import as_file, files
from typing import Final

import asyncpg
from pogo_core.util.migrate import apply, rollback

_SCHEMA: Final = "public"
_ONE_AT_A_TIME: Final = 0x401DFA57
"""Replicas that start together take turns: the second one finds nothing left to do."""
_LOG: Final = logging.getLogger(__name__)


async def migrate(url: str) -> None:
    """Apply every migration that the database has not seen, each in a transaction of its own."""
    await _run(url, rollback_count=None)


async def roll_back(url: str, *, count: int) -> None:
    """Undo the last `count` migrations. Loses what their tables held."""
    assert count > 0
    await _run(url, rollback_count=count)


async def _run(url: str, *, rollback_count: int | None) -> None:
    connection = await asyncpg.connect(url)
    try:
        # Held by the connection: if we die here, it dies with us and nobody waits for ever.
        await connection.execute("select pg_advisory_lock($1)", _ONE_AT_A_TIME)
        with as_file(files("holdfast.db") / "migrations") as migrations:
            if rollback_count is None:
                await apply(connection, migrations, schema_name=_SCHEMA, logger=_LOG)
            else:
                await rollback(
                    connection, migrations, schema_name=_SCHEMA, count=rollback_count, logger=_LOG
                )
    finally:
        await connection.close()
