"""Keys of users for providers that admins added: how they are stored."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID, uuid5

from holdfast.domain.audit import AuditEntry
from holdfast.domain.ids import OrgId, UserId
from holdfast.domain.parts import JsonObject
from holdfast.domain.secrets import USER_KEY, SecretPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class UserKeyRow:
    org_id: OrgId
    user_id: UserId
    provider_id: UUID
    credential: bytes = field(repr=False)

    @property
    def id(self) -> UUID:
        return user_key_place(self.org_id, self.provider_id, self.user_id).row


def user_key_place(org_id: OrgId, provider_id: UUID, user_id: UserId) -> SecretPlace:
    """Its row follows from the provider and the user: another user's key cannot be opened in it."""
    return USER_KEY.place(org_id, uuid5(provider_id, user_id.hex))


@dataclass(frozen=True, slots=True, kw_only=True)
class UserKeyProvider:
    """A provider, as a user sees it who may have a key for it. `set_at` None: there is no key."""

    provider_id: UUID
    name: str
    record: JsonObject
    is_allowed: bool
    set_at: datetime | None


class UserKeyStore(Protocol):
    async def user_keys(self, org_id: OrgId) -> Sequence[UserKeyRow]:
        """Those that may be used: of providers that allow them."""
        ...

    async def user_key_providers(
        self, org_id: OrgId, user_id: UserId
    ) -> Sequence[UserKeyProvider]: ...

    async def set_user_key(self, row: UserKeyRow, audit: AuditEntry) -> bool:
        """False: the provider is gone, or does not allow it."""
        ...

    async def remove_user_key(
        self, org_id: OrgId, provider_id: UUID, user_id: UserId, audit: AuditEntry
    ) -> bool:
        """False: there is none."""
        ...
