"""`just bench-bus`: what a live event costs on our bus, beside the bare engine in the same run.

Publisher and reader are two processes; engines are private servers. Rounds alternate between the
lanes, so that a noisy neighbour meets all; figures are medians, ratios are taken round by round.
"""

import argparse
import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from statistics import median
from typing import Any, Final

import uvloop

from benchmarks import bus_saturation
from benchmarks.bus_glide import BareGlide
from benchmarks.bus_ours import BusLane, on_postgres, on_redis
from benchmarks.bus_saturation import OTHERS, TURNS_PER_S, Step, empty, engine_us, highest, saturate
from benchmarks.report import stamp, write_json, write_page
from holdfast.db.migrate import migrate
from holdfast_lab.bench.bus_bare import BarePostgres, BareRedis
from holdfast_lab.bench.lanes import TICK_S, Lane, Load, Run, run
from holdfast_lab.bench.processes import process_cpu_s, server_cpu_s
from holdfast_lab.chaos.stage.private_postgres import PrivatePostgres, private_postgres
from holdfast_lab.chaos.stage.private_redis import PrivateRedis, private_redis

GOAL: Final = 1.5
RATES: Final[Mapping[int, int]] = {100: 2_000, 1_000: 20_000}
NAMES: Final = {
    "bare_postgres": "asyncpg, bare",
    "postgres": "**our bus on PostgreSQL**",
    "bare_redis": "redis-py with hiredis, bare",
    "redis": "**our bus on Redis**",
    "glide": "valkey-glide, bare",
}
BARE: Final = {"postgres": "bare_postgres", "redis": "bare_redis", "glide": "bare_redis"}

Rounds = dict[int, list[dict[str, Run]]]
"""By number of chats: what each lane used, round by round."""


@dataclass(frozen=True)
class Way:
    lane: Lane
    url: str
    engine_cpu_s: Callable[[], float]
    empty: Callable[[], Coroutine[Any, Any, object]]
    """Else parts of an earlier run would be in the way, or make this one cheaper."""


def ways(postgres: PrivatePostgres, redis: PrivateRedis) -> dict[str, Way]:
    assert redis.process is not None
    pid = redis.process.pid

    def of_postgres(lane: Lane) -> Way:
        return Way(
            lane, postgres.url, lambda: server_cpu_s(postgres.data), lambda: empty(postgres.url)
        )

    def of_redis(lane: Lane) -> Way:
        return Way(lane, redis.url, lambda: process_cpu_s(pid), lambda: redis.command("FLUSHALL"))

    return {
        "bare_postgres": of_postgres(BarePostgres()),
        "postgres": of_postgres(BusLane(on_postgres)),
        "bare_redis": of_redis(BareRedis()),
        "redis": of_redis(BusLane(on_redis)),
        "glide": of_redis(BareGlide()),
    }


async def measure(seconds: float, rounds: int, *, quick: bool) -> tuple[Rounds, list[Step]]:
    found: Rounds = {chats: [] for chats in RATES}
    async with private_postgres({}) as postgres, private_redis() as redis:
        await migrate(postgres.url)
        for _ in range(rounds):
            for chats, rate in RATES.items():
                runs: dict[str, Run] = {}
                for name, way in ways(postgres, redis).items():
                    load = Load(chats, rate, seconds)
                    await way.empty()
                    runs[name] = await asyncio.to_thread(
                        run, way.lane, way.url, load, way.engine_cpu_s
                    )
                found[chats].append(runs)
        steps = await saturate(postgres, seconds, quick=quick)
    return found, steps


def middle(rounds: Sequence[dict[str, Run]], name: str, of: Callable[[Run], float]) -> float:
    return median(of(runs[name]) for runs in rounds)


def ratio(rounds: Sequence[dict[str, Run]], name: str) -> float:
    return median(runs[name].total / runs[BARE[name]].total for runs in rounds)


def rows(rounds: Sequence[dict[str, Run]]) -> str:
    lines: list[str] = []
    for name, title in NAMES.items():
        figures = [
            middle(rounds, name, attrgetter(of))
            for of in ("total", "publisher", "reader", "engine", "p50_ms", "p99_ms")
        ]
        beside = f"**{ratio(rounds, name):.2f}**" if name in BARE else "1"
        cells = " | ".join(f"{figure:.1f}" for figure in figures)
        lines.append(f"| {title} | {beside} | {cells} |")
    return "\n".join(lines)


def step_rows(steps: Sequence[Step]) -> str:
    lines: list[str] = []
    for each in steps:
        told = each.run
        cells = (
            f"{told.events_per_s:,.0f} | {told.engine_cores:.2f} | {told.engine:.0f} "
            f"| {told.p50_ms:.0f} | {told.p99_ms:.0f}"
            if told
            else "– | – | – | – | –"
        )
        lines.append(
            f"| {each.events_per_s:,} | {1 + each.others} | {cells} | {each.turn_ms:.1f} "
            f"| {each.busy:.0%} |"
        )
    return "\n".join(lines)


