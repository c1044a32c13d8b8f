"""Seals and opens secrets with the data keys of organisations."""

import logging
from collections.abc import Callable
from typing import Final
from uuid import UUID

from holdfast.admin.secrets.sealing import (
    CannotOpen,
    MasterKeys,
    new_data_key,
    new_key_id,
    open_sealed,
    seal,
    unwrap,
    wrap,
)
from holdfast.domain.audit import AuditAction, AuditEntry
from holdfast.domain.errors import HoldfastError, SecretsOff, SecretUnreadable, Unavailable
from holdfast.domain.ids import OrgId
from holdfast.domain.secrets import Sealed, SecretPlace
from holdfast.ports.clock import Clock
from holdfast.ports.secrets import DataKey, SecretStore

SEALS_MAX: Final = 2**31
"""With one key. Random nonces of 96 bits are safe for 2³² messages."""
KEY_TRIES_MAX: Final = 5
_LOG: Final = logging.getLogger(__name__)


class WrongMasterKey(HoldfastError):
    """This process has another master key than the database belongs to."""


class Vault:
    """One per process. Data keys never change, so that those in memory stay valid.

    `learn` is told every secret that was opened or sealed here, so that logs hide it.
    """

    def __init__(
        self,
        store: SecretStore,
        clock: Clock,
        masters: MasterKeys | None,
        learn: Callable[[str], None],
    ) -> None:
        self.store = store
        self.clock = clock
        self.masters = masters
        self._learn = learn
        self._keys: dict[UUID, bytes] = {}

    @property
    def is_on(self) -> bool:
        return self.masters is not None

    async def start(self) -> None:
        """Raises `WrongMasterKey`. Without a master key the server starts, and says what is off."""
        if self.masters is None:
            if await self.store.current_master() is not None:
                _LOG.warning(
                    "secrets: no master key is set; stored secrets cannot be read, and features"
                    " that need them are off"
                )
            return
        current = await self.store.register_master(self.masters.first.id)
        if current not in self.masters.by_id:
            raise WrongMasterKey(
                "The secrets of this database are sealed under another master key"
                f" ({current.hex()}) than those of this process"
                f" ({', '.join(key.id.hex() for key in self.masters.keys)}). All servers of a"
                " database need the same master key. See docs/how-to/secrets.md."
            )

    async def seal(self, place: SecretPlace, plain: str) -> bytes:
        """Raises `SecretsOff` without a master key."""
        key = await self.key_for(place.org_id, seals=1)
        self._learn(plain)
        return await self.seal_with(key, place, plain)

    async def seal_with(self, key: DataKey, place: SecretPlace, plain: str) -> bytes:
        return seal(key.id.bytes, self._unwrapped(key), place, plain.encode())

    async def open(self, place: SecretPlace, blob: bytes) -> str:
        """Raises `SecretUnreadable`."""
        if self.masters is None:
            raise SecretUnreadable
        try:
            sealed = Sealed.decode(blob)
            key_id = UUID(bytes=sealed.key_id)
            key = self._keys.get(key_id)
            if key is None:
                stored = await self.store.find_key(key_id)
                if stored is None or stored.org_id != place.org_id:
                    raise SecretUnreadable
                key = self._unwrapped(stored)
            plain = open_sealed(key, place, sealed).decode()
        except (CannotOpen, ValueError):
            raise SecretUnreadable from None
        self._learn(plain)
        return plain

    async def key_for(self, org_id: OrgId, *, seals: int) -> DataKey:
        """The current data key of the organisation, made if there is none or if it is used up."""
        for _ in range(KEY_TRIES_MAX):
            key = await self.store.key_for(org_id, seals=seals)
            if key is not None and key.sealed <= SEALS_MAX:
                return key
            await self.add_key(org_id, replaces=None if key is None else key.id)
        raise Unavailable("the organisation's data key changes all the time")

    async def add_key(self, org_id: OrgId, *, replaces: UUID | None) -> bool:
        """False: another key became the current one first. Wrapped by the database's current master
        key, not by the first of ours: servers that lack our first one must be able to read it."""
        if self.masters is None:
            raise SecretsOff
        current = await self.store.register_master(self.masters.first.id)
        master = self.masters.by_id.get(current)
        if master is None:
            raise SecretsOff
        key_id = new_key_id()
        wrapped = wrap(master, org_id, key_id, new_data_key())
        return await self.store.add_key(
            DataKey(id=key_id, org_id=org_id, wrapped=wrapped),
            self.entry(AuditAction.SECRET_KEY_ADDED, org_id, key_id),
            replaces=replaces,
        )

    def entry(self, action: AuditAction, org_id: OrgId, key_id: UUID) -> AuditEntry:
        return AuditEntry(
            org_id=org_id,
            at=self.clock.now(),
            action=action,
            actor_id=None,
            detail={"key_id": f"skey_{key_id.hex}"},
        )

    def _unwrapped(self, stored: DataKey) -> bytes:
        key = self._keys.get(stored.id)
        if key is None:
            if self.masters is None:
                raise SecretsOff
            try:
                key = unwrap(self.masters, stored.org_id, stored.id, stored.wrapped)
            except (CannotOpen, ValueError):
                raise SecretUnreadable from None
            self._keys[stored.id] = key
        return key
