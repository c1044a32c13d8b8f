"""Add, change and remove providers and models of an organisation.

A write compares the version of the row that was read. A request without `expected` that lost a race
begins again, as changes of settings do.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar
from uuid import UUID

import orjson

from holdfast.admin.catalogue.added import AddedCatalogue, OpenedProvider
from holdfast.domain.audit import AuditAction, AuditEntry
from holdfast.domain.denials import FieldRefused, NotFound
from holdfast.domain.errors import ChangedMeanwhile
from holdfast.domain.parts import JsonObject, JsonValue
from holdfast.domain.policy import Action, Principal, TargetKind, rule_for
from holdfast.domain.public_ids import MODEL_ID, PROVIDER_ID
from holdfast.domain.secrets import PROVIDER_CREDENTIAL, fingerprint, last_four
from holdfast.identity.recording import entry_by
from holdfast.ports.catalogue import ModelRow, OrgCatalogue, ProviderRow
from holdfast.ports.clock import Clock

TRIES_MAX: Final = 5
SECRETS: Final = frozenset({"key", "aws", "headers", "proxy"})
"""Fields of a provider that are sealed."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderChange:
    """What a request says; None: nothing. `settings`: fields of a provider in the models file, but
    its name; null removes one. A secret that is not named stays, unless the host changes."""

    name: str | None = None
    is_enabled: bool | None = None
    user_keys: bool | None = None
    settings: Mapping[str, JsonValue] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChange:
    name: str | None = None
    provider_id: UUID | None = None
    is_enabled: bool | None = None
    is_default: bool | None = None
    settings: Mapping[str, JsonValue] | None = None


