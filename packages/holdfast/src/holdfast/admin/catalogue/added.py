"""What admins have added, as this process knows it, and the models that follow from it.

    change ──▶ database ──▶ hint ──▶ every process reads the catalogue whose version differs
                             └─ lost: the next poll finds it

The hints are those of settings. A look costs nothing: a turn pays no statement for added models.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import orjson

from holdfast.admin.secrets.vault import Vault
from holdfast.domain.errors import SecretUnreadable, Unavailable
from holdfast.domain.ids import OrgId
from holdfast.domain.parts import JsonObject
from holdfast.domain.secrets import PROVIDER_CREDENTIAL
from holdfast.ports.bus import Gap, SettingsBus, SettingsHint
from holdfast.ports.catalogue import (
    CatalogueStore,
    ModelRow,
    ModelState,
    OrgCatalogue,
    ProviderRow,
)

if TYPE_CHECKING:
    from uuid import UUID

_LOG: Final = logging.getLogger(__name__)

_REASONS: Final[Mapping[ModelState, str]] = {
    ModelState.DISABLED: "An admin has disabled it.",
    ModelState.PROVIDER_DISABLED: "An admin has disabled its provider.",
    ModelState.NO_KEY: "Its provider has no key.",
    ModelState.KEY_UNREADABLE: "The key of its provider cannot be read on this server.",
    ModelState.WRONG_SETTINGS: "Its settings, or those of its provider, are wrong.",
}


@dataclass(frozen=True, slots=True)
class OpenedProvider:
    """`secrets`: None if they cannot be read."""

    row: ProviderRow
    secrets: JsonObject | None


@dataclass(frozen=True, slots=True)
class AddedModel:
    row: ModelRow
    provider: OpenedProvider


class ModelBuilder(Protocol):
    """What becomes of rows; the composition root knows providers and settings."""

    @property
    def has_file_models(self) -> bool:
        """Whether the models file has models: one of them is the default then."""
        ...

    @property
    def file_models(self) -> Sequence[str]:
        """Their names, the default first."""
        ...

    def build(self, models: Sequence[AddedModel]) -> Mapping[str, ModelState]:
        """Replace the added models of this process by those that can answer. The state of each."""
        ...

    def check_provider(self, name: str, record: JsonObject, secrets: JsonObject) -> None:
        """`ValueError` says what is wrong, without quoting a secret."""
        ...

    def check_model(self, row: ModelRow, provider: OpenedProvider) -> None:
        """`ValueError` says what is wrong. `NameTaken`: the models file has such a model."""
        ...

    def host_of(self, record: JsonObject) -> str:
        """Changes whenever secrets would be sent elsewhere."""
        ...


class AddedCatalogue:
    """One per process. `poll_every_s`: how late a change is noticed whose hint was lost."""

    def __init__(
        self,
        store: CatalogueStore,
        vault: Vault,
        bus: SettingsBus,
        builder: ModelBuilder,
        *,
        poll_every_s: float,
    ) -> None:
        self.store = store
        self.vault = vault
        self.builder = builder
        self._bus = bus
        self._poll_every_s = poll_every_s
        self._known: dict[OrgId, OrgCatalogue] = {}
        self._states: Mapping[str, ModelState] = {}
        self._owners: Mapping[str, OrgId] = {}
        self._reading = asyncio.Lock()

    # What others ask; from memory.

    def default_of(self, org_id: OrgId) -> str | None:
        known = self._known.get(org_id)
        rows = () if known is None else known.models
        return next((row.name for row in rows if row.is_default), None)

    def sees(self, org_id: OrgId, model: str) -> bool:
        """Whether the model is the organisation's own, or of the models file."""
        return self._owners.get(model, org_id) == org_id

    def state(self, model: str) -> ModelState:
        return self._states.get(model, ModelState.AVAILABLE)

    def refusal(self, org_id: OrgId, model: str | None) -> str | None:
        if model is None:
            # The server's default. Without a models file it would be any organisation's model.
            if self.builder.has_file_models or not self._owners:
                return None
            return "No model is chosen, and there is no default. Choose one."
        if not self.sees(org_id, model):
            return f"The model {model[:100]!r} is not configured here. Choose another one."
        reason = _REASONS.get(self.state(model))
        if reason is None:
            return None
        return f"The model {model[:100]!r} is not available. {reason} Choose another one."

    # Keeping up.

    async def read(self) -> None:
        """Read the catalogues that differ from what is known. One statement if there are none."""
        async with self._reading:
            known = {org_id: each.version for org_id, each in self._known.items()}
            newer = await self.store.newer(known)
            if not newer:
                return
            for org_id, version in newer.items():
                self._known[org_id] = await self.store.find(org_id, version)
            await self._rebuild()

    async def changed(self, org_id: OrgId) -> None:
        """Apply a change here at once, and announce it to the other processes."""
        await self.read()
        known = self._known.get(org_id, OrgCatalogue())
        await self._bus.announce_settings(SettingsHint(org_id, known.version))

    async def opened(self, row: ProviderRow) -> OpenedProvider:
        if row.credential is None:
            return OpenedProvider(row, {})
        place = PROVIDER_CREDENTIAL.place(row.org_id, row.id)
        try:
            plain = await self.vault.open(place, row.credential)
        except SecretUnreadable:
            _LOG.warning("secrets: the key of a provider cannot be read: %s", row.name)
            return OpenedProvider(row, None)
        return OpenedProvider(row, orjson.loads(plain))

    async def _rebuild(self) -> None:
        added: list[AddedModel] = []
        for each in self._known.values():
            providers: dict[UUID, OpenedProvider] = {}
            for row in each.providers:
                providers[row.id] = await self.opened(row)
            # A model whose provider was added between the two statements comes with the next read.
            found = [row for row in each.models if row.provider_id in providers]
            added += [AddedModel(row, providers[row.provider_id]) for row in found]
        self._owners = {each.row.name: each.row.org_id for each in added}
        self._states = self.builder.build(added)

    async def keep(self) -> None:
        """Read on every hint, and on every poll, as long as the process lives."""
        async with self._bus.subscribe_settings() as hints:
            while await self._wait(hints):
                try:
                    await self.read()
                except Unavailable as error:
                    _LOG.warning("models: added models could not be read: %s", error)

    async def _wait(self, hints: AsyncIterator[SettingsHint | Gap]) -> bool:
        """Until there is a reason to read; False: the bus is closed."""
        try:
            async with asyncio.timeout(self._poll_every_s):
                await anext(hints)
        except TimeoutError:
            pass
        except StopAsyncIteration:
            return False
        return True