def report(found: Rounds, steps: Sequence[Step], load: str) -> str:
    page = PAGE.format(
        stamp=stamp(),
        load=load,
        tick_ms=TICK_S * 1000,
        goal=GOAL,
        large=rows(found[1_000]),
        small=rows(found[100]),
        turns=TURNS_PER_S,
        delay_ms=bus_saturation.DELAY_MS_MAX,
        steps=step_rows(steps),
        others=OTHERS,
    )
    figures: dict[str, float | int | str] = {}
    for others, suffix in ((0, ""), (OTHERS, f"_{1 + OTHERS}_replicas")):
        each = engine_us(steps, others)
        figures[f"postgres_engine_us_per_event{suffix}"] = round(each, 1)
        figures[f"postgres_events_per_s_of_one_core{suffix}"] = round(1e6 / each, -3)
        figures[f"postgres_events_per_s_held{suffix}"] = highest(steps, others).events_per_s
    for chats, suffix in ((1_000, ""), (100, "_100_chats")):
        for name in NAMES:
            total = middle(found[chats], name, lambda r: r.total)
            figures[f"{name}_us_per_event{suffix}"] = round(total, 1)
            if name in BARE:
                beside = "redis_py" if name == "glide" else "bare"
                figures[f"{name}_ratio_to_{beside}{suffix}"] = round(ratio(found[chats], name), 2)
    write_page("bus", page)
    write_json("bus", figures)
    return page


PAGE: Final = """# A live event on the bus, beside the bare engine

{stamp} Written by `just bench-bus`. Load average of the machine
before and after: {load}.

Live events of 60 bytes go from one process to another through an engine on the same machine; a
tick is {tick_ms:.0f} ms. *Bare* is the driver alone, sending what our bus sends: the same
statement or script with the same arguments once per tick, read by a callback or a loop, with no
bounds, no mailbox per chat, no gap, no reconnect. Our bus is used as the server uses it: one
`append` per event, one follower and one task per chat. Every event is seen to arrive once and in
order, in all lanes; a run in which one does not fails. CPU in µs per event, delays in ms. Goal:
within {goal} of bare.

## 1,000 chats, 20,000 events/s

| | ratio to bare | total | publisher | reader | engine | p50 | p99 |
|---|---|---|---|---|---|---|---|
{large}

## 100 chats, 2,000 events/s

| | ratio to bare | total | publisher | reader | engine | p50 | p99 |
|---|---|---|---|---|---|---|---|
{small}

## Which client for Redis

The bare rows *redis-py* and *valkey-glide* do the same: EVALSHA calls of up to 64 parts in one
batch per tick, and a subscriber to every channel, by a connection's `read_response` there and by
the callback here. Glide's batch is cheaper to send, its subscriber dearer by more than that.

## How much one PostgreSQL carries

The ledger does {turns} turns/s on the same server; rates rise until the p99 exceeds
{delay_ms:.0f} ms, the rate is not reached or parts are dropped. Cores and µs are the server's,
without the ledger's share. {others} further replicas are played by connections that listen to
1,000 chats each. The first row is the ledger alone. *Busy* is the whole machine: where it is
near 100 %, the two Python processes, the ledger and the neighbours are the limit, not PostgreSQL.

| asked for, events/s | replicas | reached | cores | µs | p50 | p99 | a turn, ms | busy |
|---|---|---|---|---|---|---|---|---|
{steps}

## Method

Private servers; engine CPU is read from the kernel (all processes of PostgreSQL, redis-server),
that of the two processes by themselves, after a warm-up. Before each run the live log is emptied.
Rounds alternate between the lanes; medians over rounds, ratios taken round by round. Delays
include the wait for the tick. At 2,000 events/s most of the cost is per tick, not per event, and
an engine's figure moves by the kernel's clock (10 ms). Absolute figures belong to one small,
shared machine: read the ratios.

## What limits it

The reader: what is read is decoded (3 to 4 µs), put into a mailbox, and wakes the task of its
chat (about 4 µs); the bare lanes have one loop for all chats. What moved it, on Redis: up to 64
parts per script call instead of one (the bare client gains as much), then packing by hiredis
instead of redis-py's own and a bare future instead of an `asyncio.Event` in the mailbox: publisher
and reader in one process went from 28 to 17 µs by the last two. What would move it further: parts
that cost less to make than a frozen dataclass, and reading a whole buffer of messages at once,
for which redis-py has no public way.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3, help="length of a run")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each lane and load")
    parser.add_argument("--quick", action="store_true", help="one short round; writes nothing")
    options = parser.parse_args()
    if options.quick:
        found, steps = uvloop.run(measure(0.5, 1, quick=True))
        print(*(rows(found[chats]) for chats in RATES), step_rows(steps), sep="\n\n")
    else:
        before = os.getloadavg()[0]
        found, steps = uvloop.run(measure(options.seconds, options.rounds, quick=False))
        print(report(found, steps, f"{before:.1f}, {os.getloadavg()[0]:.1f}"))


if __name__ == "__main__":
    main()