class CatalogueChanges:
    def __init__(self, added: AddedCatalogue, clock: Clock, new_id: Callable[[], UUID]) -> None:
        self._added = added
        self._clock = clock
        self._new_id = new_id

    async def find(self, who: Principal) -> OrgCatalogue:
        """As it is stored now."""
        rule_for(who, Action.READ, TargetKind.SETTINGS)
        return await self._added.store.find(who.org_id)

    async def find_provider(self, who: Principal, provider_id: UUID) -> ProviderRow:
        row = (await self.find(who)).provider(provider_id)
        if row is None:
            raise NotFound("provider", provider_id)
        return row

    async def find_model(self, who: Principal, model_id: UUID) -> ModelRow:
        row = (await self.find(who)).model(model_id)
        if row is None:
            raise NotFound("model", model_id)
        return row

    async def add_provider(self, who: Principal, change: ProviderChange) -> ProviderRow:
        rule_for(who, Action.CHANGE, TargetKind.SETTINGS)
        empty = ProviderRow(
            id=self._new_id(),
            org_id=who.org_id,
            name="",
            is_enabled=True,
            record={},
            credential=None,
            about=None,
        )
        row = await self._merged(who, OpenedProvider(empty, {}), change)
        entry = self._entry(who, AuditAction.PROVIDER_CREATED, None, _shown_provider(row))
        await self._added.store.add_provider(row, entry)
        return await self._told(who, row)

    async def change_provider(
        self,
        who: Principal,
        provider_id: UUID,
        change: ProviderChange,
        *,
        expected: Collection[int] | None = None,
    ) -> ProviderRow:
        async def once() -> ProviderRow | None:
            old = await self._provider(who, provider_id, expected)
            row = await self._merged(who, await self._added.opened(old), change)
            entry = self._entry(
                who, AuditAction.PROVIDER_UPDATED, _shown_provider(old), _shown_provider(row)
            )
            has_moved = self._has_moved(old, row.record)
            done = await self._added.store.change_provider(row, entry, has_moved=has_moved)
            return replace(row, version=row.version + 1) if done else None

        return await self._told(who, await _again(once, expected))

    async def remove_provider(
        self, who: Principal, provider_id: UUID, *, expected: Collection[int] | None = None
    ) -> None:
        async def once() -> ProviderRow | None:
            old = await self._provider(who, provider_id, expected)
            entry = self._entry(who, AuditAction.PROVIDER_DELETED, _shown_provider(old), None)
            return old if await self._added.store.remove_provider(old, entry) else None

        await self._told(who, await _again(once, expected))

    async def add_model(self, who: Principal, change: ModelChange) -> ModelRow:
        rule_for(who, Action.CHANGE, TargetKind.SETTINGS)
        there = await self._added.store.find(who.org_id)
        needs_default = not self._added.builder.has_file_models and not any(
            row.is_default for row in there.models
        )
        if change.provider_id is None:
            raise FieldRefused("provider_id", "a model needs a provider")
        empty = ModelRow(
            id=self._new_id(),
            org_id=who.org_id,
            provider_id=change.provider_id,
            name="",
            is_enabled=True,
            is_default=needs_default,
            record={},
        )
        row = await self._merged_model(there, empty, change)
        entry = self._entry(who, AuditAction.MODEL_CREATED, None, _shown_model(row))
        await self._added.store.add_model(row, entry)
        return await self._told(who, row)

    async def change_model(
        self,
        who: Principal,
        model_id: UUID,
        change: ModelChange,
        *,
        expected: Collection[int] | None = None,
    ) -> ModelRow:
        async def once() -> ModelRow | None:
            there, old = await self._model(who, model_id, expected)
            if old.is_default and change.is_default is False:
                raise FieldRefused("is_default", "make another model the default instead")
            row = await self._merged_model(there, old, change)
            entry = self._entry(
                who, AuditAction.MODEL_UPDATED, _shown_model(old), _shown_model(row)
            )
            done = await self._added.store.change_model(row, entry)
            return replace(row, version=row.version + 1) if done else None

        return await self._told(who, await _again(once, expected))

    async def remove_model(
        self, who: Principal, model_id: UUID, *, expected: Collection[int] | None = None
    ) -> None:
        """If it was the default, the oldest model that is enabled becomes it."""

        async def once() -> ModelRow | None:
            _, old = await self._model(who, model_id, expected)
            entry = self._entry(who, AuditAction.MODEL_DELETED, _shown_model(old), None)
            return old if await self._added.store.remove_model(old, entry) else None

        gone = await self._told(who, await _again(once, expected))
        if gone.is_default:
            there = await self._added.store.find(who.org_id)
            following = next((row for row in there.models if row.is_enabled), None)
            if following is not None:
                await self.change_model(who, following.id, ModelChange(is_default=True))

    # What is common to them.

    async def _merged(
        self, who: Principal, old: OpenedProvider, change: ProviderChange
    ) -> ProviderRow:
        row = old.row
        name = row.name if change.name is None else change.name
        given = dict(change.settings or {})
        fields = {key: value for key, value in given.items() if key not in SECRETS}
        record = _patched(row.record, fields)
        # A secret is sent only where it was entered for.
        moved = self._has_moved(row, record)
        kept = {} if moved else old.secrets or {}
        secrets = _patched(kept, {key: given[key] for key in given.keys() & SECRETS})
        try:
            self._added.builder.check_provider(name, record, secrets)
        except ValueError as error:
            raise FieldRefused("settings", str(error)) from None
        changed = replace(
            row,
            name=name,
            is_enabled=row.is_enabled if change.is_enabled is None else change.is_enabled,
            user_keys=row.user_keys if change.user_keys is None else change.user_keys,
            record=record,
        )
        if not moved and not given.keys() & SECRETS:
            return changed  # and so a credential that cannot be read here stays as it is
        if not secrets:
            return replace(changed, credential=None, about=None)
        plain = orjson.dumps(secrets, option=orjson.OPT_SORT_KEYS).decode()
        sealed = await self._added.vault.seal(PROVIDER_CREDENTIAL.place(row.org_id, row.id), plain)
        return replace(changed, credential=sealed, about=self._about(who, secrets))

    def _has_moved(self, row: ProviderRow, record: JsonObject) -> bool:
        host_of = self._added.builder.host_of
        return bool(row.record) and host_of(record) != host_of(row.record)

    def _about(self, who: Principal, secrets: JsonObject) -> JsonObject:
        key = secrets.get("key")
        shown = key if isinstance(key, str) else ""
        plain = orjson.dumps(secrets, option=orjson.OPT_SORT_KEYS).decode()
        return {
            "fields": sorted(secrets),
            "last_four": last_four(shown),
            "fingerprint": fingerprint(who.org_id, shown or plain),
            "set_at": self._clock.now().isoformat(),
            "set_by": str(who.user_id),
        }

    async def _merged_model(
        self, there: OrgCatalogue, old: ModelRow, change: ModelChange
    ) -> ModelRow:
        row = replace(
            old,
            name=change.name if change.name is not None else old.name,
            provider_id=change.provider_id or old.provider_id,
            is_enabled=old.is_enabled if change.is_enabled is None else change.is_enabled,
            is_default=old.is_default if change.is_default is None else change.is_default,
            record=_patched(old.record, change.settings or {}),
        )
        provider = there.provider(row.provider_id)
        if provider is None:
            raise FieldRefused("provider_id", "no such provider")
        try:
            self._added.builder.check_model(row, await self._added.opened(provider))
        except ValueError as error:
            raise FieldRefused("settings", str(error)) from None
        return row

    async def _provider(
        self, who: Principal, provider_id: UUID, expected: Collection[int] | None
    ) -> ProviderRow:
        rule_for(who, Action.CHANGE, TargetKind.SETTINGS)
        row = await self.find_provider(who, provider_id)
        _check(row.version, expected)
        return row

    async def _model(
        self, who: Principal, model_id: UUID, expected: Collection[int] | None
    ) -> tuple[OrgCatalogue, ModelRow]:
        rule_for(who, Action.CHANGE, TargetKind.SETTINGS)
        there = await self._added.store.find(who.org_id)
        row = there.model(model_id)
        if row is None:
            raise NotFound("model", model_id)
        _check(row.version, expected)
        return there, row

    async def _told(self, who: Principal, row: T) -> T:
        await self._added.changed(who.org_id)
        return row

    def _entry(
        self,
        who: Principal,
        action: AuditAction,
        before: Mapping[str, Any] | None,
        after: Mapping[str, Any] | None,
    ) -> AuditEntry:
        detail = {
            "before": None if before is None else _text(before),
            "after": None if after is None else _text(after),
        }
        return entry_by(who, self._clock, action, (TargetKind.SETTINGS, who.org_id), detail)


