"""The bare engine of the ledger: chats for pgbench to work on, made by the ledger itself."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID

from holdfast.chats.ledger import Ledger
from holdfast.db.clock import DatabaseClock
from holdfast.db.leases import PostgresLeases
from holdfast.db.migrate import MigrateOptions, migrate
from holdfast.db.pool import Pool, PoolOptions, open_pool
from holdfast.db.store import PostgresStore
from holdfast.domain.chat import Chat
from holdfast.domain.commands import Create
from holdfast.domain.ids import ChatId, OrgId, UserId, WorkerId
from holdfast.ports.bus import Hint
from holdfast_lab.bench import pgbench
from holdfast_lab.bench.queries import load_query

ORG: Final = OrgId(UUID(int=1))
HOUR: Final = timedelta(hours=1)
CLIENTS: Final = (7, 16)
"""As many as a replica has connections, and more: what is better on this machine is what we are
measured by."""
DATABASE: Final = "holdfast_bare"


class NoHints:
    async def publish(self, hints: Sequence[Hint]) -> None:
        pass


def chat_id(client: int, number: int) -> ChatId:
    return ChatId(UUID(int=(0x7000_8000 << 48) + client * 1000 + number))


def worker_id(client: int) -> WorkerId:
    return WorkerId(UUID(int=(0x7000_9000 << 48) + client))


def owner(client: int) -> UserId:
    return UserId(UUID(int=1000 + client))


async def prepare(pool: Pool, ledger: Ledger, leases: PostgresLeases, *, clients: int) -> None:
    """An owner with chats, and a worker, for each client of pgbench's."""
    await pool.execute(load_query("bare_organisation").text, ORG)
    async with asyncio.TaskGroup() as tasks:
        for client in range(clients):
            tasks.create_task(_prepare(pool, ledger, leases, client))
    await pool.execute(load_query("bare_settle").text)


async def _prepare(pool: Pool, ledger: Ledger, leases: PostgresLeases, client: int) -> None:
    await pool.execute(load_query("bare_user").text, owner(client), ORG)
    await leases.join(worker_id(client), name="bench", ttl=HOUR)
    for number in range(pgbench.CHATS_PER_CLIENT):
        chat = Chat(chat_id=chat_id(client, number), org_id=ORG, owner_id=owner(client))
        await ledger.create(chat, Create())


async def bare_turns_per_s(program: str, url: str, folder: Path, seconds: int) -> float:
    """What this server can do, by pgbench with our statements, in a database of its own."""
    async with _beside(url) as bare_url:
        await migrate(bare_url, MigrateOptions(tells_each=False))
        async with open_pool(bare_url, PoolOptions(connections_min=1)) as pool:
            ledger = Ledger(PostgresStore(pool), NoHints(), await DatabaseClock.open(pool))
            await prepare(pool, ledger, PostgresLeases(pool), clients=max(CLIENTS))
            rates, replied = list[float](), 0
            for clients in CLIENTS:
                await asyncio.to_thread(
                    pgbench.turns_per_s, program, bare_url, folder, clients=clients, seconds=seconds
                )
                # Not what pgbench counts: a turn that found nothing to acquire is none.
                replies = await pool.fetchval(load_query("bare_replies").text)
                rates.append((replies - replied) / seconds)
                replied = replies
            return max(rates)


@asynccontextmanager
async def _beside(url: str) -> AsyncGenerator[str]:
    """Another database on the same server, gone afterwards."""
    async with open_pool(url, PoolOptions(connections_min=1, connections_max=2)) as pool:
        await pool.execute(f"create database {DATABASE}")
        try:
            yield urlunsplit(urlsplit(url)._replace(path=f"/{DATABASE}"))
        finally:
            await pool.execute(f"drop database {DATABASE} with (force)")
