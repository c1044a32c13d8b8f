"""What admins have set, as this process knows it: held in memory, so that a look costs nothing.

When it is read again: see `holdfast.admin.generation`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from holdfast.admin.registry import Registry, Setting, SettingScope, SettingValues
from holdfast.admin.settings import SETTINGS
from holdfast.domain.ids import OrgId
from holdfast.ports.bus import SettingsBus, SettingsHint
from holdfast.ports.org_settings import Current, Fixed, OrgSettingsStore, StoredSettings

T = TypeVar("T")


class CurrentSettings(Protocol):
    def current(self, setting: Setting[T]) -> Current[T]:
        """A handle for consumers: its value is at most as old as a hint takes, or a poll."""
        ...


class NothingSet:
    """Where there are no admins: in a simulation, or in a test."""

    def current(self, setting: Setting[T]) -> Current[T]:
        return Fixed(setting.default)


@dataclass(frozen=True, slots=True)
class OrgSettings:
    """What an organisation sets. `version` is 0 as long as nothing was ever set."""

    version: int
    values: SettingValues


@dataclass(slots=True)
class SettingsCounters:
    reads: int = 0


@dataclass(frozen=True, slots=True)
class _Handle(Generic[T]):
    setting: Setting[T]
    known: Mapping[OrgId, OrgSettings]
    """The cache's own: it changes with every read."""

    def of(self, org_id: OrgId) -> T:
        known = self.known.get(org_id)
        return self.setting.default if known is None else known.values.of(self.setting)


class SettingsCache:
    """One per process."""

    def __init__(
        self, store: OrgSettingsStore, bus: SettingsBus, registry: Registry = SETTINGS
    ) -> None:
        self.store = store
        self.registry = registry
        self.counters = SettingsCounters()
        self._bus = bus
        self._known: dict[OrgId, OrgSettings] = {}

    def current(self, setting: Setting[T]) -> Current[T]:
        return _Handle(setting, self._known)

    def decode(self, stored: StoredSettings) -> OrgSettings:
        values = self.registry.decode(SettingScope.ORGANISATION, stored.values)
        return OrgSettings(stored.version, values)

    async def read(self) -> None:
        """Read what is newer than what is known. One statement for all organisations."""
        self.counters.reads += 1
        known = {org_id: each.version for org_id, each in self._known.items()}
        for org_id, found in (await self.store.newer(known)).items():
            self._take(org_id, self.decode(found))

    async def changed(self, org_id: OrgId, now: OrgSettings) -> None:
        """Apply a change here at once, and announce it to the other processes."""
        self._take(org_id, now)
        await self._bus.announce_settings(SettingsHint(org_id, now.version))

    def _take(self, org_id: OrgId, found: OrgSettings) -> None:
        known = self._known.get(org_id)
        if known is None or known.version < found.version:  # answers may overtake one another
            self._known[org_id] = found
