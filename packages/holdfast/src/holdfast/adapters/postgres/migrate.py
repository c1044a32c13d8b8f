"""Bring a database's schema to what this version needs, or back."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Final

import asyncpg
from asyncpg.connect_utils import SessionAttribute
from pogo_core.error import BadMigrationError
from pogo_core.util.migrate import apply, rollback

from holdfast.adapters.postgres.faults import DATABASE_ERRORS, reason_of
from holdfast.adapters.postgres.pool import ISOLATION, NoDatabase, Pool
from holdfast.adapters.postgres.queries import load_query
from holdfast.domain.errors import HoldfastError
from holdfast.tasks import Crew

if TYPE_CHECKING:
    from pathlib import Path

_SCHEMA: Final = "public"
CONNECT_S: Final = 30.0
_ONE_AT_A_TIME: Final = 0x401DFA57
"""Replicas that start together take turns: the second one finds nothing left to do."""
APPLIED: Final = load_query("applied_migrations")
BLOCKING: Final = load_query("blocking_sessions")
_QUERY_CHARS_MAX: Final = 200
_LOG: Final = logging.getLogger(__name__)
_SILENT: Final = logging.getLogger(f"{__name__}.silent")
_SILENT.setLevel(logging.ERROR)  # the library logs each migration as a warning


class SchemaBehind(HoldfastError):
    """A database that lacks what this version needs."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(
            f"The database lacks the migrations {', '.join(missing)} of this version."
            " Run `holdfast db migrate` first."
        )
        self.missing = tuple(missing)


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrateOptions:
    lock_s: float = 2.0
    """For each lock. Every statement that comes after ours on that table waits for as long."""
    pause_s: float = 1.0
    """Between two tries; in it, those statements are answered."""
    give_up_s: float = 600.0
    """For all tries of one migration together."""
    look_every_s: float = 0.25
    """How often to look which sessions hold the lock."""
    tells_each: bool = True
    """Log the name of each migration. A wait for a lock is logged in any case."""
    folder: "Path | None" = None
    """With the migrations; None: those of this version."""

    def __post_init__(self) -> None:
        assert 0 < self.look_every_s < self.lock_s


class MigrationBlocked(HoldfastError):
    """Other sessions held a lock for too long."""

    def __init__(self, waited_s: float, blockers: Sequence[str]) -> None:
        held = f" It is held by {'; '.join(blockers)}." if blockers else ""
        super().__init__(
            f"The migration did not get a lock within {waited_s:g} s, and was undone.{held}"
            " Run `holdfast db migrate` again when that session has ended."
        )


async def migrate(url: str, options: MigrateOptions | None = None) -> None:
    """Apply every migration that the database has not seen, each in a transaction of its own.
    Raises `MigrationBlocked` if a lock could not be had."""
    await _run(url, None, options or MigrateOptions())


async def roll_back(url: str, *, count: int, options: MigrateOptions | None = None) -> None:
    """Undo the last `count` migrations. Loses what their tables held."""
    assert count > 0
    await _run(url, count, options or MigrateOptions())


async def refuse_behind(pool: Pool) -> None:
    """Raises `SchemaBehind` unless every migration of this version was applied. A database that is
    ahead is fine: during a rolling upgrade the version before runs on it."""
    try:
        applied = {row["migration_id"] for row in await pool.fetch(APPLIED.text)}
    except asyncpg.UndefinedTableError:
        applied = set[str]()
    if missing := sorted(_migrations() - applied):
        raise SchemaBehind(missing)


def newest_migration() -> str:
    """The schema that this version needs."""
    return max(_migrations())


def _migrations() -> set[str]:
    ours = (path.name for path in (files("holdfast.adapters.postgres") / "migrations").iterdir())
    return {name.removesuffix(".sql") for name in ours if name.endswith(".sql")}


def _folder(options: MigrateOptions) -> "AbstractContextManager[Path]":
    if options.folder is not None:
        return nullcontext(options.folder)
    return as_file(files("holdfast.adapters.postgres") / "migrations")


