"""`just bench-ledger`: the ledger from Python against pgbench with the same statements.

One run on a private server: rounds alternate between the two, so that a noisy neighbour meets both;
figures are medians, and the ratio is taken round by round.
"""

import argparse
import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final
from uuid import UUID

import uvloop
from tests.support.private_postgres import PrivatePostgres, private_postgres

from benchmarks import pgbench
from benchmarks.processes import server_cpu_s
from benchmarks.report import stamp, write_json, write_page
from holdfast.chats.ledger import Actor, Ledger
from holdfast.chats.send import send
from holdfast.db.clock import DatabaseClock
from holdfast.db.history import PostgresHistory
from holdfast.db.leases import PostgresLeases
from holdfast.db.migrate import migrate
from holdfast.db.pool import Pool, PoolOptions, open_pool
from holdfast.db.store import PostgresStore
from holdfast.db.verify import verify
from holdfast.domain.chat import Chat
from holdfast.domain.commands import BeginAttempt, CommitStep, Create, FinishTurn
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId, ClientKey, OrgId, UserId, WorkerId
from holdfast.domain.messages import MessageBody, Role
from holdfast.domain.parts import Text
from holdfast.ports.hints import Hint
from holdfast.ports.store import Keyed

ORG: Final = OrgId(UUID(int=1))
USERS: Final = 64
SAID: Final = MessageBody(role=Role.USER, parts=(Text("hello, this is what is said"),))
REPLY: Final = MessageBody(role=Role.ASSISTANT, parts=(Text("hello, this is what is said"),))
HOUR: Final = timedelta(hours=1)
CONNECTIONS: Final = 16
LENGTHS: Final = (100, 1_000, 10_000)


class NoHints:
    async def publish(self, hints: Sequence[Hint]) -> None:
        pass


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


def chat_id(client: int, number: int) -> ChatId:
    return ChatId(UUID(int=(0x7000_8000 << 48) + client * 1000 + number))


def worker_id(client: int) -> WorkerId:
    return WorkerId(UUID(int=(0x7000_9000 << 48) + client))


def owner(client: int) -> UserId:
    return UserId(UUID(int=1000 + client))


async def prepare(bench: Bench) -> None:
    await bench.pool.execute("insert into organisations values ($1, 'bench')", ORG)
    for client in range(USERS):
        await bench.pool.execute("insert into users values ($1, $2, 'u')", owner(client), ORG)
        await bench.leases.join(worker_id(client), name="bench", ttl=HOUR)
        for number in range(pgbench.CHATS_PER_CLIENT):
            chat = Chat(chat_id=chat_id(client, number), org_id=ORG, owner_id=owner(client))
            await bench.ledger.create(chat, Create())
    await bench.pool.execute("vacuum analyze")


async def turns(bench: Bench, client: int, until: float, counts: list[int]) -> None:
    """One chat after another: send with a key, acquire, begin, commit the reply and finish."""
    dice = random.Random(client)
    actor = Actor(ORG, owner(client))
    number = 0
    while time.monotonic() < until:
        number += 1
        target = chat_id(client, number % pgbench.CHATS_PER_CLIENT)
        keyed = Keyed(ClientKey(f"p{dice.getrandbits(60)}"), b"\x00\x11\x22\x33")
        await send(bench.ledger, actor, target, SAID, keyed=keyed)
        ring = UUID(int=dice.getrandbits(128))
        for chat in await bench.leases.acquire(worker_id(client), limit=1, ring_start=ring):
            await drive(bench, chat)
            counts[client] += 1


async def drive(bench: Bench, chat: Chat) -> None:
    fence = Fence.of(chat)
    begun = await bench.ledger.transact(chat.chat_id, BeginAttempt(), by=fence, snapshot=chat)
    await bench.ledger.transact(
        chat.chat_id, CommitStep((REPLY,)), FinishTurn(), by=fence, snapshot=begun.chat
    )


async def ledger_round(bench: Bench, clients: int, seconds: float) -> Round:
    counts = [0] * clients
    cpu, engine, started = time.process_time(), server_cpu_s(bench.server.data), time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        for client in range(clients):
            tasks.create_task(turns(bench, client, started + seconds, counts))
    took, done = time.monotonic() - started, sum(counts)
    return Round(
        done / took,
        (time.process_time() - cpu) * 1000 / done,
        (server_cpu_s(bench.server.data) - engine) * 1000 / done,
    )


