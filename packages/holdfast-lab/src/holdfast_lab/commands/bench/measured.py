"""Puts a run together: a place to measure in, the run, and what is told of it."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Final, TypeAlias

import orjson
import typer
import uvloop

from holdfast.adapters.postgres.migrate import MigrateOptions, migrate
from holdfast.bootstrap.edge import create_first_with_key, open_identity
from holdfast.cli.dev.folder import EMAIL
from holdfast.cli.dev.postgres import PrivatePostgres, private_postgres
from holdfast.cli.exit_codes import Exit
from holdfast.cli.process import say
from holdfast.domain.errors import HoldfastError
from holdfast.settings import ProcessRole, WrongSettings, read_settings
from holdfast.tasks import end_on_terminate
from holdfast_lab.bench.baselines import Engines
from holdfast_lab.bench.cell import Cell, Wanted, a_cell, allow_many_files
from holdfast_lab.bench.figures import figures_of, lines
from holdfast_lab.bench.load import Load
from holdfast_lab.bench.page import page_of
from holdfast_lab.bench.running import Target
from holdfast_lab.bench.told import Told
from holdfast_lab.bench.watch import Sources
from holdfast_lab.bench.whole import Asked, Telling, run_whole
from holdfast_lab.commands.bench.progress import Progress

FILES_BESIDE: Final = 500
"""That we and each server need, beside one for each reader."""
POSTGRES: Final = {
    "shared_buffers": "512MB",
    "max_wal_size": "4GB",
    "max_connections": "200",
}
"""The usual settings for this load; commits are durable, as always."""
COUNTING: Final = "pg_stat_statements"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    load: Load
    replicas: int = 1
    workers: int = 1
    bus_url: str = ""
    baseline_s: int = 0
    urls: tuple[str, ...] = ()
    key: str = ""
    model: str | None = None
    connections: int = 16
    patience_s: float = 60.0
    json: Path | None = None
    html: Path | None = None


Measure: TypeAlias = Callable[[Asked, Telling], Coroutine[Any, Any, Told]]


async def measure_turns(asked: Asked, telling: Telling) -> Told:
    result = await run_whole(asked, telling)
    said = list(lines(result))
    return Told(
        passed=result.passed,
        figures=figures_of(result),
        lines=said,
        page=page_of(result, "\n".join(said)),
    )


def measured(wish: Wish, measure: Measure = measure_turns) -> None:
    """Raises `typer.Exit` with the code that says how it went, if not well."""
    try:
        with Progress(wish.load) as progress:
            told = uvloop.run(_run(wish, measure, progress))
    except (HoldfastError, WrongSettings) as reason:
        say(str(reason))
        raise typer.Exit(Exit.FAILED) from None
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise typer.Exit(Exit.INTERRUPTED) from None
    _tell(wish, told)
    if not told.passed:
        raise typer.Exit(Exit.FAILED)


def _tell(wish: Wish, told: Told) -> None:
    typer.echo("\n".join(told.lines))
    if wish.json is not None:
        wish.json.write_bytes(orjson.dumps(told.figures, option=orjson.OPT_INDENT_2) + b"\n")
    if wish.html is not None:
        wish.html.write_text(told.page, encoding="utf-8")


async def _run(wish: Wish, measure: Measure, progress: Progress) -> Told:
    allow_many_files(wish.load.watched + FILES_BESIDE)
    end_on_terminate()
    async with _place(wish, progress) as asked:
        return await measure(asked, progress.telling)


@asynccontextmanager
async def _place(wish: Wish, progress: Progress) -> AsyncGenerator[Asked]:
    if wish.urls:
        yield _elsewhere(wish)
        return
    # Not below the home of root, whom PostgreSQL refuses to be; see `holdfast dev`.
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as name:
        folder = Path(name)
        await asyncio.to_thread(folder.chmod, 0o711)
        progress.stage("starting PostgreSQL")
        async with _database(folder) as postgres:
            key = await _first_key(postgres.url)
            progress.stage("starting the servers")
            wanted = Wanted(
                database_url=postgres.url,
                folder=folder,
                replicas=wish.replicas,
                workers=wish.workers,
                bus_url=wish.bus_url,
            )
            async with a_cell(wanted) as cell:
                yield _here(wish, cell, postgres, folder, key)


@asynccontextmanager
async def _database(folder: Path) -> AsyncGenerator[PrivatePostgres]:
    """One that counts its statements, if it can."""
    async with private_postgres(folder, POSTGRES, library=COUNTING) as postgres:
        await migrate(postgres.url, MigrateOptions(tells_each=False))
        yield postgres


async def _first_key(url: str) -> str:
    async with open_identity(read_settings(database_url=url, role=ProcessRole.API)) as identity:
        first = await create_first_with_key(
            identity,
            organisation="Bench",
            email=EMAIL,
            password="used by this run only",  # noqa: S106 - a server that lives for minutes
            name="Bench",
        )
    assert first is not None, "the database is new"
    return first.key.secret


def _target(wish: Wish, urls: tuple[str, ...], key: str) -> Target:
    return Target(
        urls=urls,
        key=key,
        model=wish.model,
        connections=wish.connections,
        patience_s=wish.patience_s,
    )


def _here(wish: Wish, cell: Cell, postgres: PrivatePostgres, folder: Path, key: str) -> Asked:
    both = (*cell.replicas, *cell.workers)
    engines = Engines(
        pgbench=postgres.binaries["pgbench"],
        database_url=postgres.url,
        data=postgres.data,
        folder=folder,
        bus_url=wish.bus_url,
    )
    return Asked(
        load=wish.load,
        target=_target(wish, tuple(each.url for each in cell.replicas), key),
        sources=Sources(
            pids=cell.pids(),
            data=postgres.data,
            database_url=postgres.url,
            metrics_urls=[each.metrics_url for each in both],
        ),
        setup={
            "version": metadata.version("holdfast"),
            "replicas": wish.replicas,
            "workers": wish.workers,
            "bus": "redis" if wish.bus_url else "postgresql",
            "postgresql": postgres.binaries.major,
        },
        engines=engines if wish.baseline_s else None,
        baseline_s=wish.baseline_s,
        simulator_url=cell.simulators[0].url,
        folder=folder,
    )


def _elsewhere(wish: Wish) -> Asked:
    """Of a server that is not ours, only what it tells an admin, and our own side."""
    return Asked(
        load=wish.load,
        target=_target(wish, wish.urls, wish.key),
        sources=Sources(pids={}, metrics_urls=wish.urls, key=wish.key),
        setup={"server": ", ".join(wish.urls)},
    )
