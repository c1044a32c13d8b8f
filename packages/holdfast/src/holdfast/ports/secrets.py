"""Where data keys and sealed columns are stored. Only ciphertexts pass through here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from holdfast.domain.audit import AuditEntry
from holdfast.domain.ids import OrgId
from holdfast.domain.secrets import SecretColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class DataKey:
    """A key of an organisation. `wrapped`: a ciphertext by the master key that it names."""

    id: UUID
    org_id: OrgId
    wrapped: bytes
    is_current: bool = True
    sealed: int = 0
    """How many ciphertexts were made with it."""


@dataclass(frozen=True, slots=True)
class SealedRow:
    id: UUID
    org_id: OrgId
    blob: bytes
    is_current: bool
    """Whether it is sealed with the organisation's current key."""


@dataclass(frozen=True, slots=True)
class ResealedRow:
    id: UUID
    old: bytes
    new: bytes
    key_id: UUID


class SecretStore(Protocol):
    """Every method is one statement."""

    async def current_master(self) -> bytes | None:
        """The id of the master key that this database belongs to."""
        ...

    async def register_master(self, master_id: bytes) -> bytes:
        """Make it the current one if there is none. The one that is current then."""
        ...

    async def switch_master(self, master_id: bytes) -> None: ...

    async def forget_masters(self) -> None:
        """Those that wrap no key any more, but for the current one."""
        ...

    async def key_for(self, org_id: OrgId, *, seals: int) -> DataKey | None:
        """The current key, about to seal so many texts."""
        ...

    async def find_key(self, key_id: UUID) -> DataKey | None: ...

    async def keys(self, *, after: UUID, limit: int) -> Sequence[DataKey]:
        """In the order of their ids."""
        ...

    async def add_key(self, key: DataKey, audit: AuditEntry, *, replaces: UUID | None) -> bool:
        """As the current one. False: another master key or another data key became current."""
        ...

    async def rewrap(self, key: DataKey, wrapped: bytes) -> bool:
        """False: it was wrapped anew meanwhile."""
        ...

    async def remove_key(self, key_id: UUID, audit: AuditEntry) -> bool:
        """False: it is the current one, or secrets need it."""
        ...

    async def sealed_columns(self) -> Sequence[SecretColumn]:
        """Every sealed column that the database has."""
        ...

    async def rows(
        self, column: SecretColumn, *, after: UUID, limit: int, outdated: bool
    ) -> Sequence[SealedRow]:
        """In the order of their ids. `outdated`: only those under a key that is not current."""
        ...

    async def reseal(self, column: SecretColumn, rows: Sequence[ResealedRow]) -> int:
        """How many of them still were as they had been read."""
        ...
