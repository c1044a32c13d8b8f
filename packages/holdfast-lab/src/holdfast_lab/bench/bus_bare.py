"""Lanes over bare clients: what our bus sends, sent by the driver alone, and read likewise."""

import asyncio
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast
from uuid import UUID

import asyncpg
from redis.asyncio import Redis

from holdfast.adapters.bus.postgres import FLUSH
from holdfast.adapters.bus.redis import APPEND, PARTS_PER_SCRIPT_MAX
from holdfast_lab.bench.lanes import TICK_S, Event, Heard

PARTS_MAX, TTL_MS, WINDOW_S = 20_000, 600_000, 600.0


class TickingPublisher:
    """Collects, and flushes once per tick."""

    def __init__(self, flush: Callable[[list[Event]], Awaitable[object]]) -> None:
        self._flush = flush
        self._waiting: list[Event] = []
        self._count = 0

    async def say(self, events: Sequence[Event]) -> None:
        self._waiting.extend(events)

    async def all_said(self, count: int) -> None:
        while True:
            if self._count >= count:
                return
            await asyncio.sleep(TICK_S / 4)

    async def run(self) -> None:
        while True:
            batch, self._waiting = self._waiting, []
            if batch:
                await self._flush(batch)
                self._count += len(batch)
            await asyncio.sleep(TICK_S)


@asynccontextmanager
async def ticking(
    flush: Callable[[list[Event]], Awaitable[object]],
) -> AsyncGenerator[TickingPublisher]:
    publisher = TickingPublisher(flush)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(publisher.run())
        yield publisher
        task.cancel()


class BarePostgres:
    @asynccontextmanager
    async def publisher(self, url: str) -> AsyncGenerator[TickingPublisher]:
        connection = await asyncpg.connect(
            url, server_settings={"synchronous_commit": "off", "jit": "off"}
        )

        async def flush(batch: list[Event]) -> None:
            given: dict[str, object] = {
                "window_s": WINDOW_S,
                "chat_ids": [chat for chat, _, _ in batch],
                "history_versions": [1] * len(batch),
                "attempts": [1] * len(batch),
                "history_stamps": [0] * len(batch),
                "seqs": [seq for _, seq, _ in batch],
                "turn_seqs": [1] * len(batch),
                "payloads": [payload for _, _, payload in batch],
                "channels": [f"holdfast:{chat.hex}" for chat, _, _ in batch],
                "notes": [f"p 1 1 {seq}\n{payload.decode()}" for _, seq, payload in batch],
            }
            await connection.fetch(FLUSH.text, *FLUSH.values(given))

        try:
            async with ticking(flush) as publisher:
                yield publisher
        finally:
            await connection.close()

    @asynccontextmanager
    async def reader(self, url: str, chats: Sequence[UUID], heard: Heard) -> AsyncGenerator[None]:
        connection = await asyncpg.connect(url)
        by_channel = {f"holdfast:{chat.hex}": chat for chat in chats}

        def on_note(_connection: object, _pid: int, channel: str, note: object) -> None:
            head, _, payload = cast("str", note).partition("\n")
            heard(by_channel[channel], int(head[6:]), payload.encode())

        try:
            for channel in by_channel:
                await connection.add_listener(channel, on_note)
            yield
        finally:
            await connection.close()


def scripts(batch: Sequence[Event]) -> list[list[object]]:
    """What follows the script's name in each call that our bus would make of the batch."""
    calls: list[list[object]] = []
    for first in range(0, len(batch), PARTS_PER_SCRIPT_MAX):
        keys: list[str] = []
        said: list[object] = ["PUBLISH", PARTS_MAX, TTL_MS]
        for chat, seq, payload in batch[first : first + PARTS_PER_SCRIPT_MAX]:
            channel = channel_of(chat)
            keys.append(f"{channel}:1.1")
            said += (channel, b"p 1 1 %d\n%b" % (seq, payload))
        calls.append([len(keys), *keys, *said])
    return calls


def channel_of(chat: UUID) -> str:
    return f"holdfast:{{{chat.hex}}}"


async def count_keys(url: str, prefix: str) -> int:
    client: Any = cast("Any", Redis).from_url(url, protocol=2)
    try:
        return sum([1 async for _ in client.scan_iter(match=f"{prefix}*", count=1_000)])
    finally:
        await client.aclose()


class BareRedis:
    """redis-py: its pipeline, and its connection as a subscriber would read it."""

    @asynccontextmanager
    async def publisher(self, url: str) -> AsyncGenerator[TickingPublisher]:
        async with AsyncExitStack() as stack:
            client: Any = cast("Any", Redis).from_url(url, protocol=2)
            stack.push_async_callback(client.aclose)
            sha = await client.script_load(APPEND)

            async def flush(batch: list[Event]) -> None:
                pipeline = client.pipeline(transaction=False)
                for call in scripts(batch):
                    pipeline.evalsha(sha, *call)
                await pipeline.execute()

            yield await stack.enter_async_context(ticking(flush))

    @asynccontextmanager
    async def reader(self, url: str, chats: Sequence[UUID], heard: Heard) -> AsyncGenerator[None]:
        by_channel = {channel_of(chat).encode(): chat for chat in chats}
        async with AsyncExitStack() as stack:
            client: Any = cast("Any", Redis).from_url(url, protocol=2)
            stack.push_async_callback(client.aclose)
            connection = client.connection_pool.make_connection()
            await connection.connect()
            stack.push_async_callback(connection.disconnect)
            await connection.send_command("SUBSCRIBE", *by_channel)
            for _ in by_channel:
                await connection.read_response(timeout=math.inf)

            async def read() -> None:
                while True:
                    _, channel, frame = await connection.read_response(timeout=math.inf)
                    head, _, payload = frame.partition(b"\n")
                    heard(by_channel[channel], int(head[6:]), payload)

            tasks = await stack.enter_async_context(asyncio.TaskGroup())
            stack.callback(tasks.create_task(read()).cancel)
            yield
