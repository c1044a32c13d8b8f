"""Data keys and sealed columns in PostgreSQL."""

from collections.abc import Sequence
from functools import cache
from typing import Final
from uuid import UUID

import asyncpg

from holdfast.adapters.postgres.audit import audited
from holdfast.adapters.postgres.audit_entry import audit_parameters
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.queries import Query, load_query
from holdfast.adapters.postgres.rows import RowLike
from holdfast.adapters.postgres.store import fetch_row, fetch_rows
from holdfast.domain.audit import AuditEntry
from holdfast.domain.ids import OrgId
from holdfast.domain.secrets import Sealed, SecretColumn
from holdfast.ports.secrets import DataKey, ResealedRow, SealedRow

REGISTER: Final = load_query("register_master")
CURRENT: Final = load_query("current_master")
SWITCH: Final = load_query("switch_master")
FORGET: Final = load_query("forget_masters")
KEY_FOR: Final = load_query("secret_key_for")
FIND: Final = load_query("find_secret_key")
LIST: Final = load_query("list_secret_keys")
REWRAP: Final = load_query("rewrap_secret_key")
COLUMNS: Final = load_query("sealed_columns")


@cache
def rows_of(column: SecretColumn) -> Query:
    return load_query(f"sealed_{column.table}_{column.column}")


@cache
def reseal_of(column: SecretColumn) -> Query:
    return load_query(f"reseal_{column.table}_{column.column}")


class PostgresSecrets:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def current_master(self) -> bytes | None:
        row = await fetch_row(self._pool, CURRENT)
        return None if row is None else bytes(row["id"])

    async def register_master(self, master_id: bytes) -> bytes:
        while True:
            row = await fetch_row(self._pool, REGISTER, id=master_id)
            if row is not None:  # None: another server registers its own at this moment
                return bytes(row["id"])

    async def switch_master(self, master_id: bytes) -> None:
        await fetch_row(self._pool, SWITCH, id=master_id)

    async def forget_masters(self) -> None:
        await fetch_row(self._pool, FORGET)

    async def key_for(self, org_id: OrgId, *, seals: int) -> DataKey | None:
        row = await fetch_row(self._pool, KEY_FOR, org_id=org_id, seals=seals)
        return None if row is None else _data_key(row)

    async def find_key(self, key_id: UUID) -> DataKey | None:
        row = await fetch_row(self._pool, FIND, id=key_id)
        return None if row is None else _data_key(row)

    async def keys(self, *, after: UUID, limit: int) -> Sequence[DataKey]:
        return [
            _data_key(row) for row in await fetch_rows(self._pool, LIST, after=after, limit=limit)
        ]

    async def add_key(self, key: DataKey, audit: AuditEntry, *, replaces: UUID | None) -> bool:
        row = await fetch_row(
            self._pool,
            audited("add_secret_key_begin"),
            id=key.id,
            org_id=key.org_id,
            wrapped=key.wrapped,
            master_id=Sealed.decode(key.wrapped).key_id,
            replaces=replaces,
            **audit_parameters(audit),
        )
        return row is not None

    async def rewrap(self, key: DataKey, wrapped: bytes) -> bool:
        row = await fetch_row(
            self._pool,
            REWRAP,
            id=key.id,
            was=key.wrapped,
            wrapped=wrapped,
            master_id=Sealed.decode(wrapped).key_id,
        )
        return row is not None

    async def remove_key(self, key_id: UUID, audit: AuditEntry) -> bool:
        try:
            row = await fetch_row(
                self._pool, audited("remove_secret_key_begin"), id=key_id, **audit_parameters(audit)
            )
        except asyncpg.ForeignKeyViolationError:
            return False
        return row is not None

    async def sealed_columns(self) -> Sequence[SecretColumn]:
        return [
            SecretColumn(row["table_name"], row["column_name"])
            for row in await fetch_rows(self._pool, COLUMNS)
        ]

    async def rows(
        self, column: SecretColumn, *, after: UUID, limit: int, outdated: bool
    ) -> Sequence[SealedRow]:
        rows = await fetch_rows(
            self._pool, rows_of(column), after=after, limit=limit, outdated=outdated
        )
        return [
            SealedRow(row["id"], OrgId(row["org_id"]), bytes(row["blob"]), row["is_current"])
            for row in rows
        ]

    async def reseal(self, column: SecretColumn, rows: Sequence[ResealedRow]) -> int:
        done = await fetch_rows(
            self._pool,
            reseal_of(column),
            ids=[row.id for row in rows],
            old=[row.old for row in rows],
            new=[row.new for row in rows],
            keys=[row.key_id for row in rows],
        )
        return len(done)


def _data_key(row: RowLike) -> DataKey:
    return DataKey(
        id=row["id"],
        org_id=OrgId(row["org_id"]),
        wrapped=bytes(row["wrapped"]),
        is_current=row["is_current"],
        sealed=row["sealed"],
    )
