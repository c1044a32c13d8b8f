"""The audit log in PostgreSQL: each entry is one statement with the change that it is about."""

from collections.abc import Sequence
from functools import cache
from typing import Final

from holdfast.adapters.postgres.audit_entry import audit_parameters
from holdfast.adapters.postgres.codec import escape
from holdfast.adapters.postgres.numbers import VERSION_MAX
from holdfast.adapters.postgres.policy import actor_parameters, filtered
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.queries import Query, load_query
from holdfast.adapters.postgres.rows import RowLike
from holdfast.adapters.postgres.store import fetch_row, fetch_rows
from holdfast.domain.audit import EMPTY, AuditEntry, AuditHead, AuditRow
from holdfast.domain.ids import OrgId
from holdfast.domain.policy import AccessRule, Filter, TargetKind
from holdfast.ports.identity import AuditFilter

ROWS: Final = load_query("audit_rows")
HEAD: Final = load_query("audit_head_of")
ORGANISATIONS: Final = load_query("audit_organisations")


@cache
def audited(begin: str, end: str = "audit_select") -> Query:
    """A change, and its entry in the log."""
    return load_query(begin, "audit_append", end)


@cache
def audited_if(
    kind: TargetKind, rule: AccessRule, begin: str, end: str, select: str = "audit_select"
) -> Query:
    """A change of what the rule allows to be changed, and its entry in the log."""
    return filtered(kind, rule, begin, end, "audit_append", select)


class PostgresAuditLog:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def append(self, entry: AuditEntry) -> None:
        await fetch_row(self._pool, audited("audit_alone_begin"), **audit_parameters(entry))

    async def rows(self, org_id: OrgId, *, after_seq: int, limit: int) -> Sequence[AuditRow]:
        rows = await fetch_rows(
            self._pool, ROWS, org_id=org_id, after_seq=min(after_seq, VERSION_MAX), limit=limit
        )
        return [_audit_row(row) for row in rows]

    async def newest(
        self,
        may: Filter,
        wanted: AuditFilter,
        *,
        limit: int,
        before_seq: int | None = None,
        from_seq: int = 0,
    ) -> Sequence[AuditRow]:
        rows = await fetch_rows(
            self._pool,
            filtered(TargetKind.AUDIT, may[1], "audit_newest_begin", "audit_newest_end"),
            **actor_parameters(may),
            before_seq=VERSION_MAX if before_seq is None else min(before_seq, VERSION_MAX),
            from_seq=from_seq,
            by=wanted.actor_id,
            done=None if wanted.action is None else escape(wanted.action),
            target=None if wanted.target_id is None else str(wanted.target_id),
            since=wanted.since,
            until=wanted.until,
            limit=limit,
        )
        return [_audit_row(row) for row in rows]

    async def organisations(self) -> Sequence[OrgId]:
        """Those that have a log, and those that should."""
        return [OrgId(row["org_id"]) for row in await fetch_rows(self._pool, ORGANISATIONS)]

    async def head(self, org_id: OrgId) -> AuditHead:
        row = await fetch_row(self._pool, HEAD, org_id=org_id)
        return EMPTY if row is None else AuditHead(row["seq"], row["hash"])


def _audit_row(row: RowLike) -> AuditRow:
    return AuditRow(
        seq=row["seq"],
        at=row["at"],
        action=row["action"],
        actor_id=row["actor_id"],
        entry=row["entry"],
        hash=row["hash"],
    )
