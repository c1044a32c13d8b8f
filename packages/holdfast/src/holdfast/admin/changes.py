"""Read and change the settings of an organisation."""

from collections.abc import Callable, Collection, Container, Sequence
from typing import Final

from holdfast.admin.current import OrgSettings, SettingsCache
from holdfast.admin.purposes import CHOSEN_BY
from holdfast.admin.registry import SettingScope, SettingValues
from holdfast.admin.settings import ALLOWED_MODELS, DEFAULT_MODEL, is_allowed
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
            return await _change(
                cache, clock, who, values, now=now, models=models, expected={now.version}
            )
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
    now = await find(cache, who)
    return await _change(cache, clock, who, values, now=now, models=models, expected=expected)


async def _change(
    cache: SettingsCache,
    clock: Clock,
    who: Principal,
    values: SettingValues,
    *,
    now: OrgSettings,
    models: Sequence[str],
    expected: Collection[int] | None,
) -> OrgSettings:
    """`now`: as they were read."""
    may = rule_for(who, Action.CHANGE, TargetKind.SETTINGS)
    registry, scope = cache.registry, SettingScope.ORGANISATION
    changed = registry.differing(scope, now.values, values)
    if models:
        _check_models(values, models, {setting.name for setting in changed})
    entry = entry_by(
        who,
        clock,
        AuditAction.SETTINGS_CHANGED,
        (TargetKind.SETTINGS, who.org_id),
        registry.audit_change(changed, now.values, values),
    )
    stored = registry.encode(scope, values)
    stops = any(setting.stops for setting in changed)
    version = await cache.store.put(may, stored, entry, expected=expected, stops=stops)
    if version is None:
        raise ChangedMeanwhile
    after = OrgSettings(version, values)
    await cache.changed(who.org_id, after)
    return after


def _check_models(values: SettingValues, models: Sequence[str], changed: Container[str]) -> None:
    """What is changed: a model that was set before may be gone by now, and is no reason to refuse
    another setting."""
    allowed, default = values.of(ALLOWED_MODELS), values.of(DEFAULT_MODEL)
    if "allowed_models" in changed and allowed is not None and not set(allowed) <= set(models):
        raise FieldRefused("allowed_models", "one of them is no model of this server")
    for setting in CHOSEN_BY.values():
        chosen = values.of(setting)
        if setting.name not in changed or chosen is None:
            continue
        if chosen not in models:
            raise FieldRefused(setting.name, "no such model")
        if setting is not DEFAULT_MODEL and not is_allowed(chosen, allowed):
            raise FieldRefused(setting.name, "it must be one of the allowed models")
    if allowed is None or ("default_model" not in changed and "allowed_models" not in changed):
        return
    if (default or models[0]) not in allowed:
        raise FieldRefused("default_model", "the default must be one of the allowed models")
