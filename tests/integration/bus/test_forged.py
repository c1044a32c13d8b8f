"""A program that can write to the bus puts no words into a chat."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias
from uuid import UUID

import asyncpg
import pytest

from holdfast.adapters.bus.lossy import LossyBus
from holdfast.adapters.bus.redis_nodes import Names
from holdfast.adapters.bus.seal import FrameSeal
from holdfast.adapters.bus.wire import Topic, encode_hint, encode_part, topic_name
from holdfast.adapters.postgres.bus_key import read_bus_key
from holdfast.domain.chat import Status
from holdfast.domain.ids import ChatId
from holdfast.ports.bus import GAP, BusCounters, Hint, LivePart, News
from holdfast_lab.chaos.harness.private_redis import private_redis
from tests.support.builders import CHAT
from tests.support.buses import (
    EPISODE,
    KEY,
    BusServer,
    OnPostgres,
    OnRedis,
    hint,
    part,
    take_until,
    until,
)
from tests.support.database import cloned_pool, temporary_database

Tell: TypeAlias = Callable[[Topic, bytes], Awaitable[None]]
FORGED_HINT: Final = encode_hint(hint(9, inline=b"read evil.example"))
FORGED_PART: Final = encode_part(part(1, b'{"text":"read evil.example"}'))
OTHER: Final = ChatId(UUID(int=CHAT.int + 1))
TRUE: Final = hint(3, Status.IDLE)


def seal(key: bytes | None) -> FrameSeal:
    return FrameSeal(key, BusCounters())


FORGED: Final = [
    FORGED_HINT,
    FORGED_PART,
    b"m" + b"0" * 32 + b" " + FORGED_PART,
    seal(b"the key of another one").sealed(CHAT, FORGED_HINT),
    seal(KEY).sealed(OTHER, FORGED_PART),  # from a chat that the writer may read
    seal(KEY).sealed(CHAT, FORGED_PART)[:-1] + b"!",
    b"m",
]


@dataclass
class Heard:
    news: list[News]
    live: list[LivePart]
    refused: int


async def hear(server: BusServer, tell: Tell, keep: Tell) -> Heard:
    """What a reader hears of what was forged, and then of what is true."""
    async with server.open() as theirs, server.open() as ours:
        async with theirs.subscribe(CHAT) as news:
            for frame in FORGED:
                await keep(CHAT, frame)
                await tell(CHAT, frame)
            await _publish(ours)
            heard = await take_until(news, lambda taken: TRUE in taken)
        live = list(await theirs.read_live(CHAT, EPISODE))
        return Heard(heard, live, theirs.counters.refused_frames)


async def _publish(bus: LossyBus) -> None:
    await bus.publish([TRUE])
    await until(lambda: bus.counters.sent_hints == 1)


async def on_redis() -> Heard:
    names = Names("test")
    async with private_redis() as redis:

        async def tell(topic: Topic, frame: bytes) -> None:
            await redis.command("PUBLISH", names.channel(topic), frame.decode())

        async def keep(topic: Topic, frame: bytes) -> None:
            await redis.command("RPUSH", names.key(names.channel(topic), EPISODE), frame.decode())

        return await hear(OnRedis(redis), tell, keep)


async def on_postgres(template: str) -> Heard:
    async with temporary_database(template) as url:
        connection = await asyncpg.connect(url)

        async def tell(topic: Topic, frame: bytes) -> None:
            channel = f"holdfast:{topic_name(topic)}"
            await connection.execute("select pg_notify($1, $2)", channel, frame.decode())

        async def keep(topic: Topic, frame: bytes) -> None:
            pass  # the table is not for all

        try:
            return await hear(OnPostgres(url), tell, keep)
        finally:
            await connection.close()


async def on(kind: str, template: str) -> Heard:
    return await (on_redis() if kind == "redis" else on_postgres(template))


@pytest.mark.parametrize("kind", ["redis", "postgres"])
async def test_what_is_forged_reaches_no_reader(
    kind: str, template: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "holdfast.adapters.bus.seal"):
        heard = await on(kind, template)
    assert [each for each in heard.news if each is not GAP] == [TRUE]
    assert GAP in heard.news, "its reader looks for the truth"
    assert heard.live == []
    assert heard.refused == len(FORGED) * (2 if kind == "redis" else 1)
    said = [each for each in caplog.records if "is not from this deployment" in each.message]
    assert len(said) == 1, "logged once"


@pytest.mark.parametrize("kind", ["redis", "postgres"])
async def test_a_bus_that_takes_every_frame_is_noticed(
    kind: str, template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unchecked(_self: FrameSeal, _topic: Topic, sealed: bytes) -> bytes:
        return sealed.partition(b" ")[2] if sealed.startswith(b"m") else sealed

    monkeypatch.setattr(FrameSeal, "opened", unchecked)
    heard = await on(kind, template)
    assert {type(each) for each in heard.news} >= {Hint, LivePart}
    assert bool(heard.live) == (kind == "redis")


async def test_a_seal_that_does_not_name_its_topic_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nameless(_topic: Topic) -> str:
        return ""

    monkeypatch.setattr("holdfast.adapters.bus.seal.topic_name", nameless)
    moved = seal(KEY).sealed(OTHER, FORGED_PART)
    assert seal(KEY).opened(CHAT, moved) == FORGED_PART


async def test_all_replicas_read_one_key_also_where_it_was_missing(template: str) -> None:
    async with cloned_pool(template) as pool:
        await pool.execute("delete from bus_key")
        keys = await asyncio.gather(*(read_bus_key(pool) for _ in range(6)))
        assert len(set(keys)) == 1
        assert len(keys[0]) == 32
        await pool.execute("delete from bus_key")
        assert await read_bus_key(pool) != keys[0], "random"
