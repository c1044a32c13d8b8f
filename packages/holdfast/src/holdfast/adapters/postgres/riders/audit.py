"""An entry of the audit log, as a rider of a commit."""

from collections.abc import Sequence
from typing import Any, Final

from holdfast.adapters.postgres.audit_entry import NO_AUDIT, audit_parameters
from holdfast.adapters.postgres.queries import load_query
from holdfast.adapters.postgres.riders.statement import RiderStatement
from holdfast.domain.audit import AuditEntry

_BLOCK: Final = """
, changed as (select from moved where :audit_org::uuid is not null)
"""
"""What the entry is about, for `audit_append`."""


def _parameters(entries: Sequence[AuditEntry]) -> dict[str, Any]:
    # Each entry has the hash of the one before it, which one insert of several rows cannot compute.
    assert len(entries) <= 1, "a commit carries one audit entry at most"
    return audit_parameters(entries[0]) if entries else dict(NO_AUDIT)


AUDIT: Final = RiderStatement(
    block=_BLOCK + load_query("audit_append").source,
    parameters=_parameters,
    alone=True,  # the entries of an organisation follow one another: its head is locked
)
