"""The bare engines, in the same run: what this machine can do without us."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from holdfast_lab.bench.bus_bare import BarePostgres, BareRedis
from holdfast_lab.bench.cell import started
from holdfast_lab.bench.engine import bare_turns_per_s
from holdfast_lab.bench.lanes import Lane, run
from holdfast_lab.bench.lanes import Load as LaneLoad
from holdfast_lab.bench.load import Load
from holdfast_lab.bench.processes import process_cpu_s, server_cpu_s
from holdfast_lab.bench.running import LoadRun, Outcome, Target

FLAT_OUT: Final = 10_000_000
EVENTS: Final = 40_000
"""That the bare bus carries, in all."""
CHATS_MAX: Final = 1_000
BARE_TURNS: Final = 3_000
"""Of the bare app, in all: enough that the kernel's clock of 10 ms can tell their cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asgi:
    turns_per_s: float
    server_cpu_ms: float
    """For each turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bus:
    events_per_s: float
    cpu_us: float
    """For each event: publisher, reader and engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baselines:
    """None: not measured."""

    pgbench_turns_per_s: float | None = None
    bus: Bus | None = None
    asgi: Asgi | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Engines:
    """Where the bare engines are."""

    pgbench: str
    database_url: str
    data: Path
    folder: Path
    bus_url: str = ""


async def measure(
    engines: Engines, load: Load, ours: Outcome, seconds: int, tell: Callable[[str], None]
) -> Baselines:
    tell("bare PostgreSQL, by pgbench with our statements")
    rate = await bare_turns_per_s(
        engines.pgbench, engines.database_url, engines.folder, seconds=seconds
    )
    tell("bare bus")
    bus = await asyncio.to_thread(_bus, engines, min(load.chats, CHATS_MAX))
    tell("bare ASGI stream")
    parts = max(1, round(ours.parts / max(ours.turns, 1)))
    return Baselines(
        pgbench_turns_per_s=rate, bus=bus, asgi=await _asgi(load, parts, engines.folder)
    )


def _bus(engines: Engines, chats: int) -> Bus:
    """As many as it can, from one process to another."""
    lane: Lane = BareRedis() if engines.bus_url else BarePostgres()
    asked = LaneLoad(chats, FLAT_OUT, EVENTS / FLAT_OUT)
    found = run(
        lane,
        engines.bus_url or engines.database_url,
        asked,
        lambda: 0.0 if engines.bus_url else server_cpu_s(engines.data),
    )
    return Bus(events_per_s=found.events_per_s, cpu_us=found.total)


async def _asgi(load: Load, parts: int, folder: Path) -> Asgi:
    """The same client, the same checks, and as many parts in each turn."""
    chats = min(load.chats, CHATS_MAX)
    turns = -(-BARE_TURNS // chats)
    plain = replace(load, chats=chats, turns=turns, tools=0, rate=0.0, storm=False)
    command = ("holdfast_lab.bench.asgi", str(parts))
    async with started(command, {}, folder / "asgi.log") as process:
        bare = LoadRun(plain, Target(urls=[process.url], key="none"))
        before = 0.0

        async def go(bare: LoadRun) -> None:
            nonlocal before
            await bare.prepare()
            before = process_cpu_s(process.pid)
            await bare.go()

        await bare.run(go)
        used = process_cpu_s(process.pid) - before
    assert not bare.outcome.wrong, bare.outcome.wrong
    return Asgi(
        turns_per_s=bare.outcome.turns_per_s, server_cpu_ms=used * 1000 / bare.outcome.turns
    )
