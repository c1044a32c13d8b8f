"""The settings of the database, and of a pooler before it."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from pydantic import Field, PostgresDsn
from pydantic_settings import BaseSettings

PoolerMode: TypeAlias = Literal["none", "session", "transaction"]


class DatabaseSettings(BaseSettings):
    database_url: PostgresDsn = Field(
        default=PostgresDsn("postgresql://127.0.0.1:5432/holdfast"),
        repr=False,
        description="The PostgreSQL database that stores everything. Several hosts, separated by"
        " commas, are tried in order; the primary is used.",
    )
    database_pooler: PoolerMode = Field(
        default="none",
        description="What `HOLDFAST_DATABASE_URL` points to: PostgreSQL itself (`none`), or a"
        " PgBouncer in session mode (`session`) or in transaction mode"
        " (`transaction`).",
    )
    database_direct_url: PostgresDsn | None = Field(
        default=None,
        repr=False,
        description="The same database without the pooler, for the bus, the heartbeat, `migrate`"
        " and `verify`. Needed with a pooler.",
    )
    database_connections_max: int = Field(
        default=7,
        ge=2,
        le=200,
        description="Maximum size of the connection pool of one replica; a turn uses a"
        " connection for milliseconds. The bus on PostgreSQL takes two more"
        " connections, and the heartbeat of a worker one.",
    )
    database_command_timeout_s: float = Field(
        default=10.0,
        gt=0,
        description="Timeout of a statement, in seconds, and the longest wait for a connection"
        " of the pool.",
    )

    @property
    def direct_url(self) -> str:
        """Where a session is a session: for LISTEN, session locks, and leases that must not wait
        for a place in a pooler."""
        return str(self.database_direct_url or self.database_url)

    def database_misfits(self) -> Iterator[str]:
        if self.database_pooler != "none" and self.database_direct_url is None:
            yield (
                "HOLDFAST_DATABASE_POOLER needs HOLDFAST_DATABASE_DIRECT_URL: the bus listens, and"
                " a worker's heartbeat must not wait for a place in the pooler."
            )
