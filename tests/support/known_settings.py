"""The settings of one process: what admins have forbidden, and how much of it the process knows."""

from datetime import UTC, datetime
from typing import Final

from holdfast.adapters.postgres.generation import newest_generation
from holdfast.adapters.postgres.org_settings import PostgresOrgSettings
from holdfast.adapters.postgres.pool import Pool
from holdfast.domain.audit import AuditAction, AuditEntry
from holdfast.domain.policy import Action, OrgRole, TargetKind, rule_for
from tests.support.builders import ORG, OWNER
from tests.support.identity import principal

ADMIN: Final = principal(ORG, OWNER, OrgRole.ADMIN)


class KnownSettings:
    """A `SettingsGeneration` that learns nothing by itself: no hint comes, and nothing is looked at
    that statements return. Only the fence is left."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.applied = 0
        self.refreshes = 0
        self.stops = 0
        """Hard stops that are committed."""
        self.known = 0
        """Those of them that this process has read."""

    def saw(self, generation: int) -> None:
        pass

    async def catch_up(self) -> None:
        pass

    async def refresh(self) -> None:
        self.refreshes += 1
        self.applied = await newest_generation(self._pool)
        self.known = self.stops

    async def change(self, *, stops: bool = True) -> None:
        """By an admin of the organisation, in another process."""
        entry = AuditEntry(
            org_id=ORG,
            at=datetime.now(UTC),
            action=AuditAction.SETTINGS_CHANGED,
            actor_id=OWNER,
        )
        may = rule_for(ADMIN, Action.CHANGE, TargetKind.SETTINGS)
        rows = PostgresOrgSettings(self._pool)
        assert await rows.put(may, {"allowed_models": []}, entry, stops=stops) is not None
        self.stops += stops