async def pgbench_round(bench: Bench, folder: Path, clients: int, seconds: int) -> Round:
    engine = server_cpu_s(bench.server.data)
    rate = await asyncio.to_thread(
        pgbench.turns_per_s, bench.server.url, folder, clients=clients, seconds=seconds
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


async def cost_by_length(bench: Bench, rounds: int) -> dict[str, dict[int, float]]:
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
            (driven,) = await bench.leases.acquire(worker_id(0), limit=1, ring_start=UUID(int=1))
            await timed("step", length, lambda c=driven: drive(bench, c))
            await timed("page", length, lambda c=chat: bench.history.page(c, limit=50))
    return {w: {n: median(all_) for n, all_ in by.items()} for w, by in times.items()}


async def a_long_chat(bench: Bench, length: int) -> ChatId:
    chat = Chat(chat_id=chat_id(900, length % 997), org_id=ORG, owner_id=owner(0))
    said = [SAID if number % 2 == 0 else REPLY for number in range(length)]
    await bench.ledger.create(chat, Create(tuple(said)))
    return chat.chat_id


async def measure(seconds: int, rounds: int) -> dict[str, object]:
    settings = {"shared_buffers": "512MB", "max_wal_size": "4GB", "max_connections": "200"}
    async with private_postgres(settings) as server:
        await migrate(server.url)
        options = PoolOptions(connections_min=CONNECTIONS, connections_max=CONNECTIONS)
        async with open_pool(server.url, options) as pool:
            clock = await DatabaseClock.open(pool)
            ledger = Ledger(PostgresStore(pool), NoHints(), clock)
            bench = Bench(server, pool, ledger, PostgresLeases(pool), PostgresHistory(pool))
            await prepare(bench)
            lengths = await cost_by_length(bench, rounds=150)
            found: dict[int, list[tuple[Round, Round]]] = {16: [], 64: []}
            with TemporaryDirectory() as folder:
                for _ in range(rounds):
                    for clients, pairs in found.items():
                        await settle(bench)
                        bare = await pgbench_round(bench, Path(folder), clients, seconds)
                        await settle(bench)
                        pairs.append((await ledger_round(bench, clients, seconds), bare))
            broken = await verify(pool, [chat_id(c, n) for c in range(4) for n in range(50)])
            assert not broken, broken
    return {"pairs": found, "lengths": lengths}


def report(
    found: dict[int, list[tuple[Round, Round]]], lengths: dict[str, dict[int, float]]
) -> None:
    rows: list[str] = []
    ratios: dict[int, float] = {}
    for clients, pairs in found.items():
        ratios[clients] = median(ours.turns_per_s / bare.turns_per_s for ours, bare in pairs)
        rows.append(
            f"| {clients} | {median(b.turns_per_s for _, b in pairs):,.0f} "
            f"| {median(o.turns_per_s for o, _ in pairs):,.0f} | **{ratios[clients]:.2f}** "
            f"| {median(o.python_ms for o, _ in pairs):.2f} "
            f"| {median(o.postgres_ms for o, _ in pairs):.2f} "
            f"| {median(b.postgres_ms for _, b in pairs):.2f} |"
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
            "python_cpu_ms_per_turn": round(median(o.python_ms for o, _ in found[16]), 3),
            "flat_10000_over_100": round(max(flat.values()), 3),
            "statements_send": 2,
            "statements_acquire": 1,
            "statements_step_commit": 1,
        },
    )


PAGE = """# The ledger against the bare engine

{stamp} Written by `just bench-ledger`.

A turn is: send a message under an idempotency key (load, commit), acquire, begin an attempt, commit
the reply and finish: **five statements**, `synchronous_commit=on`. pgbench runs the same five with
values in their places (`benchmarks/pgbench.py` makes its script from our SQL files). "ms" is CPU
per turn: of our process, of the server's processes, and of the latter while pgbench drives them.

| chats | pgbench, turns/s | ledger, turns/s | ratio | Python ms | PostgreSQL ms | under pgbench |
|---|---|---|---|---|---|---|
{rows}

## Does a long chat cost more?

Median milliseconds in chats of so many messages, interleaved; the last column is 10,000 over 100.

| | 100 | 1,000 | 10,000 | ratio |
|---|---|---|---|---|
{lengths}

## Method

A private PostgreSQL server on the same machine; 64 owners with 60 chats each; rounds alternate
between pgbench and the ledger; medians over rounds, ratios taken round by round. pgbench opens a
connection per chat, the ledger shares 16. CPU is read from the kernel. Absolute figures belong to
one small, shared machine: read the ratios.

## What limits it

Both sides share two cores with the server. Per turn the server itself needs most of the CPU, and
pgbench leaves it nearly all of both cores; Python needs its share of one: the ratio is bounded by
CPU, not by waiting. In Python the driver and the event loop are the larger part, deciding and
encoding the smaller.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=8, help="length of a round")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each kind")
    options = parser.parse_args()
    found = uvloop.run(measure(options.seconds, options.rounds))
    report(found["pairs"], found["lengths"])  # type: ignore[arg-type]
    print((Path(__file__).parent / "ledger.md").read_text())


if __name__ == "__main__":
    main()
