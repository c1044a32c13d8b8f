"""What `holdfast doctor --server` looks at: the settings of this process and what they name.

It reads the environment as `holdfast serve` does, writes nothing, and needs no running server. What
the server refuses at its start is asked by the same functions.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from holdfast.cli.findings import Finding, of_clock

if TYPE_CHECKING:
    from holdfast.adapters.postgres.pool import Pool
    from holdfast.settings import Settings

CONNECT_S: Final = 5.0


async def server_findings(*, calls: bool) -> AsyncIterator[Finding]:
    """In order. `calls`: also ask each model for one word, which costs a few tokens."""
    from holdfast.settings import WrongSettings, read_settings

    try:
        settings = read_settings()
    except WrongSettings as wrong:
        yield Finding("settings", "bad", str(wrong))
        return
    yield Finding("settings", "ok", f"Valid; the role of this process is {settings.role}.")
    async for finding in _database(settings):
        yield finding
    yield await _bus(settings)
    for finding in _keys(settings):
        yield finding
    if calls:
        async for finding in _calls(settings):
            yield finding
    yield await _sandbox(settings)
    for finding in _egress(settings):
        yield finding
    yield _page()


async def _database(settings: "Settings") -> AsyncIterator[Finding]:
    """The pool refuses by itself a server that may forget commits, or takes no writes."""
    from holdfast.adapters.postgres.pool import PoolOptions, open_pool, server_version
    from holdfast.domain.errors import HoldfastError

    options = PoolOptions(connections_min=1, connections_max=1, connect_timeout_s=CONNECT_S)
    try:
        async with open_pool(settings.direct_url, options) as pool:
            version = await server_version(pool)
            yield Finding("database", "ok", f"PostgreSQL {version}; it keeps what it acknowledges.")
            yield await _clock(pool)
            yield await _schema(pool)
            yield await _rights(pool)
    except HoldfastError as error:
        yield Finding("database", "bad", f"{error} Look at HOLDFAST_DATABASE_URL.")


async def _clock(pool: "Pool") -> Finding:
    from holdfast.adapters.postgres.queries import load_query

    theirs = await pool.fetchval(load_query("database_clock").text)
    found = of_clock(datetime.now(UTC), theirs)  # noqa: TID251 - the clock is the subject
    return Finding("clock", found.verdict, f"Beside the database's: {found.sentence}")


async def _schema(pool: "Pool") -> Finding:
    from holdfast.adapters.postgres.migrate import SchemaBehind, newest_migration, refuse_behind

    try:
        await refuse_behind(pool)
    except SchemaBehind as behind:
        return Finding("schema", "bad", f"{behind} Run `holdfast db migrate`.")
    return Finding("schema", "ok", f"Up to date ({newest_migration()}).")


async def _rights(pool: "Pool") -> Finding:
    from holdfast.adapters.postgres.queries import load_query

    row = await pool.fetchrow(load_query("table_rights").text)
    assert row is not None, "an aggregate has a row"
    role = row["role"]
    if row["missing"]:
        return Finding(
            "rights",
            "bad",
            f"The role {role} may not read and write {row['missing']} of {row['tables']} tables."
            f" Run: grant select, insert, update, delete on all tables in schema public to {role};",
        )
    return Finding("rights", "ok", f"The role {role} may read and write {row['tables']} tables.")


async def _bus(settings: "Settings") -> Finding:
    from holdfast.adapters.bus.options import BusOptions
    from holdfast.adapters.bus.redis import RedisEngine
    from holdfast.adapters.bus.seal import FrameSeal
    from holdfast.ports.bus import BusCounters

    if not settings.redis_url:
        return Finding("bus", "ok", "The database is the bus.")
    seal = FrameSeal(None, BusCounters())  # nothing is sent
    engine = RedisEngine(settings.redis_url, settings.bus_prefix, BusOptions(), seal)
    try:
        async with asyncio.timeout(CONNECT_S), engine.connect_sender():
            return Finding("bus", "ok", "Redis answers.")
    except (TimeoutError, *engine.faults) as error:
        why = str(error) or "no answer in time"
        return Finding(
            "bus", "bad", f"Redis: {why}. Look at HOLDFAST_BUS_URL. Turns go on without it, slower."
        )


def _keys(settings: "Settings") -> Iterator[Finding]:
    """Present or not; never a value."""
    if not settings.models:
        yield Finding(
            "models", "warning", "None is configured: see docs/how-to/configure-a-provider.md."
        )
    credentials = {
        each.name: (each.key, each.key_file, each.token, each.aws) for each in settings.providers
    }
    credentials |= {
        each.name: (each.api_key, each.aws) for each in settings.models if not each.provider
    }
    for name, given in credentials.items():
        if any(each is not None for each in given):
            yield Finding("key", "ok", f"{name}: present.")
        else:
            yield Finding("key", "warning", f"{name}: none. Models on your own machines need none.")


async def _calls(settings: "Settings") -> AsyncIterator[Finding]:
    from holdfast.bootstrap.model_checks import check_models

    async for each in check_models(settings, ()):
        if each.failure is None:
            yield Finding("model", "ok", f"{each.name} answers in {each.took_s:.1f} s.")
        else:
            yield Finding("model", "bad", f"{each.name}: {each.failure}")


async def _sandbox(settings: "Settings") -> Finding:
    from holdfast.cli.sandbox_probe import why_no_commands

    why = await asyncio.to_thread(why_no_commands)
    if why is None:
        return Finding("sandbox", "ok", "bubblewrap works here.")
    needed = any(template.kind == "local" for template in settings.templates)
    return Finding("sandbox", "bad" if needed else "warning", f"Commands here: off. {why}.")


def _egress(settings: "Settings") -> Iterator[Finding]:
    """Only where Holdfast is not the wall: the sandbox itself lets commands reach listed hosts."""
    for template in settings.templates:
        if template.kind == "local" and template.sandbox == "external":
            yield Finding(
                "egress",
                "warning",
                f"{template.name}: commands reach what this machine reaches, the network inside and"
                " a cloud's metadata included. Use the sandbox `bubblewrap`, or a rule that asks"
                " before `execute`.",
            )
        if template.kind == "command":
            yield _egress_of(template.name, is_closed=template.egress == "closed")


def _egress_of(name: str, *, is_closed: bool) -> Finding:
    if is_closed:
        return Finding("egress", "ok", f"{name}: closed, as the template says.")
    return Finding(
        "egress",
        "warning",
        f"{name}: nothing says that a network or a policy limits where commands connect to. See"
        ' docs/how-to/give-a-team-workspaces.md, then set `"egress": "closed"`.',
    )


def _page() -> Finding:
    from holdfast.cli.dev.page import HOW, is_built

    return Finding("page", "ok", "Built.") if is_built() else Finding("page", "warning", f"{HOW}.")
