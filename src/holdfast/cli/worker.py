"""`holdfast worker`: a process that drives turns, until it is told to stop."""

import asyncio
import sys
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from holdfast.bootstrap import Server
    from holdfast.settings import Settings


def worker() -> None:
    """Drive turns until told to stop: SIGTERM or SIGINT hands over, a second one ends at once.

    Exit codes: 0 handed over, 1 cannot work (the reason is on stderr), 2 wrong settings, 128 + the
    signal's number when ended at once.
    """
    # Here, not above: `holdfast --help` need not load a whole server.
    from holdfast.cli.process import run_process
    from holdfast.settings import Role

    run_process("worker", _work, Role.WORKER)


async def _work(settings: "Settings") -> None:
    from holdfast.bootstrap import open_server
    from holdfast.cli.process import metrics_served, stopping_on_signals

    stopping = stopping_on_signals()
    async with open_server(settings) as server:
        with metrics_served(server, settings):
            await _until_drained(server, settings, stopping)


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
