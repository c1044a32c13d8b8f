"""Read and change the settings of an organisation."""

from collections.abc import Callable, Collection, Sequence
from typing import Final

from holdfast.admin.current import OrgSettings, SettingsCache
from holdfast.admin.registry import SettingScope, SettingValues
from holdfast.admin.settings import ALLOWED_MODELS, DEFAULT_MODEL
from holdfast.domain.audit import AuditAction
from holdfast.domain.denials import FieldRefused
from holdfast.domain.errors import ChangedMeanwhile
from holdfast.domain.parts import JsonObject
from holdfast.domain.policy import Action, Principal, TargetKind, rule_for
from holdfast.identity.recording import entry_by
from holdfast.ports.clock import Clock

PATCH_TRIES_MAX: Final = 5


async def find(cache: SettingsCache, who: Principal) -> OrgSettings:
    """As they are stored now."""
    return cache.decode(await cache.store.find(rule_for(who, Action.READ, TargetKind.SETTINGS)))


async def patch(
    cache: SettingsCache,
    clock: Clock,
    who: Principal,
    merge: Callable[[JsonObject], SettingValues],
    *,
    models: Sequence[str] = (),
    expected: Collection[int] | None = None,
) -> OrgSettings:
    """Change some of them. `merge`: from the present settings, as stored, to the new ones.

    A request that changes them at the same time is not overwritten: the merge is made anew.
    """
    for tries_left in reversed(range(PATCH_TRIES_MAX)):
        now = await find(cache, who)
        if expected is not None and now.version not in expected:
            raise ChangedMeanwhile
        values = merge(cache.registry.encode(SettingScope.ORGANISATION, now.values))
        try:
            return await change(cache, clock, who, values, models=models, expected={now.version})
        except ChangedMeanwhile:
            if expected is not None or not tries_left:
                raise
    raise AssertionError("the last try returns or raises")


async def change(
    cache: SettingsCache,
    clock: Clock,
    who: Principal,
    values: SettingValues,
    *,
    models: Sequence[str] = (),
    expected: Collection[int] | None = None,
) -> OrgSettings:
    """Set all of them at once. `models`: those that the server has, its default first; none if this
    process knows of none. `ChangedMeanwhile` if another request changed what was `expected`."""
    may = rule_for(who, Action.CHANGE, TargetKind.SETTINGS)
    if models:
        _check_models(values, models)
    entry = entry_by(
        who,
        clock,
        AuditAction.SETTINGS_CHANGED,
        (TargetKind.SETTINGS, who.org_id),
        cache.registry.audit_detail(SettingScope.ORGANISATION, values),
    )
    stored = cache.registry.encode(SettingScope.ORGANISATION, values)
    version = await cache.store.put(may, stored, entry, expected=expected)
    if version is None:
        raise ChangedMeanwhile
    now = OrgSettings(version, values)
    await cache.changed(who.org_id, now)
    return now


def _check_models(values: SettingValues, models: Sequence[str]) -> None:
    allowed, default = values.of(ALLOWED_MODELS), values.of(DEFAULT_MODEL)
    if allowed is not None and not set(allowed) <= set(models):
        raise FieldRefused("allowed_models", "one of them is no model of this server")
    if default is not None and default not in models:
        raise FieldRefused("default_model", "no such model")
    if allowed is not None and (default or models[0]) not in allowed:
        raise FieldRefused("default_model", "the default must be one of the allowed models")
