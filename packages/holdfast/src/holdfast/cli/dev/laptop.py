"""Everything in one process and one folder: what `holdfast dev` runs."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import typer
from pydantic import PostgresDsn, SecretStr

from holdfast.adapters.postgres.migrate import MigrateOptions, migrate
from holdfast.adapters.providers.endpoints import SIMULATED_MODEL
from holdfast.adapters.workspaces.local import end_agents, fits_a_socket
from holdfast.adapters.workspaces.provisioning import ProvisionFailed
from holdfast.bootstrap import open_server
from holdfast.bootstrap.edge import Served, create_first, key_of, open_served
from holdfast.cli.dev.contexts import remember
from holdfast.cli.dev.folder import EMAIL, Folder, default_folder, own_folder
from holdfast.cli.dev.page import HOW, is_built, offer_to_build
from holdfast.cli.dev.postgres import private_postgres
from holdfast.cli.process import metrics_served, run_process, say, stopping_on_signals
from holdfast.cli.sandbox_probe import why_no_commands
from holdfast.cli.serve import cannot_be_used, ready_at, until_drained
from holdfast.identity.one_time_links import LIFETIME
from holdfast.settings import ModelSettings, ProcessRole, Settings, env_name
from holdfast.settings.models import FactsSettings
from holdfast.settings.templates import LocalTemplateSettings
from holdfast_simulator.options import Options
from holdfast_simulator.server import Config, running

SIMULATED_RATE: Final = 60.0
TRY: Final = 'holdfast run "Look at the clock and tell me what you see."'
DEFAULTS: Final[dict[str, Any]] = {"log_format": "console", "log_level": "WARNING"}
IDLE_S: Final = 24 * 3600
LEASE: Final[dict[str, Any]] = {"lease_ttl_s": 4.0, "heartbeat_every_s": 1.0}
"""The only worker there is: after a kill, a start need not wait longer for the one before."""


def run_laptop(data: Path | None, port: int | None) -> None:
    offer_to_build()

    async def work(settings: Settings) -> None:
        await _run(settings, data or default_folder())

    run_process("server", work, adjust=lambda settings: for_a_laptop(settings, port))


def for_a_laptop(settings: Settings, port: int | None = None) -> Settings:
    """What was given stays as it was given."""
    given = settings.model_fields_set
    ours = {name: value for name, value in DEFAULTS.items() if name not in given}
    if not LEASE.keys() & given:
        ours |= LEASE
    if port is not None:
        ours["port"] = port
    return settings.model_copy(update={**ours, "role": ProcessRole.ALL})


async def _run(settings: Settings, path: Path) -> None:
    stopping = stopping_on_signals()
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(own_folder(path))
        url, database = await stack.enter_async_context(_database(settings, folder))
        await migrate(url, MigrateOptions(tells_each=False))
        await stack.enter_async_context(_agents_ended(_own_workspaces(settings, folder)))
        models = await stack.enter_async_context(_models(settings))
        settings = settings.model_copy(
            update={
                "database_url": PostgresDsn(url),
                "models": models,
                **_master_key(settings, folder),
                **_workspaces(settings, folder),
            }
        )
        server = await stack.enter_async_context(open_server(settings))
        stack.enter_context(metrics_served(server, settings))
        try:
            served = await stack.enter_async_context(open_served(server, settings))
        except OSError as error:
            raise cannot_be_used(settings, error) from None
        key = await _key(served, folder)
        lines = {
            "database": database,
            "models": ", ".join(model.name for model in models),
            **(await _sign_in(served, folder, key) if key else {}),
            **await _missing(settings),
            "key": str(folder.key_file) if key else "there are users already: use one of theirs",
            "try": remember(served.url, key) + TRY if key else f"holdfast login --url {served.url}",
            "stop": "Ctrl-C",
        }
        await until_drained(served, stopping, lambda: _welcome(served, lines))
    say("Stopped.")


@asynccontextmanager
async def _database(settings: Settings, folder: Folder) -> AsyncGenerator[tuple[str, str]]:
    """Its address, and what it is."""
    if "database_url" in settings.model_fields_set:
        yield str(settings.database_url), f"as {env_name('database_url')} says"
        return
    async with private_postgres(folder.path) as postgres:
        yield postgres.url, f"PostgreSQL {postgres.binaries.major} of its own in {postgres.data}"


@asynccontextmanager
async def _models(settings: Settings) -> AsyncGenerator[tuple[ModelSettings, ...]]:
    if settings.models:
        yield settings.models
        return
    async with running(Config(defaults=Options(rate=SIMULATED_RATE), guides=True)) as simulator:
        model = ModelSettings(
            name="simulator",
            vendor="simulator-anthropic",
            model=SIMULATED_MODEL,
            facts=FactsSettings(
                context_window=200_000,
                output_max=64_000,
                images=False,
                documents=False,
                thinking="adaptive",
                efforts=("low", "medium", "high"),
            ),
            base_url=simulator.url,
            api_key=SecretStr("any"),
        )
        yield (model,)


def _master_key(settings: Settings, folder: Folder) -> dict[str, Any]:
    """A database that is not ours may belong to another master key: none is made for it."""
    given = settings.master_key_file is not None or settings.master_key_command
    if given or "database_url" in settings.model_fields_set:
        return {}
    return {"master_key_file": folder.master_key_file}


def _workspaces(settings: Settings, folder: Folder) -> dict[str, Any]:
    """Beside the database, walled in by bubblewrap; where that does not hold, the agent says what
    to do and runs nothing."""
    if settings.templates or not fits_a_socket(folder.workspaces):
        return {}
    template = LocalTemplateSettings(
        kind="local",
        name="local",
        description="A folder on this machine, walled in.",
        ttl_s=IDLE_S,
    )
    return {"templates": (template,), "workspaces_folder": folder.workspaces}


def _own_workspaces(settings: Settings, folder: Folder) -> list[Path]:
    """Where only this server's agents are. A folder that was named goes with the database, and one
    that is not ours may have other servers."""
    named = settings.workspaces_folder
    if named is None or "database_url" in settings.model_fields_set:
        return [folder.workspaces]
    return [folder.workspaces, named.expanduser().absolute()]


@asynccontextmanager
async def _agents_ended(folders: Sequence[Path]) -> AsyncGenerator[None]:
    """End the agents, which outlive servers: a stopped trial leaves no process behind. After an
    internal error they go on, and the next start finds them."""
    yield
    for folder in folders:
        try:
            await asyncio.to_thread(end_agents, folder)
        except (OSError, ProvisionFailed) as error:
            say(str(error))


async def _key(served: Served, folder: Folder) -> str | None:
    """The admin's, the same as last time; None where others set up the accounts."""
    identity, password = served.edge.identity, folder.password()
    await create_first(identity, organisation="Holdfast", email=EMAIL, password=password)
    known = folder.key()
    key = await key_of(identity, email=EMAIL, password=password, known=known)
    if key is not None and key != known:
        folder.keep_key(key)
    return key


async def _sign_in(served: Served, folder: Folder, key: str) -> dict[str, str]:
    """A link that is valid once. Later sign-ins use the password."""
    identity = served.edge.identity
    who = await identity.gate.authenticate(key)
    assert who is not None, "the key has just been checked"
    token = identity.links.issue(await identity.accounts.find(who, who.user_id))
    minutes = LIFETIME.total_seconds() // 60
    return {
        "open": f"{served.url}/#once={token}",
        "": f"signs in once, within {minutes:.0f} minutes",
        "sign in": f"{EMAIL}, password in {folder.admin_file}",
    }


async def _missing(settings: Settings) -> dict[str, str]:
    """What will not work here, and what to install."""
    lines: dict[str, str] = {}
    if any(template.kind == "local" for template in settings.templates):
        why = await asyncio.to_thread(why_no_commands)
        lines |= {"commands": f"off: {why}"} if why else {}
    return lines if is_built() else {**lines, "page": HOW}


def _welcome(served: Served, lines: dict[str, str]) -> None:
    ready_at(served)
    for name, value in lines.items():
        typer.echo(f"  {name:<9} {value}")
