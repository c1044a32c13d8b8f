"""What admins set while the server runs, in PostgreSQL."""

import logging
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any, Final

from holdfast.adapters.postgres.audit import audit_parameters, audited_if
from holdfast.adapters.postgres.codec import decode_json, encode_json
from holdfast.adapters.postgres.policy import actor_parameters, filtered
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.queries import load_query
from holdfast.adapters.postgres.store import fetch_row, fetch_rows
from holdfast.domain.approvals import Policy, Verdict, policy_from_json, policy_to_json
from holdfast.domain.audit import AuditEntry
from holdfast.domain.ids import OrgId
from holdfast.domain.org_settings import OrgSettings
from holdfast.domain.policy import Filter, TargetKind
from holdfast.ports.org_settings import NEVER_SET, Versioned

_LOG: Final = logging.getLogger(__name__)
NEWER: Final = load_query("newer_settings")


class PostgresOrgSettings:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def newer(self, known: Mapping[OrgId, int]) -> Mapping[OrgId, Versioned]:
        rows = await fetch_rows(self._pool, NEWER, orgs=list(known), versions=list(known.values()))
        return {
            OrgId(row["org_id"]): Versioned(row["version"], _settings(row["said"])) for row in rows
        }

    async def find(self, may: Filter) -> Versioned:
        query = filtered(TargetKind.SETTINGS, may[1], "find_settings_begin")
        row = await fetch_row(self._pool, query, **actor_parameters(may))
        return NEVER_SET if row is None else Versioned(row["version"], _settings(row["said"]))

    async def put(
        self,
        may: Filter,
        settings: OrgSettings,
        audit: AuditEntry,
        *,
        expected: Collection[int] | None = None,
    ) -> int | None:
        row = await fetch_row(
            self._pool,
            audited_if(TargetKind.SETTINGS, may[1], "put_settings_begin", "put_settings_end"),
            **actor_parameters(may),
            **audit_parameters(audit),
            said=encode_json(asdict(settings) | {"approvals": policy_to_json(settings.approvals)}),
            expected=None if expected is None else list(expected),
        )
        return None if row is None else row["version"]


def _settings(said: str) -> OrgSettings:
    """What this version does not know was set by one before or after it, and stays unread."""
    given: dict[str, Any] = decode_json(said)
    known: dict[str, Any] = {name: given[name] for name in OrgSettings.__slots__ if name in given}
    if known.get("allowed_models") is not None:
        known["allowed_models"] = tuple(known["allowed_models"])
    if "approvals" in known:
        known["approvals"] = _policy(known["approvals"])
    return OrgSettings(**known)


def _policy(stored: dict[str, Any]) -> Policy:
    """Rules of a version that knows more than this one: nothing is run unapproved."""
    try:
        return policy_from_json(stored)
    except (KeyError, TypeError, ValueError) as error:
        _LOG.warning(
            "settings: approval rules cannot be read; every call needs approval: %s",
            error,
        )
        return Policy(default=Verdict.ASK)
