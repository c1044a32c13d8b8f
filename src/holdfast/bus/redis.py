"""The bus on Redis or Valkey: an expiring list per episode for latecomers, PUBLISH for who follows.

Keys and channels carry the chat in braces, so that all of one chat lies on one node of a cluster.
Connections are ours to lose: the client's own silent retries would hide what was missed meanwhile.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from typing import Any, Final, cast

from redis.asyncio import Connection, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from holdfast.bus.engine import Deliver, Item
from holdfast.bus.lossy import LossyBus
from holdfast.bus.options import BusOptions
from holdfast.bus.wire import RUNNABLE, Topic, decode, encode_hint, encode_part, topic_name
from holdfast.domain.ids import ChatId
from holdfast.ports.bus import Episode, LivePart

APPEND: Final = (files("holdfast.bus") / "append.lua").read_text()
FAULTS: Final = (RedisError, OSError, TimeoutError)


def open_redis_bus(
    url: str, *, prefix: str = "holdfast", options: BusOptions | None = None
) -> LossyBus:
    """A bus on the server at `url`, under keys and channels that begin with `prefix`; to be entered
    with `async with`."""
    options = options or BusOptions()
    return LossyBus(RedisEngine(url, prefix, options), options)


class RedisEngine:
    faults = FAULTS

    def __init__(self, url: str, prefix: str, options: BusOptions) -> None:
        self._url = url
        self._names = Names(prefix)
        self._options = options

    @asynccontextmanager
    async def connect_sender(self) -> AsyncGenerator["RedisSender"]:
        async with self._connect() as client:
            sha = await cast("Any", client).script_load(APPEND)
            yield RedisSender(client, sha, self._names, self._options)

    @asynccontextmanager
    async def connect_receiver(self, deliver: Deliver) -> AsyncGenerator["RedisReceiver"]:
        async with self._connect() as client:
            connection: Connection = cast("Any", client.connection_pool).make_connection()
            try:
                await connection.connect()
                yield RedisReceiver(client, connection, deliver, self._names, self._options)
            finally:
                with suppress(*FAULTS):
                    await connection.disconnect(nowait=True)

    @asynccontextmanager
    async def _connect(self) -> AsyncGenerator["Redis"]:
        client: Redis = cast("Any", Redis).from_url(
            self._url,
            protocol=2,
            retry=Retry(NoBackoff(), 0),
            socket_connect_timeout=self._options.connect_timeout_s,
            # We set our own limits. The client's are made with asyncio.wait_for, which before
            # Python 3.12 may swallow a cancellation: a bus that is closed would go on for ever.
            socket_timeout=None,
            max_connections=8,
        )
        try:
            yield client
        finally:
            with suppress(*FAULTS):
                await client.aclose()


class Names:
    """Where things are on the server."""

    def __init__(self, prefix: str) -> None:
        assert not set("{}") & set(prefix), "braces in the prefix would be taken for the chat's"
        self._prefix = prefix

    def channel(self, topic: Topic) -> str:
        return f"{self._prefix}:{{{topic_name(topic)}}}"

    def key(self, chat_id: ChatId, episode: Episode) -> str:
        return f"{self.channel(chat_id)}:{episode.history_version}.{episode.attempt}"


class RedisSender:
    def __init__(self, client: Redis, sha: str, names: Names, options: BusOptions) -> None:
        self._client: Any = client
        self._sha = sha
        self._names = names
        self._parts_max = options.episode_parts_max
        self._ttl_ms = round(options.live_ttl_s * 1000)

    async def send(self, batch: Sequence[Item]) -> None:
        pipeline = self._client.pipeline(transaction=False)
        if not batch:
            pipeline.ping()
        for item in batch:
            channel = self._names.channel(item.chat_id)
            if isinstance(item, LivePart):
                key = self._names.key(item.chat_id, item.episode)
                frame = encode_part(item)
                pipeline.evalsha(self._sha, 1, key, channel, frame, self._parts_max, self._ttl_ms)
                continue
            frame = encode_hint(item)
            pipeline.publish(channel, frame)
            if item.runnable:
                pipeline.publish(self._names.channel(RUNNABLE), frame)
        # Whatever it raises begins a new connection, and that loads the script anew.
        await pipeline.execute()


class RedisReceiver:
    def __init__(
        self,
        client: Redis,
        connection: Connection,
        deliver: Deliver,
        names: Names,
        options: BusOptions,
    ) -> None:
        self._client: Any = client
        self._connection: Any = connection
        self._deliver = deliver
        self._names = names
        self._options = options
        self._topics: dict[bytes, Topic] = {}
        self._unconfirmed: dict[bytes, asyncio.Future[None]] = {}
        self._heard = 0

    async def watch(self, topics: Collection[Topic]) -> None:
        loop = asyncio.get_running_loop()
        channels = {self._names.channel(topic).encode(): topic for topic in topics}
        self._topics.update(channels)
        waiting = {channel: loop.create_future() for channel in channels}
        self._unconfirmed.update(waiting)
        async with asyncio.timeout(self._options.answer_timeout_s):
            await self._connection.send_command("SUBSCRIBE", *channels)
            for confirmed in waiting.values():
                await confirmed

    async def unwatch(self, topics: Collection[Topic]) -> None:
        channels = [self._names.channel(topic).encode() for topic in topics]
        for channel in channels:
            self._topics.pop(channel, None)
        async with asyncio.timeout(self._options.answer_timeout_s):
            await self._connection.send_command("UNSUBSCRIBE", *channels)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._read(), name="bus reading")
            tasks.create_task(self._ping(), name="bus pings")

    async def read_live(
        self, chat_id: ChatId, episode: Episode, after_seq: int
    ) -> Sequence[LivePart]:
        frames = await self._client.lrange(self._names.key(chat_id, episode), 0, -1)
        parts: dict[int, LivePart] = {}
        for frame in frames:
            part = decode(chat_id, frame)
            if isinstance(part, LivePart) and part.seq > after_seq:
                parts.setdefault(part.seq, part)
        return [parts[seq] for seq in sorted(parts)]

    async def _read(self) -> None:
        while True:
            # Without a limit: silence is normal here, and the pings tell it from a cut connection.
            answer = await self._connection.read_response(timeout=math.inf)
            self._heard += 1
            if not isinstance(answer, list):  # the answer to a ping while nothing is watched
                continue
            kind, channel, *rest = cast("list[bytes]", answer)
            if kind == b"message":
                topic = self._topics.get(channel)
                if topic is not None:
                    self._deliver(topic, decode(topic, rest[0]))
            elif kind == b"subscribe":
                confirmed = self._unconfirmed.pop(channel, None)
                if confirmed is not None and not confirmed.done():
                    confirmed.set_result(None)

    async def _ping(self) -> None:
        while True:
            heard = self._heard
            async with asyncio.timeout(self._options.answer_timeout_s):
                await self._connection.send_command("PING")
            await asyncio.sleep(self._options.ping_every_s)
            if self._heard == heard:
                raise TimeoutError("Redis says nothing")
