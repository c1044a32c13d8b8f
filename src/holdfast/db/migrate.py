"""Bring a database's schema to what this version needs, or back."""

import logging
from collections.abc import Sequence
from importlib.resources import as_file, files
from typing import Final

import asyncpg
from asyncpg.connect_utils import SessionAttribute
from pogo_core.util.migrate import apply, rollback

from holdfast.db.faults import DATABASE_ERRORS, reason_of
from holdfast.db.pool import ISOLATION, NoDatabase, Pool
from holdfast.db.queries import load_query
from holdfast.domain.errors import HoldfastError

_SCHEMA: Final = "public"
CONNECT_S: Final = 30.0
_ONE_AT_A_TIME: Final = 0x401DFA57
"""Replicas that start together take turns: the second one finds nothing left to do."""
APPLIED: Final = load_query("applied_migrations")
_LOG: Final = logging.getLogger(__name__)


class SchemaBehind(HoldfastError):
    """A database that lacks what this version needs."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(
            f"The database lacks the migrations {', '.join(missing)} of this version."
            " Run `holdfast migrate` first."
        )
        self.missing = tuple(missing)


async def migrate(url: str) -> None:
    """Apply every migration that the database has not seen, each in a transaction of its own."""
    await _run(url, rollback_count=None)


async def roll_back(url: str, *, count: int) -> None:
    """Undo the last `count` migrations. Loses what their tables held."""
    assert count > 0
    await _run(url, rollback_count=count)


async def refuse_behind(pool: Pool) -> None:
    """Raises `SchemaBehind` unless every migration of this version was applied. A database that is
    ahead is fine: during a rolling upgrade the version before runs on it."""
    try:
        applied = {row["migration_id"] for row in await pool.fetch(APPLIED.text)}
    except asyncpg.UndefinedTableError:
        applied = set[str]()
    ours = (path.name for path in (files("holdfast.db") / "migrations").iterdir())
    names = {name.removesuffix(".sql") for name in ours if name.endswith(".sql")}
    if missing := sorted(names - applied):
        raise SchemaBehind(missing)


async def _run(url: str, *, rollback_count: int | None) -> None:
    try:
        connection = await asyncpg.connect(
            url,
            timeout=CONNECT_S,
            target_session_attrs=SessionAttribute.read_write,
            server_settings=ISOLATION,
        )
    except (ValueError, *DATABASE_ERRORS) as no:
        raise NoDatabase(f"The database cannot be used: {reason_of(no)}") from no
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