async def _run(url: str, rollback_count: int | None, options: MigrateOptions) -> None:
    connection = await _connect(url)
    try:
        await connection.execute(f"set lock_timeout = {int(options.lock_s * 1000)}")
        patience = _Patience(url, connection, options)
        # Held by the connection: if we die here, it dies with us and no other waits for ever.
        await patience.run(
            lambda: connection.execute("select pg_advisory_lock($1)", _ONE_AT_A_TIME)
        )
        with _folder(options) as migrations:
            steps = _LOG if options.tells_each else _SILENT
            if rollback_count is None:
                await patience.run(
                    lambda: apply(connection, migrations, schema_name=_SCHEMA, logger=steps)
                )
                return
            for _ in range(rollback_count):  # one by one: a second try must not undo more
                await patience.run(lambda: _undo_newest(connection, migrations, steps))
    finally:
        await connection.close()


async def _connect(url: str) -> "asyncpg.Connection[asyncpg.Record]":
    try:
        return await asyncpg.connect(
            url,
            timeout=CONNECT_S,
            target_session_attrs=SessionAttribute.read_write,
            # The role's own timeouts (`migrate --role-settings`) are for the server's statements.
            server_settings=ISOLATION
            | {"statement_timeout": "0", "idle_in_transaction_session_timeout": "0"},
        )
    except (ValueError, *DATABASE_ERRORS) as no:
        raise NoDatabase(f"The database cannot be used: {reason_of(no)}") from no


async def _undo_newest(
    connection: "asyncpg.Connection[asyncpg.Record]", migrations: "Path", steps: logging.Logger
) -> None:
    await rollback(connection, migrations, schema_name=_SCHEMA, count=1, logger=steps)


class _Patience:
    """Tries again what did not get a lock. A statement that waits for a lock makes all statements
    wait that come after it, so that it must not wait for long at a time."""

    def __init__(
        self, url: str, connection: "asyncpg.Connection[asyncpg.Record]", options: MigrateOptions
    ) -> None:
        self._url = url
        self._pid = connection.get_server_pid()
        self._options = options
        self._blockers: list[str] = []

    async def run(self, work: Callable[[], Awaitable[object]]) -> None:
        """`work` may run several times: what a try committed, the next one must find done."""
        now = asyncio.get_running_loop().time
        began = now()
        while True:
            self._blockers = []
            try:
                async with Crew() as beside:
                    looking = beside.create_task(self._look())
                    try:
                        await work()
                    finally:
                        looking.cancel()
            except (asyncpg.PostgresError, BadMigrationError) as failed:
                if not _is_blocked(failed):
                    raise
                if now() - began >= self._options.give_up_s:
                    waited_s = self._options.give_up_s
                    raise MigrationBlocked(waited_s, self._blockers) from failed
            else:
                return
            _LOG.warning(
                "migrate: no lock within %g s, trying again; held by: %s",
                self._options.lock_s,
                "; ".join(self._blockers) or "unknown",
            )
            await asyncio.sleep(self._options.pause_s)

    async def _look(self) -> None:
        """Once the wait is over, the database no longer knows what it was for."""
        await asyncio.sleep(self._options.look_every_s)  # most statements need no look at all
        try:
            connection = await asyncpg.connect(self._url, timeout=CONNECT_S)
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            return  # only the log line lacks something
        try:
            while True:
                rows = await connection.fetch(BLOCKING.text, self._pid)
                self._blockers = [_named(row) for row in rows] or self._blockers
                await asyncio.sleep(self._options.look_every_s)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            return
        finally:
            connection.terminate()


def _is_blocked(failed: BaseException) -> bool:
    cause = failed.__cause__ if isinstance(failed, BadMigrationError) else failed
    return isinstance(cause, asyncpg.LockNotAvailableError | asyncpg.DeadlockDetectedError)


def _named(row: asyncpg.Record) -> str:
    query = " ".join((row["query"] or "").split())[:_QUERY_CHARS_MAX]
    application = row["application_name"] or "no application name"
    return f"pid {row['pid']} ({application}, for {row['age_s']:.0f} s): {query}"
