"""The bus on every engine that carries it, on real servers, and on the fake one."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from uuid import UUID

import pytest
import pytest_asyncio

from holdfast.adapters.bus.lossy import LossyBus
from holdfast.domain.chat import Status
from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import OrgId, Version, VersionStamp
from holdfast.ports.bus import GAP, Bus, Episode, Hint, LivePart, News, SettingsBus, SettingsHint
from holdfast_lab.chaos.harness.private_redis import PrivateCluster, private_cluster
from tests.requirements import requirement
from tests.support.builders import CHAT
from tests.support.buses import (
    CALM,
    EPISODE,
    BusServer,
    OnCluster,
    bus_server,
    gaps,
    hint,
    part,
    seqs,
    take,
    take_said,
    take_until,
    until,
)
from tests.support.doubles import SeededIds
from tests.support.waits import HANG_S

QUICK = replace(CALM, backoff_min_s=0.01, backoff_max_s=0.1)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def cluster() -> AsyncGenerator[PrivateCluster]:
    """Once per test process: its nodes take two seconds to agree."""
    async with private_cluster() as cluster:
        yield cluster


@pytest.fixture(params=["postgres", "redis", "cluster", "fake"])
async def server(
    request: pytest.FixtureRequest, template: str, cluster: PrivateCluster
) -> AsyncGenerator[BusServer]:
    async with bus_server(request.param, template, cluster) as server:
        yield server


async def last_is(bus: Bus, seq: int, at: Episode = EPISODE) -> list[LivePart]:
    """What a latecomer reads, as soon as it reads as far as `seq`."""
    async with asyncio.timeout(HANG_S):
        while True:
            parts = list(await bus.read_live(CHAT, at))
            if parts and parts[-1].seq == seq:
                return parts
            await asyncio.sleep(0.01)


def is_lossy_bus_a_bus(bus: LossyBus) -> Bus:
    return bus  # the type checker's test


def is_lossy_bus_a_settings_bus(bus: LossyBus) -> SettingsBus:
    return bus  # the type checker's test


async def test_parts_and_hints_of_a_chat_come_in_order_to_another_process(
    server: BusServer,
) -> None:
    async with server.open() as here, server.open() as there, there.subscribe(CHAT) as news:
        for seq in range(1, 51):
            await here.append([part(seq)])
            if seq % 10 == 0:
                await here.publish([hint(seq)])
            if seq % 7 == 0:  # so that it takes several batches
                await until(lambda seq=seq: here.counters.sent_parts >= seq)
        taken = await take(news, 55)
    assert seqs(taken) == list(range(1, 51))
    assert taken[10] == hint(10)
    assert taken[0] == part(1)


async def test_what_is_said_is_what_is_heard_byte_by_byte(server: BusServer) -> None:
    payloads = [b"", b"\0", bytes(range(256)), "wörd\n\n=@hp".encode(), b"\xff" * 5_990]
    said: list[LivePart | Hint] = [
        LivePart(CHAT, EPISODE, seq, payload) for seq, payload in enumerate(payloads, start=1)
    ]
    said += [hint(9, Status.IDLE), hint(10, inline=b'{"a":\n1}'), hint(11, inline=b"\0\xff")]
    async with server.open() as bus, bus.subscribe(CHAT) as news:
        for item in said:
            await (bus.append([item]) if isinstance(item, LivePart) else bus.publish([item]))
        assert await take(news, len(said)) == said
        assert [p.payload for p in await bus.read_live(CHAT, EPISODE)] == payloads


async def test_a_part_of_100_kb_keeps_its_place_and_every_byte(server: BusServer) -> None:
    big = bytes(range(256)) * 400
    async with server.open() as here, server.open() as there, there.subscribe(CHAT) as news:
        await here.append([part(1), part(2, big), part(3), part(4, b"x" * 8_000), part(5)])
        taken = await take(news, 5)
    assert taken == [part(1), part(2, big), part(3), part(4, b"x" * 8_000), part(5)]


async def test_a_hint_arrives_even_if_its_commit_is_too_long_to_come_along(
    server: BusServer,
) -> None:
    async with server.open() as bus, bus.subscribe(CHAT) as news:
        await bus.publish([hint(5, inline=b"x" * 20_000)])
        (heard,) = await take(news, 1)
    assert isinstance(heard, Hint)
    assert heard.version == 5
    assert heard.inline in {b"", b"x" * 20_000}


async def test_a_latecomer_gets_every_part_from_the_first_without_gap_or_double(
    server: BusServer,
) -> None:
    async def speak(bus: LossyBus) -> None:
        for seq in range(1, 201):
            await bus.append([part(seq)])
            if seq % 10 == 0:
                await until(lambda seq=seq: bus.counters.sent_parts >= seq)

    async def come_late(bus: Bus, after: int) -> list[int]:
        await last_is_at_least(bus, after)
        async with bus.subscribe(CHAT) as news:
            heard = [p.seq for p in await bus.read_live(CHAT, EPISODE)]
            assert heard, "it came too early to be late"
            async with asyncio.timeout(HANG_S):
                while heard[-1] < 200:
                    one = await anext(news)
                    assert isinstance(one, LivePart)
                    if one.seq > heard[-1]:
                        heard.append(one.seq)
        return heard

    async def last_is_at_least(bus: Bus, seq: int) -> None:
        async with asyncio.timeout(HANG_S):
            while True:
                if await bus.read_live(CHAT, EPISODE, seq - 1):
                    return
                await asyncio.sleep(0.005)

    async with server.open() as here, server.open() as there:
        await until_connected(here, there)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(speak(here))
            late = [tasks.create_task(come_late(there, after)) for after in (1, 20, 60, 110, 150)]
    assert [each.result() for each in late] == [list(range(1, 201))] * 5


async def until_connected(*buses: LossyBus) -> None:
    for bus in buses:
        async with bus.subscribe(CHAT):
            pass


async def test_a_latecomer_may_begin_after_a_part_that_it_knows(server: BusServer) -> None:
    async with server.open() as bus:
        await until_connected(bus)
        await bus.append([part(seq) for seq in range(1, 11)])
        await last_is(bus, 10)
        assert [p.seq for p in await bus.read_live(CHAT, EPISODE, after_seq=7)] == [8, 9, 10]
        assert await bus.read_live(CHAT, EPISODE, after_seq=10) == []


async def test_episodes_do_not_mix(server: BusServer) -> None:
    second = Episode(EPISODE.history_version, 2)
    async with server.open() as bus:
        await until_connected(bus)
        await bus.append([part(1), part(2), part(1, b"again", at=second)])
        assert await last_is(bus, 1, second) == [part(1, b"again", at=second)]
        assert await last_is(bus, 2) == [part(1), part(2)]
        assert await bus.read_live(CHAT, Episode(Version(8), 1)) == []


@requirement("L146")
async def test_parts_of_two_histories_with_the_same_numbers_do_not_mix(server: BusServer) -> None:
    """A database that lost commits counts the same numbers again, for another history. The bus may
    still keep what was said in the lost one."""
    lost = EPISODE._replace(history_stamp=VersionStamp(2**63 - 1))
    stored = EPISODE._replace(history_stamp=VersionStamp(1))
    said = [part(1, b"lost", at=lost), part(2, b"lost", at=lost), part(1, b"stored", at=stored)]
    async with server.open() as bus, bus.subscribe(CHAT) as news:
        await bus.append(said)
        assert await take_said(news, 3) == said
        assert await last_is(bus, 1, stored) == said[2:]
        assert await last_is(bus, 2, lost) == said[:2]
        assert await bus.read_live(CHAT, EPISODE) == []


async def test_a_hundred_latecomers_at_once_all_get_their_answer(server: BusServer) -> None:
    async with server.open() as bus:
        await until_connected(bus)
        await bus.append([part(seq) for seq in range(1, 101)])
        await last_is(bus, 100)
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(bus.read_live(CHAT, EPISODE)) for _ in range(100)]
    assert {len(each.result()) for each in asked} == {100}


async def test_parts_of_many_chats_keep_the_order_of_each(server: BusServer) -> None:
    ids = SeededIds()
    chats = [ids.new_chat_id() for _ in range(40)]
    async with server.open() as here, server.open() as there, AsyncExitStack() as stack:
        followed = [await stack.enter_async_context(there.subscribe(chat)) for chat in chats]
        for seq in range(1, 11):
            await here.append([part(seq, chat_id=chat) for chat in chats])
        heard = [seqs(await take(news, 10)) for news in followed]
        kept = [[p.seq for p in await there.read_live(chat, EPISODE)] for chat in chats]
    assert heard == kept == [list(range(1, 11))] * 40


async def test_a_part_that_is_sent_twice_is_read_once(server: BusServer) -> None:
    async with server.open() as bus, bus.subscribe(CHAT) as news:
        await bus.append([part(1), part(2)])
        await take(news, 2)
        await bus.append([part(2), part(3)])
        assert seqs(await take_until(news, lambda taken: 3 in seqs(taken))) in ([2, 3], [3])
        assert [p.seq for p in await bus.read_live(CHAT, EPISODE)] == [1, 2, 3]


async def test_followers_of_one_chat_share_one_watch(server: BusServer) -> None:
    async with server.open() as bus:
        async with bus.subscribe(CHAT) as one, bus.subscribe(CHAT) as two:
            assert bus.counters.watching == 1
            await bus.append([part(1)])
            (heard_by_one,), (heard_by_two,) = await take(one, 1), await take(two, 1)
            assert heard_by_one is heard_by_two, "decoded once"
            async with bus.subscribe(SeededIds().new_chat_id()):
                assert bus.counters.watching == 2
        assert bus.counters.watching == 0


async def test_who_leaves_hears_no_more_and_who_comes_back_hears_again(server: BusServer) -> None:
    async with server.open() as bus:
        for version in range(1, 21):
            async with bus.subscribe(CHAT) as news:
                await bus.publish([hint(version)])
                heard = await take_until(news, lambda taken: len(taken) > 0)
                assert heard == [hint(version)], "nothing of before, no gap"


async def test_chats_do_not_hear_each_other(server: BusServer) -> None:
    other = SeededIds().new_chat_id()
    async with server.open() as bus, bus.subscribe(CHAT) as news, bus.subscribe(other) as others:
        await bus.append([part(1, chat_id=other), part(1)])
        assert await take(news, 1) == [part(1)]
        assert await take(others, 1) == [part(1, chat_id=other)]


async def test_workers_hear_of_every_chat_that_waits_for_one(server: BusServer) -> None:
    me = SeededIds().new_worker_id()
    async with server.open() as here, server.open() as there, there.subscribe_work(me) as waiting:
        await here.publish([hint(1), hint(2, runnable=True), hint(3, Status.IDLE)])
        await here.publish([hint(4, Status.INTERRUPTING, runnable=True, inline=b"for readers")])
        async with asyncio.timeout(HANG_S):
            heard = [await anext(waiting), await anext(waiting)]
    assert heard == [hint(2, runnable=True), hint(4, Status.INTERRUPTING, runnable=True)]


async def test_a_worker_hears_what_others_did_to_its_chats(server: BusServer) -> None:
    ids = SeededIds()
    me, somebody = ids.new_worker_id(), ids.new_worker_id()
    stop = hint(2, Status.INTERRUPTING, worker_id=me, history_version=Version(1))
    async with (
        server.open() as here,
        server.open() as there,
        there.subscribe_work(me) as work,
        there.subscribe(CHAT) as news,
    ):
        await here.publish([hint(1, worker_id=somebody), stop])
        async with asyncio.timeout(HANG_S):
            assert await anext(work) == stop
        assert await take(news, 2) == [hint(1, worker_id=somebody), stop]


async def test_settings_have_a_topic_of_their_own(server: BusServer) -> None:
    me = SeededIds().new_worker_id()
    said = [SettingsHint(OrgId(UUID(int=number)), number) for number in (1, 2**40)]
    async with (
        server.open() as here,
        server.open() as there,
        there.subscribe_settings() as settings,
        there.subscribe(CHAT) as news,
        there.subscribe_work(me) as work,
    ):
        for each in said:
            await here.announce_settings(each)
        await here.publish([hint(1, runnable=True)])
        async with asyncio.timeout(HANG_S):
            assert [await anext(settings), await anext(settings)] == said
            assert await anext(news) == hint(1, runnable=True)
            assert await anext(work) == hint(1, runnable=True)
            await here.announce_settings(said[0])
            assert await anext(settings) == said[0], "and no hint of a chat before it"
        await until(lambda: here.counters.sent_hints == 4)  # counted once the engine has answered


async def test_after_a_cut_the_followers_of_settings_get_a_gap(server: BusServer) -> None:
    async with server.open(QUICK) as bus, bus.subscribe_settings() as settings:
        await server.cut()
        async with asyncio.timeout(HANG_S):
            assert await anext(settings) is GAP


async def test_after_a_cut_every_follower_gets_a_gap_and_then_everything(
    server: BusServer,
) -> None:
    async with server.open(QUICK) as here, server.open(QUICK) as there:
        async with there.subscribe(CHAT) as one, there.subscribe(CHAT) as two:
            await here.append([part(1)])
            assert [await take(one, 1), await take(two, 1)] == [[part(1)], [part(1)]]
            # Or it is sent again after the cut: the engine has not answered yet.
            await until(lambda: here.counters.sent_parts == 1)
            await server.cut()
            assert [await take(one, 1), await take(two, 1)] == [[GAP], [GAP]]
            await here.append([part(2)])
            await here.publish([hint(8)])
            # A cluster comes back node by node, with a gap for each; one server with one gap.
            taken = take_said if isinstance(server, OnCluster) else take
            assert await taken(one, 2) == [part(2), hint(8)]
            assert await taken(two, 2) == [part(2), hint(8)]
        await until(lambda: here.counters.reconnects >= 1)
        assert there.counters.reconnects >= 1
        assert [p.seq for p in await last_is(here, 2)] == [1, 2]


async def test_what_is_said_during_cuts_is_kept_for_latecomers(server: BusServer) -> None:
    async with server.open(QUICK) as bus:
        await until_connected(bus)
        for seq in range(1, 41):
            await bus.append([part(seq)])
            if seq % 15 == 10:  # the connection works again
                await until(lambda seq=seq: bus.counters.sent_parts >= seq)
            if seq % 15 == 0:
                await server.cut()
        async with bus.subscribe(CHAT):
            parts = await retried_last_is(bus, 40)
        assert [p.seq for p in parts] == list(range(1, 41))
        assert bus.counters.dropped_parts == 0


async def retried_last_is(bus: Bus, seq: int) -> list[LivePart]:
    async with asyncio.timeout(HANG_S):
        while True:
            try:
                return await last_is(bus, seq)
            except Unavailable:
                await asyncio.sleep(0.01)


async def test_a_follower_that_never_reads_costs_little_and_finds_a_gap(server: BusServer) -> None:
    few = replace(CALM, mailbox_max=10)
    async with server.open(few) as bus, bus.subscribe(CHAT) as slow, bus.subscribe(CHAT) as quick:
        heard: list[News] = []
        for seq in range(1, 51):
            await bus.append([part(seq)])
            heard += await take(quick, 1)
        assert seqs(heard) == list(range(1, 51)), "the other one missed nothing"
        assert bus.counters.lagged == 41
        await bus.append([part(51)])
        await take(quick, 1)
        taken = await take(slow, 10)
        assert seqs(taken) == list(range(1, 10))
        assert taken[-1] == GAP
        await bus.append([part(52)])
        assert await take(slow, 1) == [part(52)]


async def test_a_mailbox_is_bounded_in_bytes_too(server: BusServer) -> None:
    small = replace(CALM, mailbox_bytes_max=50_000)
    async with server.open(small) as bus, bus.subscribe(CHAT) as news:
        await bus.append([part(seq, b"x" * 20_000) for seq in range(1, 21)])
        await until(lambda: bus.counters.lagged >= 16)
        taken = await take_until(news, lambda taken: gaps(taken) == 1)
        assert len(taken) < 6


async def test_the_live_log_expires(server: BusServer) -> None:
    short = replace(CALM, live_ttl_s=0.5, ping_every_s=0.1)
    async with server.open(short) as bus, asyncio.timeout(HANG_S):
        await until_connected(bus)
        # On a busy machine the log may expire before it is read: then it is said again.
        while len(await read_when_possible(bus)) < 2:
            await bus.append([part(1), part(2)])
            await asyncio.sleep(0.05)
        while True:
            if not await read_when_possible(bus):
                return
            await asyncio.sleep(0.05)


async def read_when_possible(bus: Bus) -> list[LivePart]:
    """The bus is unavailable for a moment while PostgreSQL empties the table (its lock timeout is
    0.2 s), and when the engine takes longer than `ping_every_s` to answer."""
    while True:
        with suppress(Unavailable):
            return list(await bus.read_live(CHAT, EPISODE))
        await asyncio.sleep(0.01)


@requirement("R4")
async def test_whatever_is_heard_can_be_read_by_a_successor(server: BusServer) -> None:
    async with server.open() as here, server.open() as there, there.subscribe(CHAT) as news:
        for seq in range(1, 31):
            await here.append([part(seq)])
            assert await take(news, 1) == [part(seq)]
            assert await there.read_live(CHAT, EPISODE, seq - 1) == [part(seq)]


async def test_a_bus_that_is_emptied_goes_on_from_there(server: BusServer) -> None:
    async with server.open() as bus, bus.subscribe(CHAT) as news:
        await bus.append([part(1), part(2)])
        await take(news, 2)
        await server.empty()
        assert await bus.read_live(CHAT, EPISODE) == []
        await bus.append([part(3)])
        assert await take(news, 1) == [part(3)]
        assert await bus.read_live(CHAT, EPISODE) == [part(3)]


async def test_closing_says_the_last_words(server: BusServer) -> None:
    slowly = replace(CALM, drain_s=HANG_S)
    async with server.open() as there, there.subscribe(CHAT) as news:
        async with server.open(slowly) as here:
            await until_connected(here)
            await here.append([part(1)])
            await last_is(here, 1)  # so it can send: with the engine away nobody would hear it
            await here.append([part(2)])
            await here.publish([hint(8)])
        assert await take(news, 3) == [part(1), part(2), hint(8)]


async def test_a_closed_bus_ends_its_followers_and_leaves_no_task(server: BusServer) -> None:
    before = asyncio.all_tasks()
    async with server.open() as bus:
        async with bus.subscribe(CHAT) as news:
            await bus.append([part(1)])
            await take(news, 1)
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(follow_to_the_end(bus))
            await until(lambda: bus.counters.watching == 1)
            tasks.create_task(bus.__aexit__(None, None, None))
        assert waiting.result() == []
        await bus.append([part(2)])
        await bus.publish([hint(2)])
        assert (bus.counters.dropped_parts, bus.counters.dropped_hints) == (1, 1)
    assert asyncio.all_tasks() == before


async def follow_to_the_end(bus: Bus) -> list[News]:
    async with bus.subscribe(CHAT) as news:
        return [each async for each in news]


async def test_an_error_in_the_block_passes_as_it_is(server: BusServer) -> None:
    with pytest.raises(KeyError, match="mine"):
        async with server.open():
            raise KeyError("mine")


@requirement("L65")
async def test_a_full_buffer_drops_the_oldest_counts_them_and_warns_once(
    server: BusServer, caplog: pytest.LogCaptureFixture
) -> None:
    tight = replace(CALM, buffered_max=10, batch_max=10)
    caplog.set_level(logging.WARNING, "holdfast.adapters.bus")
    async with server.open(tight) as bus, bus.subscribe(CHAT) as news:
        await bus.append([part(seq) for seq in range(1, 31)])
        await bus.publish([hint(9)])
        taken = await take(news, 10)
        assert seqs(taken) == list(range(22, 31))
        assert taken[-1] == hint(9)
        await bus.append([part(seq) for seq in range(31, 61)])
        assert seqs(await take(news, 10)) == list(range(51, 61))
        assert bus.counters.dropped_parts == 41
    assert len(caplog.records) == 1
    assert "20 hints and live parts of 1 chats" in caplog.text
