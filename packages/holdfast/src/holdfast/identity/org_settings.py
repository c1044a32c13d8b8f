"""What admins set while the server runs: kept in memory, so that asking for it costs nothing.

    PUT ──▶ database ──▶ hint ──▶ every process reads what is newer
                          └─ lost: the next poll finds it

A hint names no chat: it travels on a channel with the id that no chat has.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from holdfast.domain.audit import AuditAction, Detail
from holdfast.domain.chat import Status
from holdfast.domain.denials import FieldRefused
from holdfast.domain.errors import ChangedMeanwhile, Unavailable
from holdfast.domain.ids import NO_VERSION, ChatId, OrgId
from holdfast.domain.org_settings import UNSET, OrgSettings
from holdfast.domain.policy import Action, Principal, TargetKind, rule_for
from holdfast.identity.recording import entry_by
from holdfast.ports.bus import Bus, Hint, News
from holdfast.ports.clock import Clock
from holdfast.ports.org_settings import OrgSettingsStore, Versioned

CHANNEL: Final = ChatId(UUID(int=0))
_LOG: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class SettingsCounters:
    hints: int = 0
    polls: int = 0
    reads: int = 0


class KeptSettings:
    """One per process. `poll_every_s`: how late a change is noticed whose hint was lost."""

    def __init__(self, store: OrgSettingsStore, bus: Bus, *, poll_every_s: float) -> None:
        self._store = store
        self._bus = bus
        self._poll_every_s = poll_every_s
        self._known: dict[OrgId, Versioned] = {}
        self.counters = SettingsCounters()

    def of(self, org_id: OrgId) -> OrgSettings:
        known = self._known.get(org_id)
        return UNSET if known is None else known.settings

    async def read(self) -> None:
        """Whatever is newer than what is known. One statement for all organisations."""
        self.counters.reads += 1
        known = {org_id: each.version for org_id, each in self._known.items()}
        for org_id, found in (await self._store.newer(known)).items():
            self._take(org_id, found)

    async def changed(self, org_id: OrgId, now: Versioned) -> None:
        """Here at once; elsewhere as soon as they hear of it."""
        self._take(org_id, now)
        await self._bus.publish((Hint(CHANNEL, NO_VERSION, Status.IDLE),))

    def _take(self, org_id: OrgId, found: Versioned) -> None:
        known = self._known.get(org_id)
        if known is None or known.version < found.version:  # answers may overtake one another
            self._known[org_id] = found

    async def keep(self) -> None:
        """For as long as the process lives: read on every hint, and now and then without one."""
        async with self._bus.subscribe(CHANNEL) as news:
            while await self._heard(news):
                try:
                    await self.read()
                except Unavailable as error:
                    _LOG.warning("settings: organisation settings could not be read: %s", error)

    async def _heard(self, news: AsyncIterator[News]) -> bool:
        """Until there is a reason to read; False: the bus is closed."""
        try:
            async with asyncio.timeout(self._poll_every_s):
                await anext(news)
        except TimeoutError:
            self.counters.polls += 1
        except StopAsyncIteration:
            return False
        else:
            self.counters.hints += 1
        return True


async def find(store: OrgSettingsStore, who: Principal) -> Versioned:
    return await store.find(rule_for(who, Action.READ, TargetKind.SETTINGS))


async def change(
    store: OrgSettingsStore,
    kept: KeptSettings,
    clock: Clock,
    who: Principal,
    settings: OrgSettings,
    *,
    models: Sequence[str] = (),
    expected: Collection[int] | None = None,
) -> Versioned:
    """All of them at once. `models`: those that the server has, its default first; none if this
    process knows of none. `ChangedMeanwhile` if another request changed what was `expected`."""
    may = rule_for(who, Action.CHANGE, TargetKind.SETTINGS)
    if models:
        _check_models(settings, models)
    target = (TargetKind.SETTINGS, who.org_id)
    entry = entry_by(who, clock, AuditAction.SETTINGS_CHANGED, target, _detail(settings))
    version = await store.put(may, settings, entry, expected=expected)
    if version is None:
        raise ChangedMeanwhile
    now = Versioned(version, settings)
    await kept.changed(who.org_id, now)
    return now


def _check_models(settings: OrgSettings, models: Sequence[str]) -> None:
    allowed, default = settings.allowed_models, settings.default_model
    if allowed is not None and not set(allowed) <= set(models):
        raise FieldRefused("allowed_models", "one of them is no model of this server")
    if default is not None and default not in models:
        raise FieldRefused("default_model", "no such model")
    if allowed is not None and (default or models[0]) not in allowed:
        raise FieldRefused("default_model", "the default must be one of the allowed models")


def _detail(settings: OrgSettings) -> Detail:
    """Not the instructions: they may be long, and the log is kept for ever."""
    return {
        "default_model": settings.default_model,
        "allowed_models": settings.allowed_models,
        "instructions_chars": len(settings.instructions),
        "steps_max": settings.steps_max,
        "approval_rules": len(settings.approvals.rules),
        "approval_default": settings.approvals.default.value,
        "oidc_sign_up": settings.oidc_sign_up,
    }
