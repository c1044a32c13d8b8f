"""The bus while its engine is away: nothing raises, nothing waits, and it heals by itself."""

import asyncio
import itertools
import logging
from collections.abc import AsyncGenerator, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from holdfast.bus.lossy import LossyBus
from holdfast.domain.errors import Unavailable
from holdfast.ports.bus import GAP
from holdfast_lab.chaos.stage.private_redis import private_redis
from tests.requirements import requirement
from tests.support.builders import CHAT
from tests.support.buses import (
    CALM,
    EPISODE,
    OnRedis,
    StoppableBusServer,
    gaps,
    hint,
    part,
    seqs,
    stoppable_bus_server,
    take,
    take_until,
    until,
)
from tests.support.waits import HANG_S

CLOSED_WITHIN_S = 30.0
"""Real time: closing is bounded by `drain_s`, and by a second for each connection."""
SMALL = replace(CALM, backoff_min_s=0.01, backoff_max_s=0.1, buffered_max=100, batch_max=100)
IMPATIENT = replace(
    SMALL, answer_timeout_s=0.5, connect_timeout_s=0.5, ping_every_s=0.2, subscribe_wait_s=0.3
)
"""For an engine that stands still, which only timeouts notice."""


@pytest.fixture(params=["postgres", "redis", "cluster", "fake"])
async def server(request: pytest.FixtureRequest) -> AsyncGenerator[StoppableBusServer]:
    async with stoppable_bus_server(request.param) as server:
        yield server


def say(bus: LossyBus, *, parts: int, hints: int) -> None:
    for seq in range(1, parts + 1):
        at_once(bus.append([part(seq)]))
    for version in range(1, hints + 1):
        at_once(bus.publish([hint(version)]))


def at_once(saying: Coroutine[Any, Any, None]) -> None:
    """Run it to its end; it must not wait for anything."""
    try:
        with pytest.raises(StopIteration):
            saying.send(None)
    finally:
        saying.close()


async def keep_saying(bus: LossyBus) -> None:
    for seq in itertools.count(301):
        await bus.append([part(seq)])
        await asyncio.sleep(0.02)


async def until_noticed(bus: LossyBus) -> None:
    """Until the bus has given up the connection on which it hears."""
    async with asyncio.timeout(HANG_S):
        while True:
            with pytest.raises(Unavailable) as unavailable:
                await bus.read_live(CHAT, EPISODE)
            if "not connected" in str(unavailable.value):
                return
            await asyncio.sleep(0.02)


@requirement("L65")
async def test_a_full_stop_costs_nobody_time_and_heals_by_itself(
    server: StoppableBusServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "holdfast.bus")
    async with server.open(SMALL) as here, server.open(SMALL) as there:
        async with there.subscribe(CHAT) as news:
            await here.append([part(1)])
            assert await take(news, 1) == [part(1)]

            await server.stop()
            say(here, parts=300, hints=50)
            drops = [each for each in caplog.records if "dropped" in each.getMessage()]
            assert len(drops) == 1, "one warning, and the next one in ten seconds"
            # The batch that was on its way is beside the buffer, and may be given up with it.
            assert 250 - 100 <= here.counters.dropped_parts <= 300
            with pytest.raises(Unavailable):
                async with asyncio.timeout(HANG_S):
                    await here.read_live(CHAT, EPISODE)
            async with asyncio.timeout(HANG_S), there.subscribe(CHAT):
                pass

            await server.start()
            assert await take(news, 1) == [GAP]
            # What was buffered may have come before the follower was back: it has its gap.
            await here.append([part(301)])
            heard = await take_until(news, lambda taken: part(301) in taken)
            assert seqs(heard) == sorted(seqs(heard))
            kept = [p.seq for p in await there.read_live(CHAT, EPISODE)]
            assert kept[-50:] == list(range(252, 302)), "the newest 100 items, 50 of them hints"
        assert here.counters.reconnects >= 1


async def test_a_process_starts_without_its_bus_and_finds_it_later(
    server: StoppableBusServer,
) -> None:
    await server.stop()
    async with server.open(SMALL) as bus:
        async with asyncio.timeout(HANG_S), bus.subscribe(CHAT) as news:
            say(bus, parts=5, hints=1)
            with pytest.raises(Unavailable):
                await bus.read_live(CHAT, EPISODE)
        async with bus.subscribe(CHAT) as news:
            await server.start()
            heard = await take_until(news, lambda taken: gaps(taken) == 1)
            assert gaps(heard) == 1
            await bus.publish([hint(9)])
            assert hint(9) in await take_until(news, lambda taken: hint(9) in taken)
        assert bus.counters.dropped_parts == 0, "it fitted into the buffer"


async def test_a_bus_whose_engine_is_away_closes_at_once(server: StoppableBusServer) -> None:
    before = asyncio.all_tasks()
    async with server.open(SMALL) as bus:
        async with bus.subscribe(CHAT):
            await server.stop()
            say(bus, parts=5, hints=5)
        started = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - started < CLOSED_WITHIN_S
    assert bus.counters.sent_parts == 0
    assert (bus.counters.dropped_parts, bus.counters.dropped_hints) == (5, 5)
    assert asyncio.all_tasks() == before


async def test_an_engine_that_stands_still_is_noticed_and_blocks_nobody() -> None:
    async with private_redis() as redis:
        server = OnRedis(redis)
        async with server.open(IMPATIENT) as bus, bus.subscribe(CHAT) as news:
            await bus.append([part(1)])
            await take(news, 1)
            redis.pause()
            try:
                say(bus, parts=300, hints=0)
                with pytest.raises(Unavailable):
                    async with asyncio.timeout(HANG_S):
                        await bus.read_live(CHAT, EPISODE)
                async with asyncio.timeout(HANG_S), bus.subscribe(CHAT):
                    pass
                await until_noticed(bus)
            finally:
                redis.resume()
            heard = await take_until(news, lambda taken: GAP in taken)
            assert GAP in heard
            # Again and again: so impatient a bus may lose its connection once more.
            async with asyncio.TaskGroup() as tasks:
                saying = tasks.create_task(keep_saying(bus))
                await take_until(news, lambda taken: any(seq > 300 for seq in seqs(taken)))
                saying.cancel()


async def test_a_full_redis_drops_and_recovers() -> None:
    async with private_redis() as redis:
        server = OnRedis(redis)
        async with server.open(SMALL) as bus, bus.subscribe(CHAT) as news:
            await redis.command("CONFIG", "SET", "maxmemory", "1")
            await bus.append([part(1)])
            await until(lambda: bus.counters.dropped_parts == 1)
            await redis.command("CONFIG", "SET", "maxmemory", "0")
            await bus.append([part(2)])
            assert await take_until(news, lambda taken: part(2) in taken)
