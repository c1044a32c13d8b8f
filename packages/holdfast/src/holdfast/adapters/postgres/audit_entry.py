"""An entry of the audit log, as the parameters of whatever statement it rides on."""

from collections.abc import Mapping
from typing import Any, Final

from holdfast.adapters.postgres.codec import encode_json
from holdfast.domain.audit import AuditEntry

NO_AUDIT: Final[Mapping[str, None]] = dict.fromkeys(
    ("audit_org", "audit_at", "audit_actor", "audit_action", "audit_entry")
)


def audit_parameters(entry: AuditEntry) -> dict[str, Any]:
    return {
        "audit_org": entry.org_id,
        "audit_at": entry.at,
        "audit_actor": entry.actor_id,
        "audit_action": entry.action.value,
        "audit_entry": encode_entry(entry),
    }


def encode_entry(entry: AuditEntry) -> str:
    credential = entry.credential
    return encode_json(
        {
            "org_id": str(entry.org_id),
            "at": entry.at.isoformat(),
            "action": entry.action.value,
            "actor_id": None if entry.actor_id is None else str(entry.actor_id),
            "credential": None if credential is None else f"{credential.kind}:{credential.id}",
            "target_kind": None if entry.target_kind is None else entry.target_kind.value,
            "target_id": None if entry.target_id is None else str(entry.target_id),
            "address": entry.address,
            "detail": dict(entry.detail),
        }
    )
