"""`just bench-ledger`: the ledger from Python against pgbench with the same statements.

One run on a private server: rounds alternate between the two, so that a noisy neighbour meets both;
figures are medians, and the ratio is taken round by round.
"""

import argparse
import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import UUID

import uvloop

from benchmarks import bare
from benchmarks.report import stamp, write_json, write_page
from holdfast.adapters.postgres.clock import DatabaseClock
from holdfast.adapters.postgres.history import PostgresHistory
from holdfast.adapters.postgres.leases import PostgresLeases
from holdfast.adapters.postgres.migrate import migrate
from holdfast.adapters.postgres.pool import Pool, PoolOptions, open_pool
from holdfast.adapters.postgres.store import PostgresStore
from holdfast.adapters.postgres.verify import verify
from holdfast.chats.changes import Actor, ChangeRequest
from holdfast.chats.create import create
from holdfast.chats.ledger import Ledger
from holdfast.chats.send import send
from holdfast.domain.chat import Chat
from holdfast.domain.commands import CommitStep, Create, FinishTurn
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId, ClientKey
from holdfast.domain.messages import MessageBody, Role
from holdfast.domain.parts import Text
from holdfast.ports.store import IdempotencyKey
from holdfast_lab.bench import pgbench
from holdfast_lab.bench.engine import ORG, NoHints, chat_id, owner, prepare, worker_id
from holdfast_lab.bench.processes import server_cpu_s
from holdfast_lab.chaos.harness.private_postgres import PrivatePostgres, binary, private_postgres
from tests.support.wire import tapped
from tests.support.world import postgres_world

USERS: Final = 64
SAID: Final = MessageBody(role=Role.USER, parts=(Text("hello, this is what is said"),))
REPLY: Final = MessageBody(role=Role.ASSISTANT, parts=(Text("hello, this is what is said"),))
CONNECTIONS: Final = 16
LENGTHS: Final = (100, 1_000, 10_000)


Lengths = dict[str, dict[int, float]]


@dataclass(frozen=True)
class Bench:
    server: PrivatePostgres
    pool: Pool
    ledger: Ledger
    leases: PostgresLeases
    history: PostgresHistory


@dataclass(frozen=True)
class Round:
    turns_per_s: float
    python_ms: float
    postgres_ms: float


Rounds = dict[int, list[tuple[Round, Round, Round]]]
"""By number of chats: pgbench, the bare driver, the ledger."""


async def turns(bench: Bench, client: int, until: float, counts: list[int]) -> None:
    """One chat after another: send with a key, acquire, read, commit the reply and finish."""
    dice = random.Random(f"{client} {time.monotonic_ns()}")  # a key is never used twice
    actor = Actor(ORG, owner(client))
    number = 0
    while time.monotonic() < until:
        number += 1
        target = chat_id(client, number % pgbench.CHATS_PER_CLIENT)
        keyed = IdempotencyKey(ClientKey(f"p{dice.getrandbits(60)}"), b"\x00\x11\x22\x33")
        await send(bench.ledger, actor, target, SAID, keyed=keyed)
        ring = UUID(int=dice.getrandbits(128))
        for chat in (await bench.leases.acquire(worker_id(client), limit=1, ring_start=ring)).chats:
            await drive(bench, chat)
            counts[client] += 1


async def drive(bench: Bench, chat: Chat) -> None:
    """Acquiring has begun the attempt."""
    fence = Fence.of(chat)
    await bench.history.page(chat.chat_id, limit=pgbench.HISTORY_READ)
    request = ChangeRequest((CommitStep((REPLY,)), FinishTurn()), by=fence, snapshot=chat)
    await bench.ledger.transact(chat.chat_id, request)


async def bare_turns(bench: Bench, client: int, until: float, counts: list[int]) -> None:
    """The same, by the driver alone."""
    dice = random.Random(f"{client} {time.monotonic_ns()}")  # a key is never used twice
    number = 0
    while time.monotonic() < until:
        number += 1
        target = chat_id(client, number % pgbench.CHATS_PER_CLIENT)
        key, ring = f"b{dice.getrandbits(60)}", UUID(int=dice.getrandbits(128))
        counts[client] += await bare.turn(bench.pool, target, worker_id(client), key, ring)


async def python_round(
    bench: Bench,
    lane: Callable[[Bench, int, float, list[int]], Coroutine[Any, Any, None]],
    clients: int,
    seconds: float,
) -> Round:
    counts = [0] * clients
    cpu, engine, started = time.process_time(), server_cpu_s(bench.server.data), time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        for client in range(clients):
            tasks.create_task(lane(bench, client, started + seconds, counts))
    took, done = time.monotonic() - started, sum(counts)
    return Round(
        done / took,
        (time.process_time() - cpu) * 1000 / done,
        (server_cpu_s(bench.server.data) - engine) * 1000 / done,
    )


