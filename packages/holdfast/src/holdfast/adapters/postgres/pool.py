"""The pool of connections, and what it asks of the server before it serves a statement."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import asyncpg
from asyncpg.connect_utils import SessionAttribute
from typing_extensions import override

from holdfast.adapters.postgres.faults import (
    DATABASE_ERRORS,
    leads_elsewhere,
    reason_of,
    unavailable,
)
from holdfast.adapters.postgres.queries import Query, load_query
from holdfast.adapters.postgres.shares import PersonsPlace, Shares, people_together
from holdfast.domain.errors import HoldfastError

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"
Connection: TypeAlias = "PoolConnectionProxy[asyncpg.Record]"
Pooler: TypeAlias = Literal["none", "session", "transaction"]
"""What stands between the pool and PostgreSQL, by what it lends to a client at a time."""

WAIT_S: Final = 10.0
_REQUIRED: Final = {"fsync": {"on"}, "full_page_writes": {"on"}}
_QUERIES_MAX: Final = 50_000
_IDLE_S_MAX: Final = 300.0
"""Of a connection, as the driver has them; then it is replaced."""
ISOLATION: Final = {"default_transaction_isolation": "read committed"}
"""Of every connection, whatever the default of the cluster: statements compare and set, and under
repeatable read a contended one fails instead of waiting for its turn."""
_REFUSED: Final = {"synchronous_commit": {"off"}}
_NAME: Final = {"application_name": "holdfast"}
"""Poolers know it. Most other startup parameters they refuse, or ignore if they are told to."""
_BOUNDS: Final = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
"""Without them a lock or a transaction of one session blocks the others for ever."""


class NoDatabase(HoldfastError):
    """There is none where we were told to look, or it does not let us in."""


class UnsafeDatabase(HoldfastError):
    """A server that may forget what it acknowledged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOptions:
    connections_min: int = 2
    connections_max: int = 16
    connect_timeout_s: float = 5.0
    command_timeout_s: float = 10.0
    wait_s: float = WAIT_S
    """For a connection, while all are in use."""
    lock_timeout_ms: int = 5_000
    statement_timeout_ms: int = 15_000
    idle_in_transaction_ms: int = 5_000
    writes: bool = True
    """False: a standby will do."""
    pooler: Pooler = "none"
    statements_per_person: int = 0
    """At once; 0: no bound."""

    def __post_init__(self) -> None:
        assert 0 < self.connections_min <= self.connections_max

    @property
    def server_settings(self) -> dict[str, str]:
        """The settings of every session that statements run in."""
        return {
            **ISOLATION,
            "jit": "off",  # our statements are small; compiling them costs more than running them
            # Planning the larger statements costs more than running them, and every one of them
            # has the same best plan whatever its values: the one that follows the indexes.
            "plan_cache_mode": "force_generic_plan",
            "lock_timeout": str(self.lock_timeout_ms),
            "statement_timeout": str(self.statement_timeout_ms),
            "idle_in_transaction_session_timeout": str(self.idle_in_transaction_ms),
            # A server that cannot reach us must not hold our row for as long as the kernel likes.
            "tcp_keepalives_idle": "2",
            "tcp_keepalives_interval": "1",
            "tcp_keepalives_count": "3",
            "tcp_user_timeout": "3000",
        }


class BoundedPool(asyncpg.Pool):
    """The driver's, whose callers wait for ever when all connections are in use. Ours are told
    after a while: else who asks last waits for all the statements before theirs.

    It drops connections that lead to the wrong server, which the driver would keep for ever as long
    as they are in use.
    """

    __slots__ = ("_wait_s", "expired", "shares")

    def __init__(self, *given: Any, wait_s: float, shares: Shares, **more: Any) -> None:  # noqa: ANN401 - the driver's
        super().__init__(*given, **more)
        self._wait_s = wait_s
        self.shares = shares
        self.expired = 0

    @override
    def acquire(self, *, timeout: float | None = None) -> Any:
        waits = timeout is None and self.get_idle_size() == 0
        return _Checkout(self, super().acquire(timeout=timeout), self._wait_s if waits else None)

    @override
    async def expire_connections(self) -> None:
        self.expired += 1
        await super().expire_connections()


def persons_place(pool: Pool) -> PersonsPlace:
    """Where a person's statement waits for its place, if it serves that person alone."""
    return PersonsPlace(pool.shares if isinstance(pool, BoundedPool) else None)


class _Checkout:
    """Not the driver's own timeout, for which it makes a task, and another one when it releases."""

    __slots__ = ("_acquiring", "_connection", "_expired", "_pool", "_wait_s")

    def __init__(self, pool: BoundedPool, acquiring: Any, wait_s: float | None) -> None:  # noqa: ANN401 - the driver's
        self._pool = pool
        self._acquiring = acquiring
        self._wait_s = wait_s
        self._connection: Any = None
        self._expired = 0

    async def __aenter__(self) -> Any:  # noqa: ANN401 - the driver's
        if self._wait_s is None:
            self._connection = await self._acquiring.__aenter__()
        else:
            async with asyncio.timeout(self._wait_s):
                self._connection = await self._acquiring.__aenter__()
        self._expired = self._pool.expired
        return self._connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, *traceback: object
    ) -> None:
        connection, self._connection = self._connection, None
        if error is not None and leads_elsewhere(error):
            with suppress(asyncpg.InterfaceError):  # it closed itself, and left the pool
                connection.terminate()
            # Once for all statements that were under way: those that came later have connections
            # that were opened after the first of them failed.
            if self._expired == self._pool.expired:
                await self._pool.expire_connections()
        await self._acquiring.__aexit__(kind, error, *traceback)

    def __await__(self) -> Generator[Any, Any, Any]:
        return self.__aenter__().__await__()


