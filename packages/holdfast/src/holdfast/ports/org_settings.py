"""Settings that admins change at run time: how they are stored, and how other code reads one."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeVar

from holdfast.domain.audit import AuditEntry
from holdfast.domain.ids import OrgId
from holdfast.domain.parts import JsonObject, JsonValue
from holdfast.domain.policy import Filter

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Current(Protocol[T_co]):
    """A handle for one setting: consumers hold it and look up its value whenever they need it."""

    def of(self, org_id: OrgId) -> T_co:
        """As this process knows it; from memory."""
        ...


@dataclass(frozen=True, slots=True)
class Fixed(Generic[T]):
    """The same value for every organisation, for as long as the process lives."""

    value: T

    def of(self, org_id: OrgId) -> T:  # noqa: ARG002
        return self.value


@dataclass(frozen=True, slots=True)
class StoredSettings:
    """A row, not decoded. `version` is 0 as long as nothing was ever set."""

    version: int
    values: JsonObject = field(default_factory=dict[str, JsonValue])


NEVER_SET: Final = StoredSettings(0)


class OrgSettingsStore(Protocol):
    """Every method is one statement."""

    async def newer(self, known: Mapping[OrgId, int]) -> Mapping[OrgId, StoredSettings]:
        """Those of every organisation whose version is not the one that is known."""
        ...

    async def find(self, may: Filter) -> StoredSettings: ...

    async def put(
        self,
        may: Filter,
        values: JsonObject,
        audit: AuditEntry,
        *,
        expected: Collection[int] | None = None,
        stops: bool = False,
    ) -> int | None:
        """The new version; None if the present one is not among the expected ones. `stops`: no
        attempt begins in a process that does not know this change."""
        ...