async def _again(once: Callable[[], Awaitable[T | None]], expected: Collection[int] | None) -> T:
    for _ in range(TRIES_MAX):
        found = await once()
        if found is not None:
            return found
        if expected is not None:
            break
    raise ChangedMeanwhile


def _check(version: int, expected: Collection[int] | None) -> None:
    if expected is not None and version not in expected:
        raise ChangedMeanwhile


def _patched(old: Mapping[str, JsonValue], given: Mapping[str, JsonValue]) -> JsonObject:
    """null removes a field."""
    merged = {**old, **given}
    return {name: value for name, value in merged.items() if value is not None}


def _shown_provider(row: ProviderRow) -> dict[str, Any]:
    """For the audit log: a secret as its fingerprint."""
    about = row.about or {}
    return {
        "id": PROVIDER_ID.encode(row.id),
        "name": row.name,
        "is_enabled": row.is_enabled,
        "user_keys": row.user_keys,
        "settings": row.record,
        "secrets": about.get("fields", []),
        "fingerprint": about.get("fingerprint"),
    }


def _shown_model(row: ModelRow) -> dict[str, Any]:
    return {
        "id": MODEL_ID.encode(row.id),
        "name": row.name,
        "provider_id": PROVIDER_ID.encode(row.provider_id),
        "is_enabled": row.is_enabled,
        "is_default": row.is_default,
        "settings": row.record,
    }


def _text(shown: Mapping[str, Any]) -> str:
    return orjson.dumps(shown, option=orjson.OPT_SORT_KEYS).decode()
