"""Settings that admins change at run time: how they are stored, and how other code reads them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from holdfast.domain.audit import AuditEntry
from holdfast.domain.ids import OrgId
from holdfast.domain.org_settings import UNSET, OrgSettings
from holdfast.domain.policy import Filter


@dataclass(frozen=True, slots=True)
class Versioned:
    """`version` is 0 as long as nothing was ever set."""

    version: int
    settings: OrgSettings


NEVER_SET: Final = Versioned(0, UNSET)


class OrgSettingsStore(Protocol):
    """Every method is one statement."""

    async def newer(self, known: Mapping[OrgId, int]) -> Mapping[OrgId, Versioned]:
        """Those of every organisation whose version is not the one that is known."""
        ...

    async def find(self, may: Filter) -> Versioned: ...

    async def put(
        self,
        may: Filter,
        settings: OrgSettings,
        audit: AuditEntry,
        *,
        expected: Collection[int] | None = None,
    ) -> int | None:
        """The new version; None if the present one is not among the expected ones."""
        ...


class CurrentSettings(Protocol):
    def of(self, org_id: OrgId) -> OrgSettings:
        """As this process knows them: at most as old as a hint takes, or a poll. Costs nothing."""
        ...


class NothingSet:
    """Where there are no admins: in a simulation, or in a test."""

    def of(self, org_id: OrgId) -> OrgSettings:  # noqa: ARG002
        return UNSET
