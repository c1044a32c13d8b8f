"""Settings of organisations in PostgreSQL: rows as they are. `holdfast.admin` decodes them."""

from collections.abc import Collection, Mapping
from typing import Final

from holdfast.adapters.postgres.audit import audit_parameters
from holdfast.adapters.postgres.codec import decode_json, encode_json
from holdfast.adapters.postgres.generation import counted_if
from holdfast.adapters.postgres.policy import actor_parameters, filtered
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.queries import load_query
from holdfast.adapters.postgres.store import fetch_row, fetch_rows
from holdfast.domain.audit import AuditEntry
from holdfast.domain.ids import OrgId
from holdfast.domain.parts import JsonObject
from holdfast.domain.policy import Filter, TargetKind
from holdfast.ports.org_settings import NEVER_SET, StoredSettings

NEWER: Final = load_query("newer_settings")


class PostgresOrgSettings:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def newer(self, known: Mapping[OrgId, int]) -> Mapping[OrgId, StoredSettings]:
        rows = await fetch_rows(self._pool, NEWER, orgs=list(known), versions=list(known.values()))
        return {
            OrgId(row["org_id"]): StoredSettings(row["version"], decode_json(row["said"]))
            for row in rows
        }

    async def find(self, may: Filter) -> StoredSettings:
        query = filtered(TargetKind.SETTINGS, may[1], "find_settings_begin")
        row = await fetch_row(self._pool, query, **actor_parameters(may))
        return (
            NEVER_SET if row is None else StoredSettings(row["version"], decode_json(row["said"]))
        )

    async def put(
        self,
        may: Filter,
        values: JsonObject,
        audit: AuditEntry,
        *,
        expected: Collection[int] | None = None,
        stops: bool = False,
    ) -> int | None:
        row = await fetch_row(
            self._pool,
            counted_if(TargetKind.SETTINGS, may[1], "put_settings_begin", "put_settings_end"),
            **actor_parameters(may),
            **audit_parameters(audit),
            said=encode_json(values),
            expected=None if expected is None else list(expected),
            stops=stops,
        )
        return None if row is None else row["version"]