async def pgbench_round(bench: Bench, folder: Path, clients: int, seconds: int) -> Round:
    engine = server_cpu_s(bench.server.data)
    rate = await asyncio.to_thread(
        pgbench.turns_per_s,
        binary("pgbench"),
        bench.server.url,
        folder,
        clients=clients,
        seconds=seconds,
    )
    used = server_cpu_s(bench.server.data) - engine
    return Round(rate, 0.0, used * 1000 / (rate * seconds))


async def settle(bench: Bench) -> None:
    """Nothing of one round is left to be driven in the next, and the disk has caught up."""
    await bench.pool.execute("delete from queued_messages where removed_revision is null")
    await bench.pool.execute(
        "update chats set status = 'idle', worker_id = null, runnable_since = null, attempt = 0,"
        " owes_reply = false, queue_length = 0 where status <> 'idle'"
    )
    await bench.pool.execute("vacuum chats")
    await bench.pool.execute("checkpoint")


async def count_statements(server: PrivatePostgres) -> dict[str, int]:
    """What an operation costs in statements, counted on the wire (and asserted by the tests)."""
    async with (
        tapped(server.url) as tap,
        open_pool(tap.url, PoolOptions(connections_min=1, connections_max=1)) as pool,
    ):
        world = postgres_world(pool)
        actor, worker = Actor(ORG, owner(1)), worker_id(1)
        chat = await create(world.ledger, world.ids, actor, (SAID,))
        # Once beforehand: the driver asks each connection about types that it meets first.
        (driven,) = (await world.leases.acquire(worker, limit=9, ring_start=UUID(int=1))).chats
        await world.drive(driven, CommitStep((REPLY,)), FinishTurn())
        counts = {"statements_send": -tap.statements}
        await send(world.ledger, actor, chat.chat.chat_id, SAID)
        counts["statements_send"] += tap.statements
        counts["statements_acquire"] = -tap.statements
        (driven,) = (await world.leases.acquire(worker, limit=9, ring_start=UUID(int=1))).chats
        counts["statements_acquire"] += tap.statements
        counts["statements_step_commit"] = -tap.statements
        await world.drive(driven, CommitStep((REPLY,)), FinishTurn())
        counts["statements_step_commit"] += tap.statements
        return counts


async def cost_by_length(bench: Bench, rounds: int) -> Lengths:
    """Median ms of a send, a step commit and a page in chats of three lengths, interleaved."""
    chats = {length: await a_long_chat(bench, length) for length in LENGTHS}
    times: dict[str, dict[int, list[float]]] = {
        what: {length: [] for length in LENGTHS} for what in ("send", "step", "page")
    }

    async def timed(what: str, length: int, work: Callable[[], Awaitable[object]]) -> None:
        started = time.perf_counter()
        await work()
        times[what][length].append((time.perf_counter() - started) * 1000)

    actor = Actor(ORG, owner(0))
    for _ in range(rounds):
        for length, chat in chats.items():
            await timed("send", length, lambda c=chat: send(bench.ledger, actor, c, SAID))
            acquired = await bench.leases.acquire(worker_id(0), limit=1, ring_start=UUID(int=1))
            (driven,) = acquired.chats
            await timed("step", length, lambda c=driven: drive(bench, c))
            await timed("page", length, lambda c=chat: bench.history.page(c, limit=50))
    return {w: {n: median(all_) for n, all_ in by.items()} for w, by in times.items()}


async def a_long_chat(bench: Bench, length: int) -> ChatId:
    chat = Chat(chat_id=chat_id(900, length % 997), org_id=ORG, owner_id=owner(0))
    said = [SAID if number % 2 == 0 else REPLY for number in range(length)]
    await bench.ledger.create(chat, Create(tuple(said)))
    return chat.chat_id


async def measure(seconds: int, rounds: int) -> tuple[Rounds, Lengths, dict[str, int]]:
    settings = {"shared_buffers": "512MB", "max_wal_size": "4GB", "max_connections": "200"}
    async with private_postgres(settings) as server:
        await migrate(server.url)
        options = PoolOptions(connections_min=CONNECTIONS, connections_max=CONNECTIONS)
        async with open_pool(server.url, options) as pool:
            clock = await DatabaseClock.open(pool)
            ledger = Ledger(PostgresStore(pool), NoHints(), clock)
            bench = Bench(server, pool, ledger, PostgresLeases(pool), PostgresHistory(pool))
            await prepare(pool, ledger, bench.leases, clients=USERS)
            statements = await count_statements(server)
            lengths = await cost_by_length(bench, rounds=150)
            found: Rounds = {16: [], 64: []}
            with TemporaryDirectory() as folder:
                for _ in range(rounds):
                    for clients, triples in found.items():
                        await settle(bench)
                        engine = await pgbench_round(bench, Path(folder), clients, seconds)
                        await settle(bench)
                        driver = await python_round(bench, bare_turns, clients, seconds)
                        await settle(bench)
                        ours = await python_round(bench, turns, clients, seconds)
                        triples.append((engine, driver, ours))
            broken = await verify(pool, [chat_id(c, n) for c in range(4) for n in range(50)])
            assert not broken, broken
    return found, lengths, statements


