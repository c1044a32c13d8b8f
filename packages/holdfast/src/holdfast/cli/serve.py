"""`holdfast serve`: a process that serves the API and the page and, by its role, drives turns."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from holdfast.bootstrap.edge import Served
    from holdfast.settings import Settings, WrongSettings


def serve() -> None:
    """Serve the API and the page. SIGTERM or SIGINT ends streams with a hint to reconnect and hands
    over turns; a second signal ends the process at once.

    HOLDFAST_ROLE: `all` also drives turns, `api` leaves them to workers. The exit codes are those
    of `holdfast worker`.
    """
    # Here, not above: `holdfast --help` need not load a whole server.
    from holdfast.cli.process import run_process

    run_process("server", _serve)


async def _serve(settings: "Settings") -> None:
    from holdfast.bootstrap import open_server
    from holdfast.bootstrap.edge import open_served
    from holdfast.bootstrap.quarantine_processes import start_alone
    from holdfast.cli.process import (
        log_started,
        metrics_served,
        reload_on_hangup,
        stopping_on_signals,
    )
    from holdfast.settings import ProcessRole, WrongSettings, env_name

    if settings.role is ProcessRole.WORKER:
        raise WrongSettings(
            f"{env_name('role')}: a worker does not serve HTTP; use `holdfast worker`."
        )
    stopping = stopping_on_signals()
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(open_server(settings, start_alone=start_alone))
        reload_on_hangup(server)
        stack.enter_context(metrics_served(server, settings))
        try:
            served = await stack.enter_async_context(open_served(server, settings))
        except OSError as error:
            raise cannot_be_used(settings, error) from None

        def announce() -> None:
            log_started(server, settings)
            ready_at(served)

        await until_drained(served, stopping, announce)


def cannot_be_used(settings: "Settings", error: OSError) -> "WrongSettings":
    from holdfast.settings import WrongSettings, env_name

    where = f"{env_name('host')} and {env_name('port')}"
    return WrongSettings(
        f"{where}: {settings.host}:{settings.port} cannot be used: {error.strerror}."
    )


async def until_drained(
    served: "Served", stopping: asyncio.Event, announce: Callable[[], None]
) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(served.run(), name="served")
        announcing = tasks.create_task(_announced(served, announce), name="announcement")
        await stopping.wait()
        announcing.cancel()
        served.drain()


async def _announced(served: "Served", announce: Callable[[], None]) -> None:
    from holdfast.cli.process import collect_seldom

    await served.ready()
    collect_seldom()
    announce()
    sys.stdout.flush()


def ready_at(served: "Served") -> None:
    typer.echo(f"Holdfast is ready at {served.url}")
