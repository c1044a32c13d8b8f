"""Every process's copy of the settings: hints, polls, and answers that overtake one another."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from holdfast.adapters.bus.lossy import LossyBus
from holdfast.admin import changes
from holdfast.admin.current import NothingSet, OrgSettings, SettingsCache
from holdfast.admin.generation import RETRY_S, SettingsReload
from holdfast.admin.registry import SettingValues
from holdfast.admin.settings import ALLOWED_MODELS, DEFAULT_MODEL, INSTRUCTIONS, MAX_STEPS_PER_TURN
from holdfast.domain.audit import AuditEntry
from holdfast.domain.denials import FieldRefused, NotAllowed
from holdfast.domain.errors import ChangedMeanwhile, Unavailable
from holdfast.domain.ids import OrgId, UserId
from holdfast.domain.parts import JsonObject
from holdfast.domain.policy import Filter, OrgRole
from holdfast.ports.org_settings import NEVER_SET, StoredSettings
from tests.support.doubles import HandClock
from tests.support.fake_bus import FakeBusServer
from tests.support.identity import principal

POLL_S = 20.0
ORG, OTHER = OrgId(UUID(int=6)), OrgId(UUID(int=7))
ADMIN = principal(ORG, UserId(UUID(int=8)), OrgRole.ADMIN)


class Rows:
    """The table of settings, in memory."""

    def __init__(self) -> None:
        self.rows: dict[OrgId, StoredSettings] = {}
        self.audit: list[AuditEntry] = []
        self.away = False
        self.generation = 1

    async def newer(self, known: Mapping[OrgId, int]) -> Mapping[OrgId, StoredSettings]:
        if self.away:
            raise Unavailable("the database is away")
        return {o: row for o, row in self.rows.items() if known.get(o) != row.version}

    async def find(self, may: Filter) -> StoredSettings:
        return self.rows.get(may[0].org_id, NEVER_SET)

    async def put(
        self,
        may: Filter,
        values: JsonObject,
        audit: AuditEntry,
        *,
        expected: Collection[int] | None = None,
        stops: bool = False,
    ) -> int | None:
        before = (await self.find(may)).version
        if expected is not None and before not in expected:
            return None
        self.write(may[0].org_id, before + 1, values)
        self.audit.append(audit)
        return before + 1

    def write(self, org_id: OrgId, version: int, values: JsonObject) -> None:
        self.rows[org_id] = StoredSettings(version, values)
        self.generation += 1

    async def newest(self) -> int:
        if self.away:
            raise Unavailable("the database is away")
        return self.generation


class Process(SettingsCache):
    reload: SettingsReload


@asynccontextmanager
async def process(server: FakeBusServer, rows: Rows) -> AsyncGenerator[Process]:
    """A process that keeps its copy, on a bus connection of its own."""
    async with server.open() as bus:
        cache = Process(rows, bus)
        cache.reload = SettingsReload(rows.newest, bus, poll_every_s=POLL_S)
        cache.reload.also(cache.read)
        await cache.reload.refresh()
        async with asyncio.TaskGroup() as tasks:
            keeping = tasks.create_task(cache.reload.keep())
            await until_subscribed(bus)
            yield cache
            keeping.cancel()


async def until_subscribed(bus: LossyBus) -> None:
    while not bus.counters.watching:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    await asyncio.sleep(1)


async def set_instructions(cache: SettingsCache, text: str, **more: Any) -> OrgSettings:
    values = SettingValues({"instructions": text})
    return await changes.change(cache, HandClock(), ADMIN, values, **more)


async def test_change_is_known_here_at_once_and_elsewhere_by_the_hint() -> None:
    server, rows = FakeBusServer(), Rows()
    async with process(server, rows) as here, process(server, rows) as there:
        heard = there.current(INSTRUCTIONS)
        await set_instructions(here, "new")
        assert here.current(INSTRUCTIONS).of(ORG) == "new"
        assert here.current(INSTRUCTIONS).of(OTHER) == ""
        await asyncio.sleep(1)
        assert heard.of(ORG) == "new", "a handle shows what is current"
        assert (there.reload.counters.hints, there.reload.counters.polls) == (1, 0)
        (entry,) = rows.audit
        assert entry.detail == {
            "before": '{"instructions_chars":0}',
            "after": '{"instructions_chars":3}',
        }


async def test_change_whose_hint_was_lost_is_found_by_the_poll() -> None:
    server, rows = FakeBusServer(), Rows()
    async with process(server, rows) as cache:
        rows.write(ORG, 9, {"instructions": "unheard"})
        await asyncio.sleep(POLL_S / 2)
        assert cache.current(INSTRUCTIONS).of(ORG) == ""
        await asyncio.sleep(POLL_S)
        assert cache.current(INSTRUCTIONS).of(ORG) == "unheard"
        assert (cache.reload.counters.hints, cache.reload.counters.polls) == (0, 1)


async def test_bus_that_was_away_is_a_reason_to_read() -> None:
    server, rows = FakeBusServer(), Rows()
    async with process(server, rows) as cache:
        rows.write(ORG, 1, {"instructions": "missed"})
        await server.cut()
        await asyncio.sleep(POLL_S / 2)
        assert cache.current(INSTRUCTIONS).of(ORG) == "missed"
        assert cache.reload.counters.polls == 0


async def test_database_that_is_away_is_asked_again() -> None:
    server, rows = FakeBusServer(), Rows()
    async with process(server, rows) as cache:
        rows.away = True
        rows.write(ORG, 1, {"instructions": "later"})
        await asyncio.sleep(POLL_S * 1.5)
        rows.away = False
        await asyncio.sleep(POLL_S)
        assert cache.current(INSTRUCTIONS).of(ORG) == "later"


async def test_keeping_ends_with_the_bus() -> None:
    server, rows = FakeBusServer(), Rows()
    async with asyncio.TaskGroup() as tasks:
        async with server.open() as bus:
            reload = SettingsReload(rows.newest, bus, poll_every_s=POLL_S)
            keeping = tasks.create_task(reload.keep())
            await until_subscribed(bus)
        async with asyncio.timeout(POLL_S / 2):
            await keeping


async def test_answer_that_was_overtaken_does_not_bring_back_the_old() -> None:
    """A read that began before a change and ends after it."""
    server, rows = FakeBusServer(), Rows()
    async with process(server, rows) as cache:
        await set_instructions(cache, "old")
        late = await rows.newer({})
        await set_instructions(cache, "new")

        async def newer(_known: object) -> Any:
            return late

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(rows, "newer", newer)
            await cache.read()
        assert cache.current(INSTRUCTIONS).of(ORG) == "new"


async def test_generation_that_a_statement_returned_is_known_before_the_next_attempt() -> None:
    server, rows = FakeBusServer(), Rows()
    async with process(server, rows) as cache:
        reload, reads = cache.reload, cache.counters.reads
        rows.write(ORG, 1, {"instructions": "unheard"})
        await reload.catch_up()
        assert cache.counters.reads == reads, "nothing was seen: no statement"
        reload.saw(rows.generation)
        await asyncio.gather(*(reload.catch_up() for _ in range(5)))
        assert cache.current(INSTRUCTIONS).of(ORG) == "unheard"
        assert reload.applied == rows.generation
        assert cache.counters.reads == reads + 1, "one read for all that wait"


async def test_generation_is_caught_up_with_also_where_no_attempt_begins() -> None:
    server, rows = FakeBusServer(), Rows()
    async with process(server, rows) as cache:
        rows.away = True
        rows.write(ORG, 1, {"instructions": "unheard"})
        cache.reload.saw(rows.generation)
        await asyncio.sleep(RETRY_S / 2)
        with pytest.raises(Unavailable):
            await cache.reload.catch_up()
        rows.away = False
        await asyncio.sleep(2 * RETRY_S)
        assert cache.current(INSTRUCTIONS).of(ORG) == "unheard"
        assert (cache.reload.counters.hints, cache.reload.counters.polls) == (0, 0)


async def test_generation_falls_with_a_database_that_lost_commits() -> None:
    server, rows = FakeBusServer(), Rows()
    async with process(server, rows) as cache:
        cache.reload.saw(rows.generation + 7)
        await cache.reload.catch_up()
        assert cache.reload.applied == rows.generation
        rows.generation -= 1
        cache.reload.saw(rows.generation)
        await asyncio.sleep(RETRY_S)
        assert cache.reload.applied == rows.generation
        rows.write(ORG, 9, {"instructions": "the next"})
        cache.reload.saw(rows.generation)
        await cache.reload.catch_up()
        assert cache.current(INSTRUCTIONS).of(ORG) == "the next"


async def test_change_is_refused_to_members_and_to_a_stale_version() -> None:
    server, rows = FakeBusServer(), Rows()
    async with process(server, rows) as cache:
        assert (await changes.find(cache, ADMIN)).version == 0
        await set_instructions(cache, "one", expected=[0])
        with pytest.raises(ChangedMeanwhile):
            await set_instructions(cache, "two", expected=[0])
        member = replace(ADMIN, role=OrgRole.MEMBER)
        with pytest.raises(NotAllowed):
            await changes.change(cache, HandClock(), member, SettingValues())
        found = await changes.find(cache, ADMIN)
        assert (found.version, found.values.of(INSTRUCTIONS)) == (1, "one")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"default_model": "none"}, "default_model"),
        ({"allowed_models": ("a", "none")}, "allowed_models"),
        ({"allowed_models": ("b",)}, "default_model"),
    ],
)
async def test_models_must_be_those_of_the_server(given: dict[str, Any], field: str) -> None:
    server, rows = FakeBusServer(), Rows()
    async with process(server, rows) as cache:
        values = SettingValues(given)
        with pytest.raises(FieldRefused) as refused:
            await changes.change(cache, HandClock(), ADMIN, values, models=("a", "b"))
        assert refused.value.field == field
        assert rows.rows == {}


def test_without_admins_every_setting_has_its_default() -> None:
    nothing = NothingSet()
    assert nothing.current(MAX_STEPS_PER_TURN).of(ORG) is None
    assert nothing.current(INSTRUCTIONS).of(ORG) == ""
    assert nothing.current(ALLOWED_MODELS).of(ORG) is None
    assert nothing.current(DEFAULT_MODEL).of(ORG) is None
