"""What admins have added, as this process knows it, and the models that follow from it.

When it is read again: see `holdfast.admin.generation`. A look costs nothing: a turn pays no
statement for added models.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

import orjson

from holdfast.admin.secrets.vault import Vault
from holdfast.domain.errors import SecretUnreadable
from holdfast.domain.ids import OrgId, UserId
from holdfast.domain.parts import JsonObject
from holdfast.domain.secrets import PROVIDER_CREDENTIAL
from holdfast.ports.bus import SettingsBus, SettingsHint
from holdfast.ports.catalogue import (
    CatalogueStore,
    ModelRow,
    ModelState,
    OrgCatalogue,
    ProviderRow,
)
from holdfast.ports.user_keys import UserKeyRow, UserKeyStore, user_key_place

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
    user_keys: Mapping[UserId, str] = field(default_factory=dict[UserId, str], repr=False)
    """Keys of users, for the attempts of their own chats."""


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
    """One per process."""

    def __init__(
        self,
        store: CatalogueStore,
        user_key_store: UserKeyStore,
        vault: Vault,
        bus: SettingsBus,
        builder: ModelBuilder,
    ) -> None:
        self.store = store
        self.user_key_store = user_key_store
        self.vault = vault
        self.builder = builder
        self._bus = bus
        self._known: dict[OrgId, OrgCatalogue] = {}
        self._user_keys: dict[OrgId, Sequence[UserKeyRow]] = {}
        self._opened_user_keys: dict[UserKeyRow, JsonObject] = {}
        """A change opens only what is new. By the whole row: a ciphertext that was moved to another
        one must not be found."""
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
                found = await self.store.find(org_id, version)
                self._user_keys[org_id] = await self.user_key_store.user_keys(org_id)
                self._known[org_id] = found
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

    def _keys_at(
        self, row: ProviderRow, found: Mapping[UserId, JsonObject]
    ) -> Mapping[UserId, str]:
        """Of a provider, for the host that they were entered for."""
        if not row.user_keys or not found:
            return {}
        host = self.builder.host_of(row.record)
        return {user: str(each["key"]) for user, each in found.items() if each["host"] == host}

    async def _open_user_keys(self) -> Mapping["UUID", Mapping[UserId, JsonObject]]:
        """By provider and user. One that cannot be read is left out: the provider's is used."""
        opened: dict[UserKeyRow, JsonObject] = {}
        found: dict[UUID, dict[UserId, JsonObject]] = {}
        for row in (row for rows in self._user_keys.values() for row in rows):
            plain = self._opened_user_keys.get(row)
            if plain is None:
                place = user_key_place(row.org_id, row.provider_id, row.user_id)
                try:
                    plain = orjson.loads(await self.vault.open(place, row.credential))
                except SecretUnreadable:
                    _LOG.warning("secrets: the key of a user cannot be read: %s", row.user_id)
                    continue
            opened[row] = plain
            found.setdefault(row.provider_id, {})[row.user_id] = plain
        self._opened_user_keys = opened
        return found

    async def _rebuild(self) -> None:
        added: list[AddedModel] = []
        user_keys = await self._open_user_keys()
        for each in self._known.values():
            providers: dict[UUID, OpenedProvider] = {}
            for row in each.providers:
                own = self._keys_at(row, user_keys.get(row.id, {}))
                providers[row.id] = replace(await self.opened(row), user_keys=own)
            # A model whose provider was added between the two statements comes with the next read.
            found = [row for row in each.models if row.provider_id in providers]
            added += [AddedModel(row, providers[row.provider_id]) for row in found]
        self._owners = {each.row.name: each.row.org_id for each in added}
        self._states = self.builder.build(added)
