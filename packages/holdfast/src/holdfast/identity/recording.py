"""What the audit log is told."""

from uuid import UUID

from holdfast.domain.audit import AuditAction, AuditEntry, Detail
from holdfast.domain.policy import Principal, TargetKind
from holdfast.ports.clock import Clock


def entry_by(
    who: Principal,
    clock: Clock,
    action: AuditAction,
    target: tuple[TargetKind, UUID],
    detail: Detail | None = None,
    *,
    address: str | None = None,
) -> AuditEntry:
    return AuditEntry(
        org_id=who.org_id,
        at=clock.now(),
        action=action,
        actor_id=who.user_id,
        credential=who.credential,
        target_kind=target[0],
        target_id=target[1],
        address=address,
        detail=detail or {},
    )