@asynccontextmanager
async def open_pool(url: str, options: PoolOptions | None = None) -> AsyncGenerator[BoundedPool]:
    """A pool on a database that keeps its promises; refuses one that was told not to."""
    logging.getLogger(asyncpg.pool.__name__).addFilter(_in_one_line)
    options = options or PoolOptions()
    pool = BoundedPool(
        url,
        wait_s=options.wait_s,
        shares=Shares(
            options.statements_per_person,
            people_together(options.connections_max),
            wait_s=options.wait_s,
        ),
        min_size=options.connections_min,
        max_size=options.connections_max,
        max_queries=_QUERIES_MAX,
        max_inactive_connection_lifetime=_IDLE_S_MAX,
        loop=None,
        connection_class=asyncpg.Connection,
        record_class=asyncpg.Record,
        timeout=options.connect_timeout_s,
        # Without it a cut connection blocks its caller for as long as the kernel likes.
        command_timeout=options.command_timeout_s,
        # The default reset is one more statement per checkout, a third of the cost of a turn. We
        # leave nothing behind on a connection: no transaction, no SET, no LISTEN, no cursor.
        reset=_leave_as_is,
        # Of several hosts the one that takes writes. A single one that takes none is refused: else
        # the pool would fill with connections on which every commit fails.
        target_session_attrs=(
            SessionAttribute.read_write if options.writes else SessionAttribute.any
        ),
        **_by_pooler(options),
    )
    try:
        await pool
    except (ValueError, *DATABASE_ERRORS) as no:
        raise NoDatabase(f"The database cannot be used: {reason_of(no)}") from no
    async with pool:
        await refuse_unsafe(pool)
        if options.pooler == "transaction":
            await _refuse_unbounded(pool, options)
        yield pool


def _by_pooler(options: PoolOptions) -> dict[str, Any]:
    """How a connection gets the settings of its session.

    - `none`: at startup, which costs nothing.
    - `session`: by a statement of its own. PgBouncer takes few startup parameters, and resets the
      session before another client gets it.
    - `transaction`: not at all. What is set stays with a session that serves other clients, too,
      and the next statement may run in another one: the settings are the role's. So are prepared
      statements impossible, which belong to a session.
    """
    if options.pooler == "none":
        return {"server_settings": _NAME | options.server_settings}
    if options.pooler == "transaction":
        return {"server_settings": _NAME, "statement_cache_size": 0}

    async def init(connection: Connection) -> None:
        await connection.execute(*_with(load_query("set_session"), options.server_settings))

    return {"server_settings": _NAME, "init": init}


async def _refuse_unbounded(pool: Pool, options: PoolOptions) -> None:
    """The settings that the pool cannot make itself must be those of the role."""
    wanted = {name: options.server_settings[name] for name in (*ISOLATION, *_BOUNDS)}
    try:
        rows = await pool.fetch(*_with(load_query("session_settings"), wanted))
    except DATABASE_ERRORS as error:
        raise unavailable(error) from error
    wrong = [
        row
        for row in rows
        if (
            row["setting"] == "0"
            if row["name"] in _BOUNDS
            else row["setting"] != wanted[row["name"]]
        )
    ]
    if wrong:
        found = ", ".join(f"{row['name']}={row['setting']}" for row in wrong)
        raise UnsafeDatabase(
            f"The pooler's sessions have {found}. Holdfast cannot set that where transactions are"
            " pooled. Run `holdfast db migrate --role-settings`, or:"
            f" {' '.join(row['remedy'] for row in wrong)} Then let the pooler reconnect."
        )


async def set_role_settings(url: str) -> None:
    """Make our settings those of the role in this database, for sessions that begin from now on."""
    options = PoolOptions(connections_min=1, connections_max=1)
    async with open_pool(url, options) as pool:
        for row in await pool.fetch(
            *_with(load_query("session_settings"), options.server_settings)
        ):
            await pool.execute(row["remedy"])


def _with(query: Query, settings: Mapping[str, str]) -> tuple[Any, ...]:
    given = {"names": [*settings], "settings": [*settings.values()]}
    return (query.text, *query.values(given))


async def server_version(pool: Pool) -> str:
    """As it said when a connection was opened: no statement."""
    async with pool.acquire() as connection:
        version = connection.get_server_version()
        return f"{version.major}.{version.minor}"


async def refuse_unsafe(pool: Pool) -> None:
    try:
        settings = await pool.fetch(load_query("durability").text)
    except DATABASE_ERRORS as error:
        raise unavailable(error) from error
    found = {row["name"]: row["setting"] for row in settings}
    if found.get("synchronous_standby_names") and found["synchronous_commit"] == "local":
        raise UnsafeDatabase(
            "PostgreSQL has synchronous standbys, and synchronous_commit=local does not wait for"
            " them: a failover may lose what was acknowledged. Set synchronous_commit=on."
        )
    for name, setting in found.items():
        if setting not in _REQUIRED.get(name, {setting}) or setting in _REFUSED.get(name, ()):
            raise UnsafeDatabase(
                f"PostgreSQL runs with {name}={setting}: it may lose what it acknowledged. "
                f"Set {name}=on; Holdfast does not start without it."
            )


def _in_one_line(record: logging.LogRecord) -> bool:
    """The driver looks for a database that is away, and tells each time with its whole way into
    the socket that it is not there. The reason is enough, for who reads logs in an outage."""
    if record.exc_info and (error := record.exc_info[1]) is not None:
        record.msg, record.args = f"{record.getMessage()}: {error!r}", ()
        record.exc_info = None
        record.seldom = "the driver"
    return True


async def _leave_as_is(_connection: object) -> None:
    pass
