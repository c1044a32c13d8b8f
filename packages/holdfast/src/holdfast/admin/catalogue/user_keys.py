"""A user's own key for a provider, where an admin allows it.

It is sealed with the host that it was entered for, and is used for no other host.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import orjson

from holdfast.admin.catalogue.added import AddedCatalogue
from holdfast.domain.audit import AuditAction, AuditEntry
from holdfast.domain.denials import FieldRefused, NotFound
from holdfast.domain.policy import Action, Principal, TargetKind, rule_for
from holdfast.domain.public_ids import PROVIDER_ID
from holdfast.identity.recording import entry_by
from holdfast.ports.clock import Clock
from holdfast.ports.user_keys import UserKeyProvider, UserKeyRow, user_key_place

WHAT: Final = "provider"


class UserKeys:
    def __init__(self, added: AddedCatalogue, clock: Clock) -> None:
        self._added = added
        self._clock = clock

    async def list(self, who: Principal) -> Sequence[UserKeyProvider]:
        """The providers that allow keys of users, and those that the user has stored a key for."""
        rule_for(who, Action.READ, TargetKind.USER)
        return await self._added.user_key_store.user_key_providers(who.org_id, who.user_id)

    async def set(self, who: Principal, provider_id: UUID, key: str) -> UserKeyProvider:
        rule_for(who, Action.CHANGE, TargetKind.USER)
        provider = (await self._added.store.find(who.org_id)).provider(provider_id)
        if provider is None or not provider.user_keys:
            raise NotFound(WHAT, provider_id)
        secrets = {**((await self._added.opened(provider)).secrets or {}), "key": key}
        try:
            self._added.builder.check_provider(provider.name, provider.record, secrets)
        except ValueError as error:
            raise FieldRefused("key", str(error)) from None
        plain = {"host": self._added.builder.host_of(provider.record), "key": key}
        place = user_key_place(who.org_id, provider_id, who.user_id)
        row = UserKeyRow(
            org_id=who.org_id,
            user_id=who.user_id,
            provider_id=provider_id,
            credential=await self._added.vault.seal(place, orjson.dumps(plain).decode()),
        )
        entry = self._entry(who, AuditAction.USER_KEY_SET, provider_id)
        if not await self._added.user_key_store.set_user_key(row, entry):
            raise NotFound(WHAT, provider_id)
        await self._added.changed(who.org_id)
        return await self._find(who, provider_id)

    async def remove(self, who: Principal, provider_id: UUID) -> None:
        rule_for(who, Action.CHANGE, TargetKind.USER)
        entry = self._entry(who, AuditAction.USER_KEY_DELETED, provider_id)
        store = self._added.user_key_store
        if not await store.remove_user_key(who.org_id, provider_id, who.user_id, entry):
            raise NotFound(WHAT, provider_id)
        await self._added.changed(who.org_id)

    async def _find(self, who: Principal, provider_id: UUID) -> UserKeyProvider:
        for each in await self.list(who):
            if each.provider_id == provider_id:
                return each
        raise NotFound(WHAT, provider_id)

    def _entry(self, who: Principal, action: AuditAction, provider_id: UUID) -> AuditEntry:
        detail = {"provider": PROVIDER_ID.encode(provider_id)}
        return entry_by(who, self._clock, action, (TargetKind.USER, who.user_id), detail)
