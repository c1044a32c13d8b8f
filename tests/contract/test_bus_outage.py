"""The bus while its engine is away: nothing raises, nothing waits, and it heals by itself."""

import asyncio
import logging
from collections.abc import AsyncGenerator

import pytest

from holdfast.bus.lossy import LossyBus
from holdfast.bus.options import BusOptions
from holdfast.domain.errors import Unavailable
from holdfast.ports.bus import GAP
from holdfast.prove.stage.private_redis import private_redis
from tests.requirements import requirement
from tests.support.builders import CHAT
from tests.support.buses import (
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
)

AT_ONCE_S = 0.5
SMALL = BusOptions(
    backoff_min_s=0.01,
    backoff_max_s=0.1,
    buffered_max=100,
    batch_max=100,
    answer_timeout_s=0.5,
    connect_timeout_s=0.5,
    ping_every_s=0.2,
    subscribe_wait_s=0.3,
)


@pytest.fixture(params=["postgres", "redis", "cluster", "fake"])
async def server(request: pytest.FixtureRequest) -> AsyncGenerator[StoppableBusServer]:
    async with stoppable_bus_server(request.param) as server:
        yield server


async def say(bus: LossyBus, *, parts: int, hints: int) -> None:
    """All of it, at once or not at all."""
    async with asyncio.timeout(AT_ONCE_S):
        for seq in range(1, parts + 1):
            await bus.append([part(seq)])
        for version in range(1, hints + 1):
            await bus.publish([hint(version)])


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
            await say(here, parts=300, hints=50)
            # The batch that was on its way is beside the buffer, and may be given up with it.
            assert 250 - 100 <= here.counters.dropped_parts <= 300
            with pytest.raises(Unavailable):
                async with asyncio.timeout(2):
                    await here.read_live(CHAT, EPISODE)
            async with asyncio.timeout(2), there.subscribe(CHAT):
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
    drops = [each for each in caplog.records if "dropped" in each.getMessage()]
    assert len(drops) == 1, "at most one warning in ten seconds"


async def test_a_process_starts_without_its_bus_and_finds_it_later(
    server: StoppableBusServer,
) -> None:
    await server.stop()
    async with asyncio.timeout(20), server.open(SMALL) as bus:
        async with asyncio.timeout(2), bus.subscribe(CHAT) as news:
            await say(bus, parts=5, hints=1)
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
            await say(bus, parts=5, hints=5)
        started = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - started < 3
    assert bus.counters.sent_parts == 0
    assert (bus.counters.dropped_parts, bus.counters.dropped_hints) == (5, 5)
    assert asyncio.all_tasks() == before


async def test_an_engine_that_stands_still_is_noticed_and_blocks_nobody() -> None:
    async with private_redis() as redis:
        server = OnRedis(redis)
        async with server.open(SMALL) as bus, bus.subscribe(CHAT) as news:
            await bus.append([part(1)])
            await take(news, 1)
            redis.pause()
            try:
                await say(bus, parts=300, hints=0)
                with pytest.raises(Unavailable):
                    async with asyncio.timeout(2):
                        await bus.read_live(CHAT, EPISODE)
                async with asyncio.timeout(2), bus.subscribe(CHAT):
                    pass
                await asyncio.sleep(1)  # long enough to be noticed
            finally:
                redis.resume()
            heard = await take_until(news, lambda taken: GAP in taken)
            await bus.append([part(301)])
            heard += await take_until(news, lambda taken: part(301) in taken)
            assert GAP in heard


async def test_a_full_redis_drops_and_recovers() -> None:
    async with private_redis() as redis:
        server = OnRedis(redis)
        async with server.open(SMALL) as bus, bus.subscribe(CHAT) as news:
            await redis.command("CONFIG", "SET", "maxmemory", "1")
            await bus.append([part(1)])
            async with asyncio.timeout(10):
                while True:
                    if bus.counters.dropped_parts == 1:
                        break
                    await asyncio.sleep(0.02)
            await redis.command("CONFIG", "SET", "maxmemory", "0")
            await bus.append([part(2)])
            assert await take_until(news, lambda taken: part(2) in taken)
