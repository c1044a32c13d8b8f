"""Providers and models of organisations in PostgreSQL."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

import asyncpg

from holdfast.adapters.postgres.audit_entry import audit_parameters
from holdfast.adapters.postgres.codec import decode_json, encode_json
from holdfast.adapters.postgres.generation import counted
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.queries import load_query
from holdfast.adapters.postgres.rows import RowLike
from holdfast.adapters.postgres.store import fetch_row, fetch_rows
from holdfast.domain.audit import AuditEntry
from holdfast.domain.errors import Contended, NameTaken
from holdfast.domain.ids import OrgId
from holdfast.domain.secrets import Sealed
from holdfast.ports.catalogue import ModelRow, OrgCatalogue, ProviderRow

NEWER: Final = load_query("newer_catalogues")
PROVIDERS: Final = load_query("catalogue_providers")
MODELS: Final = load_query("catalogue_models")


class PostgresCatalogue:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def newer(self, known: Mapping[OrgId, int]) -> Mapping[OrgId, int]:
        rows = await fetch_rows(self._pool, NEWER, orgs=list(known), versions=list(known.values()))
        return {OrgId(row["org_id"]): row["version"] for row in rows}

    async def find(self, org_id: OrgId, version: int = 0) -> OrgCatalogue:
        providers = await fetch_rows(self._pool, PROVIDERS, org_id=org_id)
        models = await fetch_rows(self._pool, MODELS, org_id=org_id)
        return OrgCatalogue(
            version, [_provider(row) for row in providers], [_model(row) for row in models]
        )

    async def add_provider(self, row: ProviderRow, audit: AuditEntry) -> bool:
        values = _of_provider(row)
        return await self._write("add_provider_begin", row.name, audit, values, stops=False)

    async def change_provider(
        self, row: ProviderRow, audit: AuditEntry, *, has_moved: bool = False
    ) -> bool:
        values = {**_of_provider(row), "has_moved": has_moved}
        return await self._write("change_provider_begin", row.name, audit, values)

    async def remove_provider(self, row: ProviderRow, audit: AuditEntry) -> bool:
        return await self._write("remove_provider_begin", row.name, audit, _of_provider(row))

    async def add_model(self, row: ModelRow, audit: AuditEntry) -> bool:
        values = _of_model(row)
        return await self._write("add_model_begin", row.name, audit, values, stops=False)

    async def change_model(self, row: ModelRow, audit: AuditEntry) -> bool:
        return await self._write("change_model_begin", row.name, audit, _of_model(row))

    async def remove_model(self, row: ModelRow, audit: AuditEntry) -> bool:
        return await self._write("remove_model_begin", row.name, audit, _of_model(row))

    async def _write(
        self,
        begin: str,
        name: str,
        audit: AuditEntry,
        values: Mapping[str, Any],
        *,
        stops: bool = True,
    ) -> bool:
        """`stops`: whatever is changed or removed may be disabled, or lose its key."""
        parameters = {**values, **audit_parameters(audit), "stops": stops}
        try:
            row = await fetch_row(self._pool, counted("count_catalogue_begin", begin), **parameters)
        except asyncpg.UniqueViolationError:
            raise NameTaken(name) from None
        except asyncpg.ForeignKeyViolationError:
            raise Contended("a row or a data key that it needs was removed meanwhile") from None
        return row is not None


def _of_provider(row: ProviderRow) -> dict[str, Any]:
    sealed = row.credential
    return {
        "id": row.id,
        "org_id": row.org_id,
        "name": row.name,
        "version": row.version,
        "is_enabled": row.is_enabled,
        "user_keys": row.user_keys,
        "record": encode_json(row.record),
        "credential": sealed,
        "key_id": None if sealed is None else UUID(bytes=Sealed.decode(sealed).key_id),
        "about": None if row.about is None else encode_json(row.about),
    }


def _of_model(row: ModelRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "org_id": row.org_id,
        "provider_id": row.provider_id,
        "name": row.name,
        "version": row.version,
        "is_enabled": row.is_enabled,
        "is_default": row.is_default,
        "record": encode_json(row.record),
    }


def _provider(row: RowLike) -> ProviderRow:
    sealed, about = row["credential"], row["credential_about"]
    return ProviderRow(
        id=row["id"],
        org_id=OrgId(row["org_id"]),
        name=row["name"],
        version=row["version"],
        is_enabled=row["is_enabled"],
        user_keys=row["user_keys"],
        record=decode_json(row["record"]),
        credential=None if sealed is None else bytes(sealed),
        about=None if about is None else decode_json(about),
        created_at=row["created_at"],
        changed_at=row["changed_at"],
    )


def _model(row: RowLike) -> ModelRow:
    return ModelRow(
        id=row["id"],
        org_id=OrgId(row["org_id"]),
        provider_id=row["provider_id"],
        name=row["name"],
        version=row["version"],
        is_enabled=row["is_enabled"],
        is_default=row["is_default"],
        record=decode_json(row["record"]),
        created_at=row["created_at"],
        changed_at=row["changed_at"],
    )
