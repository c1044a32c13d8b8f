"""`holdfast worker`: a process that drives turns, until it is told to stop."""

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated, Final
from uuid import UUID

import typer

from holdfast.domain.public_ids import CHAT_ID

if TYPE_CHECKING:
    from holdfast.bootstrap import Server
    from holdfast.settings import Settings

ENDS_S: Final = 5.0
"""For a process to end after it was drained."""
CONNECTIONS_MAX: Final = 3


def worker(
    only_chat: Annotated[
        list[UUID] | None, typer.Option(hidden=True, parser=CHAT_ID.decode_or_uuid)
    ] = None,
) -> None:
    """Drive turns. SIGTERM or SIGINT hands them over to other workers; a second signal ends the
    process at once.

    Exit codes: 0 handed over, 1 cannot work (the reason is on stderr), 2 wrong settings, 128 + the
    signal's number after a second signal.
    """
    # Here, not above: `holdfast --help` need not load a whole server.
    from holdfast.cli.process import run_process
    from holdfast.settings import ProcessRole

    if only_chat:
        # Started by a worker, not by a person: see worker/quarantine.py.
        run_process(
            "worker", lambda given: _alone(given, only_chat), ProcessRole.WORKER, adjust=_apart
        )
    else:
        run_process("worker", _work, ProcessRole.WORKER)


async def _work(settings: "Settings") -> None:
    from holdfast.bootstrap import open_server
    from holdfast.bootstrap.quarantine_processes import start_alone
    from holdfast.cli.process import metrics_served, reload_on_hangup, stopping_on_signals

    stopping = stopping_on_signals()
    async with open_server(settings, start_alone=start_alone) as server:
        reload_on_hangup(server)
        with metrics_served(server, settings):
            await _until_drained(server, settings, stopping)


def _apart(settings: "Settings") -> "Settings":
    """Beside the process that started this one, whose name is its own. Few chats need few
    connections."""
    changed = {
        "worker_name": settings.worker_name and f"{settings.worker_name}:alone",
        "database_connections_max": min(CONNECTIONS_MAX, settings.database_connections_max),
    }
    return settings.model_copy(update=changed)


async def _alone(settings: "Settings", chat_ids: list[UUID]) -> None:
    """Drive these chats and no other; ends with them, and with the process that started it, which
    has the port of the metrics."""
    from holdfast.bootstrap import open_server
    from holdfast.bootstrap.quarantine_processes import die_first, stop_with_parent
    from holdfast.cli.process import stopping_on_signals
    from holdfast.domain.ids import ChatId

    die_first()
    stopping = stopping_on_signals()
    stop_with_parent(stopping, settings.drain_s + ENDS_S)
    only = tuple(ChatId(each) for each in chat_ids)
    async with open_server(settings, only=only) as server, asyncio.TaskGroup() as tasks:
        draining = tasks.create_task(_drain_on(stopping, server), name="signals")
        await server.run()
        draining.cancel()


async def _drain_on(stopping: asyncio.Event, server: "Server") -> None:
    await stopping.wait()
    server.drain()


async def _until_drained(server: "Server", settings: "Settings", stopping: asyncio.Event) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(server.run(), name="server")
        announcing = tasks.create_task(_announce(server, settings), name="announcement")
        await stopping.wait()
        announcing.cancel()
        server.drain()


async def _announce(server: "Server", settings: "Settings") -> None:
    from holdfast.cli.process import collect_seldom, log_started

    await server.ready()
    collect_seldom()
    log_started(server, settings)
    typer.echo(f"The worker {server.name} is ready.")
    sys.stdout.flush()
