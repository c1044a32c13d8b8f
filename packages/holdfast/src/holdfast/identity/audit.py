"""Reading the audit log, and checking that it was not tampered with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import orjson

from holdfast.domain.audit import EMPTY, AuditHead, AuditRow, Tampering, check_row
from holdfast.domain.ids import OrgId
from holdfast.domain.policy import Action, Principal, TargetKind, rule_for
from holdfast.ports.identity import AuditFilter, AuditLog

ROWS_AT_ONCE: Final = 1_000
PAGE_MAX: Final = 200
LOOKS_MAX: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """An entry, to be read by people."""

    seq: int
    at: datetime
    action: str
    actor_id: UUID | None
    credential: str | None
    target_kind: str | None
    target_id: str | None
    address: str | None
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AuditPage:
    """`before_seq`: where the next page begins; None: this is the last one."""

    records: Sequence[AuditRecord]
    before_seq: int | None


async def page(
    log: AuditLog,
    who: Principal,
    wanted: AuditFilter | None = None,
    *,
    limit: int = 50,
    before_seq: int | None = None,
    looks_max: int = LOOKS_MAX,
) -> AuditPage:
    """What was done in the organisation, newest first; for its admins. With a filter, a page looks
    at `looks_max` entries at most: it may have few entries, or none, and another page follows."""
    assert 1 <= limit <= PAGE_MAX
    may = rule_for(who, Action.READ, TargetKind.AUDIT)
    wanted = wanted or AuditFilter()
    from_seq = 0
    if not wanted.is_empty:
        head = (await log.head(who.org_id)).seq + 1
        before_seq = head if before_seq is None else min(before_seq, head)
        from_seq = max(0, before_seq - looks_max)
    rows = await log.newest(may, wanted, limit=limit + 1, before_seq=before_seq, from_seq=from_seq)
    records = [_told(row) for row in rows[:limit]]
    if len(rows) > limit:
        return AuditPage(records, records[-1].seq)
    return AuditPage(records, from_seq if from_seq > 1 else None)


async def anchor(log: AuditLog, org_id: OrgId) -> AuditHead:
    """The end of the chain: print it somewhere that the database's owner cannot rewrite."""
    return await log.head(org_id)


async def verify(
    log: AuditLog, org_id: OrgId, *, known: AuditHead | None = None
) -> Tampering | AuditHead:
    """The head, if every entry up to it is as it was written; else the first that is not.

    `known`: an anchor of old, which must still lie on the chain.
    """
    head = await log.head(org_id)  # first: what is appended meanwhile lies behind it
    reached = EMPTY
    while reached.seq < head.seq:
        rows = await log.rows(org_id, after_seq=reached.seq, limit=ROWS_AT_ONCE)
        if not rows:
            return Tampering(reached.seq + 1, "removed")
        for row in rows:
            checked = _check(reached, row)
            if isinstance(checked, Tampering):
                return checked
            reached = checked
            if known is not None and known.seq == reached.seq and known != reached:
                return Tampering(reached.seq, "rewritten")
            if reached.seq == head.seq:
                break
    if reached != head:
        return Tampering(reached.seq, "rewritten")
    if known is not None and known.seq > head.seq:
        return Tampering(head.seq + 1, "removed")
    return head


def _check(reached: AuditHead, row: AuditRow) -> AuditHead | Tampering:
    checked = check_row(reached, row)
    if isinstance(checked, Tampering):
        return checked
    told = _told(row)
    entry = orjson.loads(row.entry)
    actor = None if row.actor_id is None else str(row.actor_id)
    same = (told.at.isoformat(), row.action, actor) == (
        datetime.fromisoformat(entry["at"]).astimezone(row.at.tzinfo).isoformat(),
        entry["action"],
        entry["actor_id"],
    )
    return checked if same else Tampering(row.seq, "altered")


def _told(row: AuditRow) -> AuditRecord:
    entry: dict[str, Any] = orjson.loads(row.entry)
    return AuditRecord(
        seq=row.seq,
        at=row.at,
        action=row.action,
        actor_id=row.actor_id,
        credential=entry["credential"],
        target_kind=entry["target_kind"],
        target_id=entry["target_id"],
        address=entry["address"],
        detail=entry["detail"],
    )
