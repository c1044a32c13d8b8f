"""Bad lines: between servers and their database, servers and their bus, readers and servers.

Each is slow for a while, cut into slices, dead in silence, or cut in the middle of an answer. None
of it lasts as long as a lease: no worker may lose one over it, and no reader may notice more than a
wait.
"""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any, Final, Literal, get_args

from holdfast.adapters.postgres.pool import PoolOptions, open_pool
from holdfast.adapters.postgres.verify import verify
from holdfast.bootstrap import open_server
from holdfast.settings import Settings
from holdfast_lab.chaos.attack import Found, Order
from holdfast_lab.chaos.faults.streams.cell import Cell, Plan, Run, Tally, cell, port_of
from holdfast_lab.chaos.faults.workers.trials import BusKind
from holdfast_lab.chaos.harness.cluster import Theatre, theatre
from holdfast_lab.chaos.harness.proxy import Line, a_line

Trouble = Literal["slow", "slices", "stall", "cut"]
TROUBLES: Final[tuple[Trouble, ...]] = get_args(Trouble)
LINES: Final = 3
BUSES: Final[tuple[BusKind, ...]] = ("redis", "postgres")
BLOWS_MAX: Final = 40
"""To each line of a cell; then another cell begins, with chats that are short again."""
BLOW_S: Final = 0.8
REST_S: Final = 0.2
SLOW_S: Final = 0.2
"""Either way: a database so far off must cost no worker its lease (LV2)."""
SLICE_BYTES: Final = 7
ANSWER_BYTES: Final = 2_000
"""A cut falls somewhere in so much of what is answered."""
STALL_S: Final = (0.3, 1.2)
WORKERS: Final = 1
USUAL: Final[dict[str, Any]] = {"lease_ttl_s": 10.0, "heartbeat_every_s": 3.0}
EMPTY: Final = Plan(seconds=0, seed=1, replicas=0, workers=0)
PLAN: Final = Plan(seconds=0, seed=1, readers=12, joining=4, chats=3, words=60, words_per_s=60)


@dataclass
class Lines:
    """All that can be bad."""

    database: Line
    bus: Line | None
    readers: Line | None = None

    def all(self) -> list[Line]:
        return [line for line in (self.database, self.bus, self.readers) if line is not None]


async def trouble(order: Order) -> Found:
    """On Redis, and if that was not all, by turns with PostgreSQL."""
    found, buses = Found(0), cycle(BUSES)
    async with theatre() as stage:
        while found.count < order.count:
            blows = min(BLOWS_MAX, -(-(order.count - found.count) // LINES))
            seed = order.seed + found.count
            await trouble_on(stage, next(buses), Order(blows, seed, order.say), found)
            order.say(f"{found.count} troubles")
    return found


async def trouble_on(
    stage: Theatre, bus: BusKind, order: Order, found: Found, mutant: str | None = None
) -> None:
    """So many blows to every line at once."""
    plan = replace(PLAN, seconds=order.count * (BLOW_S + REST_S), seed=order.seed)
    async with cell(stage, bus, EMPTY, mutant) as place, _bad_lines(place) as lines:

        async def breaks() -> None:
            async with asyncio.TaskGroup() as tasks:
                for number, line in enumerate(lines.all()):
                    chance = random.Random(order.seed + number)
                    tasks.create_task(_strike(line, order.count, chance, found))

        tally = await Run(place, plan, breaks=breaks).play()
        found.violations += await _wrong(place, tally)
    cuts = sum(line.cuts for line in lines.all())
    for name, value in (("connections_cut", cuts), ("messages", tally.messages)):
        found.figures[name] = found.figures.get(name, 0) + value


@asynccontextmanager
async def _bad_lines(place: Cell) -> AsyncGenerator[Lines]:
    """All processes of the cell behind them: sender, workers, replicas and readers."""
    database_url, bus_url = place.settings["database_url"], place.settings.get("bus_url")
    async with a_line(database_url) as database, a_line(bus_url or database_url) as bus:
        place.settings |= {**USUAL, "database_url": database.instead_of(database_url)}
        if bus_url is not None:
            place.settings["bus_url"] = bus.instead_of(bus_url)
        sender = Settings.model_validate({**place.settings, "role": "api"})
        async with open_server(sender) as place.server:
            await place.add_replica()
            for _ in range(WORKERS):
                await place.add_worker()
            async with a_line(port_of(place.replicas[0])) as readers:
                place.doors[place.replicas[0].name] = readers.port
                yield Lines(database, bus if bus_url is not None else None, readers)


async def _strike(line: Line, blows: int, chance: random.Random, found: Found) -> None:
    """Every kind of trouble as often, in an order of its own."""
    kinds: list[Trouble] = [TROUBLES[number % len(TROUBLES)] for number in range(blows)]
    chance.shuffle(kinds)
    for kind in kinds:
        cuts = line.cuts
        await _trouble(line, kind, chance)
        if kind == "cut" and line.cuts == cuts:
            line.cut()  # so little was said meanwhile that it was never in the middle of it
        line.mend()
        found.count += 1
        await asyncio.sleep(REST_S)


async def _trouble(line: Line, kind: Trouble, chance: random.Random) -> None:
    lasts_s = BLOW_S
    match kind:
        case "slow":
            line.delay_s = SLOW_S
        case "slices":
            line.slices_bytes = SLICE_BYTES
        case "stall":
            line.stall()
            lasts_s = chance.uniform(*STALL_S)
        case "cut":
            line.cut_after(chance.randrange(ANSWER_BYTES))
    await asyncio.sleep(lasts_s)


async def _wrong(place: Cell, tally: Tally) -> list[str]:
    wrong = list(tally.wrong)
    if tally.resets:
        wrong.append(f"{tally.resets} readers were told to begin anew")
    url = str(place.settings["database_url"])
    async with open_pool(url, PoolOptions(connections_min=1, connections_max=1)) as pool:
        wrong += [f"{each.rule} ({each.detail})" for each in await verify(pool)]
        leases = await pool.fetchval("select count(*) from workers")
    if leases != WORKERS:
        wrong.append(f"{leases - WORKERS} leases lost over a bad line")
    return wrong
