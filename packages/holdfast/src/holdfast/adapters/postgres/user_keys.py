"""Keys of users for providers, in PostgreSQL."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

import asyncpg

from holdfast.adapters.postgres.audit_entry import audit_parameters
from holdfast.adapters.postgres.codec import decode_json
from holdfast.adapters.postgres.generation import counted
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.queries import load_query
from holdfast.adapters.postgres.store import fetch_row, fetch_rows
from holdfast.domain.audit import AuditEntry
from holdfast.domain.errors import Contended
from holdfast.domain.ids import OrgId, UserId
from holdfast.domain.secrets import Sealed
from holdfast.ports.user_keys import UserKeyProvider, UserKeyRow

ALLOWED: Final = load_query("allowed_user_keys")
OF_USER: Final = load_query("providers_with_user_keys")


class PostgresUserKeys:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def user_keys(self, org_id: OrgId) -> Sequence[UserKeyRow]:
        rows = await fetch_rows(self._pool, ALLOWED, org_id=org_id)
        return [
            UserKeyRow(
                org_id=org_id,
                user_id=UserId(row["user_id"]),
                provider_id=row["provider_id"],
                credential=bytes(row["credential"]),
            )
            for row in rows
        ]

    async def user_key_providers(self, org_id: OrgId, user_id: UserId) -> Sequence[UserKeyProvider]:
        rows = await fetch_rows(self._pool, OF_USER, org_id=org_id, user_id=user_id)
        return [
            UserKeyProvider(
                provider_id=row["id"],
                name=row["name"],
                record=decode_json(row["record"]),
                is_allowed=row["user_keys"],
                set_at=row["set_at"],
            )
            for row in rows
        ]

    async def set_user_key(self, row: UserKeyRow, audit: AuditEntry) -> bool:
        values = {
            "id": row.id,
            "credential": row.credential,
            "key_id": UUID(bytes=Sealed.decode(row.credential).key_id),
        }
        return await self._write(
            "set_user_key_begin", row.org_id, row.provider_id, row.user_id, audit, **values
        )

    async def remove_user_key(
        self, org_id: OrgId, provider_id: UUID, user_id: UserId, audit: AuditEntry
    ) -> bool:
        return await self._write("remove_user_key_begin", org_id, provider_id, user_id, audit)

    async def _write(
        self,
        begin: str,
        org_id: OrgId,
        provider_id: UUID,
        user_id: UserId,
        audit: AuditEntry,
        **values: Any,  # noqa: ANN401 - of columns
    ) -> bool:
        """A stop: no attempt may begin with the key that was there before."""
        try:
            row = await fetch_row(
                self._pool,
                counted("count_catalogue_begin", begin),
                org_id=org_id,
                provider_id=provider_id,
                user_id=user_id,
                **values,
                **audit_parameters(audit),
                stops=True,
            )
        except asyncpg.ForeignKeyViolationError:
            raise Contended("a row or a data key that it needs was removed meanwhile") from None
        return row is not None
