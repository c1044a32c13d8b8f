"""Providers and models that admins add while the server runs: how they are stored, and what the
rest of the server asks about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from holdfast.domain.audit import AuditEntry
from holdfast.domain.ids import OrgId
from holdfast.domain.parts import JsonObject


class ModelState(StrEnum):
    """Whether a model can answer, and if not, why."""

    AVAILABLE = "available"
    DISABLED = "disabled"
    PROVIDER_DISABLED = "provider_disabled"
    NO_KEY = "no_key"
    KEY_UNREADABLE = "key_unreadable"
    WRONG_SETTINGS = "wrong_settings"
    NAME_IN_FILE = "name_in_file"
    """The models file has a model of this name, which counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRow:
    """`record`: without secrets. `credential`: all its secrets, sealed."""

    id: UUID
    org_id: OrgId
    name: str
    is_enabled: bool
    record: JsonObject
    credential: bytes | None
    about: JsonObject | None
    """What may be shown of the credential."""
    user_keys: bool = False
    """Whether users may store keys of their own."""
    version: int = 1
    created_at: datetime | None = None
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    id: UUID
    org_id: OrgId
    provider_id: UUID
    name: str
    is_enabled: bool
    is_default: bool
    record: JsonObject
    version: int = 1
    created_at: datetime | None = None
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class OrgCatalogue:
    version: int = 0
    providers: Sequence[ProviderRow] = ()
    models: Sequence[ModelRow] = ()

    def provider(self, provider_id: UUID) -> ProviderRow | None:
        return next((row for row in self.providers if row.id == provider_id), None)

    def model(self, model_id: UUID) -> ModelRow | None:
        return next((row for row in self.models if row.id == model_id), None)


@dataclass(frozen=True, slots=True)
class TriedModel:
    """What came of asking a model for one word. `failure` None: it answered."""

    took_s: float
    failure: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedModel:
    """A model of a provider's list. None: the list does not say."""

    id: str
    context_window: int | None = None
    output_max: int | None = None
    images: bool | None = None
    documents: bool | None = None


@dataclass(frozen=True, slots=True)
class PublishedList:
    """What a provider's list of models has. `failure`: why there is none, with the provider's own
    words."""

    models: Sequence[PublishedModel]
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class VendorCard:
    """A vendor that this server can speak to. `values`: names of the values that its address needs;
    `base_url`: empty if one must be given."""

    name: str
    title: str
    base_url: str
    values: Sequence[str]


class CatalogueStore(Protocol):
    """Writes raise `NameTaken`, and compare the version of the row. False: it has another one."""

    async def newer(self, known: Mapping[OrgId, int]) -> Mapping[OrgId, int]:
        """The versions that differ from what is known. One statement."""
        ...

    async def find(self, org_id: OrgId, version: int = 0) -> OrgCatalogue: ...

    async def add_provider(self, row: ProviderRow, audit: AuditEntry) -> bool: ...

    async def change_provider(
        self, row: ProviderRow, audit: AuditEntry, *, has_moved: bool = False
    ) -> bool:
        """`has_moved`: to another host; then the keys of users are removed with it."""
        ...

    async def remove_provider(self, row: ProviderRow, audit: AuditEntry) -> bool:
        """And its models."""
        ...

    async def add_model(self, row: ModelRow, audit: AuditEntry) -> bool: ...

    async def change_model(self, row: ModelRow, audit: AuditEntry) -> bool: ...

    async def remove_model(self, row: ModelRow, audit: AuditEntry) -> bool: ...


class AddedModels(Protocol):
    """What this process knows of the models that admins added; from memory."""

    def default_of(self, org_id: OrgId) -> str | None:
        """The organisation's own default among them."""
        ...

    def refusal(self, org_id: OrgId, model: str | None) -> str | None:
        """Why chats of the organisation cannot use a model now: a sentence. None: they can, or the
        model is not among the added ones."""
        ...


class NoAddedModels:
    """Where there are no admins: in a simulation, or in a test."""

    def default_of(self, org_id: OrgId) -> str | None:  # noqa: ARG002
        return None

    def refusal(self, org_id: OrgId, model: str | None) -> str | None:  # noqa: ARG002
        return None
