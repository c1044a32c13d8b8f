"""Reads, while the load runs, what it costs: CPU and memory by part, the database's connections and
statements, what the servers count of themselves."""

import asyncio
import os
import re
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from holdfast.db.pool import Pool, PoolOptions, open_pool
from holdfast.db.queries import block_names
from holdfast.db.queries import load_query as load_db_query
from holdfast.domain.errors import HoldfastError
from holdfast_lab.bench.processes import memory_bytes, process_cpu_s, server_cpu_s, server_pids
from holdfast_lab.bench.queries import load_query
from holdfast_lab.bench.scrape import scrape

EVERY_S: Final = 1.0
MEMORY_EVERY: Final = 10
"""Of so many samples one looks at memory, too: that takes the kernel as long as some turns take."""
POSTGRES: Final = "postgresql"
OURSELVES: Final = "load generator"
PARTS: Final = ("server", "worker", POSTGRES, "simulator", OURSELVES)
STATEMENT_CHARS: Final = 60
_CONSTANT: Final = re.compile(r"\$\d+|'[^']*'|\b\d+\b|\s+")


@dataclass(frozen=True, slots=True)
class Statement:
    name: str
    calls: int
    ms: float


@dataclass(frozen=True, slots=True)
class Sample:
    at_s: float
    turns: int
    cpu_s: Mapping[str, float]
    memory: Mapping[str, int]
    connections: int
    connections_busy: int


@dataclass(slots=True)
class Watched:
    """What was read. Differences are from the first sample to the last."""

    samples: list[Sample] = field(default_factory=list[Sample])
    counted: Counter[str] = field(default_factory=Counter[str])
    statements: list[Statement] = field(default_factory=list[Statement])
    transactions: int | None = None
    in_lull: Counter[str] | None = None
    """As `counted`, up to the first lull of a storm."""
    turns_in_lull: int = 0

    def cpu_s(self) -> dict[str, float]:
        first, last = self.samples[0].cpu_s, self.samples[-1].cpu_s
        return {part: last[part] - first.get(part, 0.0) for part in last}

    def seconds(self) -> float:
        return self.samples[-1].at_s - self.samples[0].at_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where to look; what is not there is not told."""

    pids: Mapping[str, Sequence[int]]
    data: Path | None = None
    """The data directory of a PostgreSQL server on this machine."""
    database_url: str = ""
    metrics_urls: Sequence[str] = ()
    key: str = ""

    def cpu_s(self) -> dict[str, float]:
        used = {part: sum(map(process_cpu_s, pids)) for part, pids in self.pids.items()}
        if self.data is not None:
            used[POSTGRES] = server_cpu_s(self.data)
        return {**used, OURSELVES: process_cpu_s(os.getpid())}

    def memory(self) -> dict[str, int]:
        used = {part: memory_bytes(pids) for part, pids in self.pids.items()}
        if self.data is not None:
            postmaster, children = server_pids(self.data)
            used[POSTGRES] = memory_bytes([postmaster, *children])
        return {**used, OURSELVES: memory_bytes([os.getpid()])}


class Watch:
    def __init__(self, sources: Sources, turns: Callable[[], int], pool: "Pool | None") -> None:
        self._sources = sources
        self._turns = turns
        self._pool = pool
        self._by_name: bool = False
        self.watched = Watched()
        self.sampled: Callable[[], None] = lambda: None
        """Called after each sample."""

    async def begin(self) -> None:
        self._by_name = await self._can_name()
        self._before = await self._statements()
        self._transactions = await self._count_transactions()
        self._counted = await scrape(self._sources.metrics_urls, self._sources.key)
        await self.sample()

    async def lull(self) -> None:
        """The first turns are over, and the follow-ups have not begun."""
        if self.watched.in_lull is None:
            self.watched.in_lull = await self._since()
            self.watched.turns_in_lull = self._turns()

    async def _since(self) -> Counter[str]:
        counted = await scrape(self._sources.metrics_urls, self._sources.key)
        counted.subtract(self._counted)
        return counted

    async def end(self) -> None:
        await self.sample()
        self.watched.counted = await self._since()
        after = await self._statements()
        for name, (calls, ms) in after.items():
            before, before_ms = self._before.get(name, (0, 0.0))
            if calls > before:
                self.watched.statements.append(Statement(name, calls - before, ms - before_ms))
        self.watched.statements.sort(key=lambda each: -each.calls)
        if self._pool is not None:
            self.watched.transactions = await self._count_transactions() - self._transactions

    async def run(self) -> None:
        """A sample now and then; until cancelled."""
        while True:
            await asyncio.sleep(EVERY_S)
            await self.sample()

    async def sample(self) -> None:
        open_, busy = await self._connections()
        sources, samples = self._sources, self.watched.samples
        memory = samples[-1].memory if len(samples) % MEMORY_EVERY else sources.memory()
        self.watched.samples.append(
            Sample(time.perf_counter(), self._turns(), sources.cpu_s(), memory, open_, busy)
        )
        self.sampled()

    async def _connections(self) -> tuple[int, int]:
        if self._pool is None:
            return 0, 0
        row = await self._pool.fetchrow(load_query("connections").text)
        assert row is not None, "a count is always one row"
        return row["open"], row["busy"]

    async def _can_name(self) -> bool:
        """Whether the server counts statements one by one."""
        if self._pool is None:
            return False
        try:
            await self._pool.execute(load_query("count_statements").text)
            await self._pool.fetch(load_query("statements").text)
        except Exception:  # noqa: BLE001 - not installed, not loaded, not allowed: the same to us
            return False
        return True

    async def _statements(self) -> dict[str, tuple[int, float]]:
        if self._pool is None or not self._by_name:
            return {}
        names = _names()
        found: dict[str, tuple[int, float]] = {}
        for row in await self._pool.fetch(load_query("statements").text):
            if "pg_stat_" in row["query"]:
                continue  # our own looking
            plain = _plain(row["query"])
            name = names.get(plain, plain[:STATEMENT_CHARS])
            calls, ms = found.get(name, (0, 0.0))
            found[name] = calls + row["calls"], ms + row["ms"]
        return found

    async def _count_transactions(self) -> int:
        if self._pool is None:
            return 0
        return await self._pool.fetchval(load_query("transactions").text)


def _names() -> dict[str, str]:
    """Our statements by their text, as PostgreSQL shows it. Those put together from blocks have no
    name here, and are shown by how they begin."""
    return {_plain(load_db_query(name).text): name for name in block_names()}


def _plain(text: str) -> str:
    return _CONSTANT.sub(lambda found: " " if found[0].isspace() else "?", text).strip()


@asynccontextmanager
async def watching(sources: Sources, turns: Callable[[], int]) -> AsyncGenerator[Watch]:
    """What was `watched` is complete when it is left."""
    async with AsyncExitStack() as stack:
        pool: Pool | None = None
        if sources.database_url:
            options = PoolOptions(connections_min=1, connections_max=1)
            try:
                pool = await stack.enter_async_context(open_pool(sources.database_url, options))
            except HoldfastError:
                pool = None
        watch = Watch(sources, turns, pool)
        await watch.begin()
        async with asyncio.TaskGroup() as tasks:
            sampling = tasks.create_task(watch.run())
            yield watch
            sampling.cancel()
        await watch.end()