def report(found: Rounds, lengths: Lengths, statements: dict[str, int]) -> None:
    rows: list[str] = []
    ratios: dict[int, float] = {}
    for clients, triples in found.items():
        ratios[clients] = median(o.turns_per_s / e.turns_per_s for e, _, o in triples)
        driver = median(d.turns_per_s / e.turns_per_s for e, d, _ in triples)
        for name, index, ratio in (
            ("pgbench", 0, 1.0),
            ("bare asyncpg", 1, driver),
            ("**ledger**", 2, ratios[clients]),
        ):
            each = [triple[index] for triple in triples]
            python_ms = median(r.python_ms for r in each)
            rows.append(
                f"| {clients} | {name} | {median(r.turns_per_s for r in each):,.0f} "
                f"| **{ratio:.2f}** | {f'{python_ms:.2f}' if index else '–'} "
                f"| {median(r.postgres_ms for r in each):.2f} |"
            )
    flat = {what: by[10_000] / by[100] for what, by in lengths.items()}
    table = "\n".join(
        f"| {what} | {by[100]:.2f} | {by[1_000]:.2f} | {by[10_000]:.2f} | **{flat[what]:.2f}** |"
        for what, by in lengths.items()
    )
    write_page("ledger", PAGE.format(stamp=stamp(), rows="\n".join(rows), lengths=table))
    write_json(
        "ledger",
        {
            "ratio_to_pgbench": round(ratios[16], 3),
            "ratio_to_pgbench_64": round(ratios[64], 3),
            "python_cpu_ms_per_turn": round(median(o.python_ms for *_, o in found[16]), 3),
            "bare_driver_cpu_ms_per_turn": round(median(d.python_ms for _, d, _ in found[16]), 3),
            "bare_driver_ratio_to_pgbench": round(
                median(d.turns_per_s / e.turns_per_s for e, d, _ in found[16]), 3
            ),
            "flat_10000_over_100": round(max(flat.values()), 3),
            **statements,
        },
    )


PAGE = """# The ledger against the bare engine

{stamp} Written by `just bench-ledger`.

A turn is: send a message under an idempotency key (load, commit), acquire, read the history, commit
the reply and finish: **five statements**, `synchronous_commit=on`. pgbench runs the same five with
values in their places (`holdfast_lab.bench.pgbench` makes its script from our SQL files);
*bare asyncpg*
runs them from Python with no ledger above. "ms" is CPU per turn, of our process and the server's.

| chats at once | | turns/s | ratio to pgbench | Python, ms/turn | PostgreSQL, ms/turn |
|---|---|---|---|---|---|
{rows}

## Does a long chat cost more?

Median milliseconds in chats of so many messages, interleaved; the last column is 10,000 over 100.

| | 100 | 1,000 | 10,000 | ratio |
|---|---|---|---|---|
{lengths}

## Method

A private PostgreSQL server on the same machine; 64 owners with 60 chats each; rounds alternate
between the three; medians over rounds, ratios taken round by round. pgbench opens a
connection per chat, the ledger shares 16. CPU is read from the kernel. Absolute figures belong to
one small, shared machine: read the ratios.

## What limits it

CPU. Three busy parties share two cores: the server, which needs most, our process, and the kernel
between them. pgbench leaves nearly all of it to the server. The bare driver shows what any Python
client pays for five statements, more than half of it in asyncpg, its pool and the loop; what the
ledger adds is the rest: facts from rows, decisions (25 to 35 µs each), encoding, checks.
A slower turn of the same machine moves all three, so a figure in ms means little without its row.
What would move it: a leaner checkout of connections than the pool's (about 25 µs of 60 per
statement), and batched
acquires, which the worker will make and this turn-by-turn comparison does not.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=8, help="length of a round")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each kind")
    options = parser.parse_args()
    report(*uvloop.run(measure(options.seconds, options.rounds)))
    print((Path(__file__).parent / "ledger.md").read_text())


if __name__ == "__main__":
    main()
