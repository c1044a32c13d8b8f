"""The bus on a Redis cluster whose slots move and whose nodes go."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from holdfast.bus.lossy import LossyBus
from holdfast.bus.options import BusOptions
from holdfast.bus.redis_nodes import Names, slot_of
from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import ChatId
from holdfast.ports.bus import GAP, LivePart
from holdfast_lab.chaos.stage.private_redis import PrivateCluster, PrivateRedis, private_cluster
from tests.support.builders import CHAT
from tests.support.buses import EPISODE, OnCluster, gaps, hint, part, take, take_until
from tests.support.doubles import SeededIds

QUICK = BusOptions(backoff_min_s=0.01, backoff_max_s=0.1)
"""Pings stay as rare as usual: an answer that is late on a busy machine would be one more gap."""


@pytest_asyncio.fixture
async def cluster() -> AsyncGenerator[PrivateCluster]:
    async with private_cluster() as cluster:
        yield cluster


async def holder(cluster: PrivateCluster, chat_id: ChatId) -> PrivateRedis:
    for node in cluster.nodes:
        mine = await node.command("CLUSTER", "NODES")
        (line,) = [each for each in mine.decode().splitlines() if "myself" in each]
        for held in line.split()[8:]:
            first, _, last = held.partition("-")
            if first.isdigit() and int(first) <= slot_of(chat_id) <= int(last or first):
                return node
    raise LookupError(chat_id)


async def kept_upto(bus: LossyBus, seq: int) -> list[LivePart]:
    """What a latecomer reads, as soon as it reads as far as `seq`."""
    async with asyncio.timeout(60):
        while True:
            try:
                parts = list(await bus.read_live(CHAT, EPISODE))
            except Unavailable:
                parts = []
            if parts and parts[-1].seq == seq:
                return parts
            await asyncio.sleep(0.01)


async def test_a_topic_has_the_slot_that_redis_gives_to_its_names(cluster: PrivateCluster) -> None:
    names, ids = Names("test"), SeededIds()
    for chat_id in (ids.new_chat_id() for _ in range(20)):
        channel = names.channel(chat_id)
        for name in (channel, names.key(channel, EPISODE)):
            slot = await cluster.nodes[0].command("CLUSTER", "KEYSLOT", name)
            assert slot == slot_of(chat_id)


async def test_chats_are_spread_over_the_nodes(cluster: PrivateCluster) -> None:
    ids = SeededIds()
    async with OnCluster(cluster).open() as bus, bus.subscribe(CHAT) as news:
        await bus.append([part(1, chat_id=ids.new_chat_id()) for _ in range(90)])
        await bus.append([part(1)])
        await take(news, 1)
        await kept_upto(bus, 1)
    sizes = [await node.command("DBSIZE") for node in cluster.nodes]
    assert sum(sizes) == 91
    assert min(sizes) > 10


async def test_a_chat_whose_slot_moves_is_followed_to_its_new_node(cluster: PrivateCluster) -> None:
    async with OnCluster(cluster).open(QUICK) as bus, bus.subscribe(CHAT) as news:
        await bus.append([part(1), part(2)])
        assert await take(news, 2) == [part(1), part(2)]
        source = await holder(cluster, CHAT)
        target = next(node for node in cluster.nodes if node is not source)

        await cluster.move_slot(slot_of(CHAT), source, target)

        assert await take(news, 1) == [GAP]
        await bus.append([part(3)])
        await bus.publish([hint(8)])
        assert await take_until(news, lambda taken: hint(8) in taken) == [part(3), hint(8)]
        assert [p.seq for p in await kept_upto(bus, 3)] == [1, 2, 3]
        assert await target.command("DBSIZE") == 1


async def test_a_latecomer_finds_a_chat_that_nobody_followed_when_it_moved(
    cluster: PrivateCluster,
) -> None:
    async with OnCluster(cluster).open(QUICK) as here, OnCluster(cluster).open(QUICK) as there:
        async with there.subscribe(CHAT):
            pass
        await here.append([part(1)])
        await kept_upto(there, 1)
        source = await holder(cluster, CHAT)
        target = next(node for node in cluster.nodes if node is not source)
        await cluster.move_slot(slot_of(CHAT), source, target)
        assert await kept_upto(there, 1) == [part(1)]


async def test_the_server_that_the_url_names_may_leave_the_cluster(cluster: PrivateCluster) -> None:
    first, second, _ = cluster.nodes
    async with OnCluster(cluster).open(QUICK) as bus, bus.subscribe(CHAT) as news:
        await cluster.move_all_slots(first, second)
        await bus.append([part(1)])
        await take_until(news, lambda taken: part(1) in taken)
        await first.stop()
        assert await take(news, 1) == [GAP]
        await bus.append([part(2)])
        assert await take(news, 1) == [part(2)]
        assert [p.seq for p in await kept_upto(bus, 2)] == [1, 2]


@pytest.mark.parametrize("gone", [0, 1, 2])
async def test_a_node_that_dies_and_returns_leaves_a_gap(
    cluster: PrivateCluster, gone: int
) -> None:
    async with OnCluster(cluster).open(QUICK) as bus, bus.subscribe(CHAT) as news:
        await bus.append([part(1)])
        assert await take(news, 1) == [part(1)]
        await cluster.nodes[gone].stop()
        await bus.append([part(2)])
        await cluster.nodes[gone].start()
        heard = await take_until(news, lambda taken: gaps(taken) == 1)
        await bus.append([part(3)])
        heard += await take_until(news, lambda taken: part(3) in taken)
        assert gaps(heard) == 1
