"""The bus on Redis or Valkey: an expiring list per episode for latecomers, PUBLISH for who follows.

On a cluster everything of a chat is on one node (see redis_nodes), and publishing stays there.
Connections are ours to lose: the client's own silent retries would hide what was missed meanwhile.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final, cast

from redis.asyncio import Redis
from redis.exceptions import MovedError

from holdfast.adapters.bus.engine import Deliver, Item
from holdfast.adapters.bus.lossy import LossyBus
from holdfast.adapters.bus.options import BusOptions
from holdfast.adapters.bus.redis_nodes import FAULTS, Command, Layout, Link, Names, Nodes
from holdfast.adapters.bus.seal import FrameSeal
from holdfast.adapters.bus.wire import Topic, addressed, decode, encode_hint, encode_part
from holdfast.domain.ids import ChatId
from holdfast.ports.bus import GAP, BusCounters, Episode, Gap, LivePart

APPEND: Final = (files("holdfast.adapters.bus") / "append.lua").read_text()
PARTS_PER_SCRIPT_MAX: Final = 64
"""The server does nothing else meanwhile; so many take it a fraction of a millisecond."""


def open_redis_bus(
    url: str,
    *,
    prefix: str = "holdfast",
    options: BusOptions | None = None,
    key: bytes | None = None,
) -> LossyBus:
    """A bus on the server at `url`, or on the cluster that it belongs to, under keys and channels
    that begin with `prefix`; to be entered with `async with`. `key`: see `FrameSeal`."""
    options, counters = options or BusOptions(), BusCounters()
    engine = RedisEngine(url, prefix, options, FrameSeal(key, counters))
    return LossyBus(engine, options, counters)


class RedisEngine:
    faults = FAULTS

    def __init__(self, url: str, prefix: str, options: BusOptions, seal: FrameSeal) -> None:
        self._seal = seal
        self._nodes = Nodes(url, options)
        self._names = Names(prefix)
        self._options = options

    @asynccontextmanager
    async def connect_sender(self) -> AsyncGenerator["RedisSender"]:
        async with self._nodes.links() as (layout, links):
            async with asyncio.timeout(self._options.answer_timeout_s):
                shas = [await link.ask("SCRIPT", "LOAD", APPEND) for link in links]
            sha = cast("bytes", shas[0])
            yield RedisSender(layout, links, sha, self._names, self._options, self._seal)

    @asynccontextmanager
    async def connect_receiver(self, deliver: Deliver) -> AsyncGenerator["RedisReceiver"]:
        async with self._nodes.links() as (layout, links), AsyncExitStack() as stack:
            clients = [self._nodes.client(layout, node) for node in range(len(links))]
            for client in clients:
                stack.push_async_callback(_close, client)
            yield RedisReceiver(
                layout, links, clients, deliver, self._names, self._options, self._seal
            )


async def _close(client: Redis) -> None:
    with suppress(*FAULTS):
        await client.aclose()


@dataclass(slots=True)
class _Run:
    """Parts that one call of the script keeps and shows."""

    chat_id: ChatId
    keys: list[str] = field(default_factory=list[str])
    said: list[str | bytes] = field(default_factory=list[str | bytes])


class RedisSender:
    def __init__(
        self,
        layout: Layout,
        links: Sequence[Link],
        sha: bytes,
        names: Names,
        options: BusOptions,
        seal: FrameSeal,
    ) -> None:
        self._seal = seal
        self._layout = layout
        self._links = links
        self._names = names
        self._script = ("EVALSHA", sha)
        self._bounds = (
            layout.verbs.publish,
            options.episode_parts_max,
            round(options.live_ttl_s * 1000),
        )

    async def send(self, batch: Sequence[Item]) -> None:
        plan = self._plan(batch) if batch else [[("PING",)] for _ in self._links]
        # First all questions, then all answers: the nodes work at the same time. Whatever is
        # raised begins a new connection, and that finds the nodes and loads the script anew.
        for link, commands in zip(self._links, plan, strict=True):
            if commands:
                await link.write(commands)
        for link, commands in zip(self._links, plan, strict=True):
            for _ in commands:
                await link.read()

    def _plan(self, batch: Sequence[Item]) -> list[list[Command]]:
        """What to ask of each node. A chat has one node, so what is said of it keeps its order."""
        plan: list[list[Command | _Run]] = [[] for _ in self._links]
        for item in batch:
            if isinstance(item, LivePart):
                self._add(plan[self._layout.node_of(item.chat_id)], item)
                continue
            for topic, hint in addressed(item):
                frame = self._seal.sealed(topic, encode_hint(hint))
                told = self._layout.verbs.publish, self._names.channel(topic), frame
                plan[self._layout.node_of(topic)].append(told)
        return [
            [self._call(each) if isinstance(each, _Run) else each for each in todo] for todo in plan
        ]

    def _add(self, todo: list[Command | _Run], part: LivePart) -> None:
        run = todo[-1] if todo else None
        if (
            not isinstance(run, _Run)
            or len(run.keys) >= PARTS_PER_SCRIPT_MAX
            or (self._layout.is_cluster and run.chat_id != part.chat_id)
        ):
            run = _Run(part.chat_id)
            todo.append(run)
        channel = self._names.channel(part.chat_id)
        run.keys.append(self._names.key(channel, part.episode))
        run.said += (channel, self._seal.sealed(part.chat_id, encode_part(part)))

    def _call(self, run: _Run) -> Command:
        return (*self._script, len(run.keys), *run.keys, *self._bounds, *run.said)


class RedisReceiver:
    def __init__(
        self,
        layout: Layout,
        links: Sequence[Link],
        clients: Sequence[Redis],
        deliver: Deliver,
        names: Names,
        options: BusOptions,
        seal: FrameSeal,
    ) -> None:
        self._seal = seal
        self._layout = layout
        self._links = links
        self._clients: Sequence[Any] = clients
        self._deliver = deliver
        self._names = names
        self._options = options
        self._topics: dict[bytes, Topic] = {}
        self._unconfirmed: dict[bytes, asyncio.Future[None]] = {}
        self._leaving: Counter[bytes] = Counter()
        self._moved = asyncio.Event()
        self._message = b"smessage" if layout.is_cluster else b"message"

    async def watch(self, topics: Collection[Topic]) -> None:
        loop = asyncio.get_running_loop()
        channels = {self._names.channel(topic).encode(): topic for topic in topics}
        self._topics.update(channels)
        waiting = {channel: loop.create_future() for channel in channels}
        self._unconfirmed.update(waiting)
        async with asyncio.timeout(self._options.answer_timeout_s):
            await self._tell(self._layout.verbs.subscribe, channels)
            for confirmed in waiting.values():
                await confirmed

    async def unwatch(self, topics: Collection[Topic]) -> None:
        channels = {self._names.channel(topic).encode(): topic for topic in topics}
        for channel in channels:
            self._topics.pop(channel, None)
        self._leaving.update(channels.keys())
        async with asyncio.timeout(self._options.answer_timeout_s):
            await self._tell(self._layout.verbs.unsubscribe, channels)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for link in self._links:
                reading = _Reading(link, self._hear)
                tasks.create_task(reading.read(), name="bus reading")
                tasks.create_task(reading.ping(self._options), name="bus pings")
            await self._moved.wait()
            raise ConnectionError("a slot of the Redis cluster has moved")

    async def read_live(
        self, chat_id: ChatId, episode: Episode, after_seq: int
    ) -> Sequence[LivePart]:
        key = self._names.key(self._names.channel(chat_id), episode)
        client = self._clients[self._layout.node_of(chat_id)]
        try:
            frames = await client.lrange(key, 0, -1)
        except MovedError:
            self._moved.set()
            raise
        parts: dict[int, LivePart] = {}
        for frame in frames:
            part = self._read(chat_id, frame)
            if isinstance(part, LivePart) and part.seq > after_seq:
                parts.setdefault(part.seq, part)
        return [parts[seq] for seq in sorted(parts)]

    def _read(self, topic: Topic, sealed: bytes) -> Item | Gap:
        frame = self._seal.opened(topic, sealed)
        return GAP if frame is None else decode(topic, frame)

    async def _tell(self, verb: str, channels: dict[bytes, Topic]) -> None:
        """One command per channel: on a cluster those of two slots may not share one."""
        plan: list[list[Command]] = [[] for _ in self._links]
        for channel, topic in channels.items():
            plan[self._layout.node_of(topic)].append((verb, channel))
        for link, commands in zip(self._links, plan, strict=True):
            if commands:
                await link.write(commands)

    def _hear(self, kind: bytes, channel: bytes, frame: object) -> None:
        if kind == self._message:
            topic = self._topics.get(channel)
            if topic is not None:
                self._deliver(topic, self._read(topic, cast("bytes", frame)))
        elif kind in {b"subscribe", b"ssubscribe"}:
            confirmed = self._unconfirmed.pop(channel, None)
            if confirmed is not None and not confirmed.done():
                confirmed.set_result(None)
        elif kind in {b"unsubscribe", b"sunsubscribe"}:
            if channel in self._leaving:
                self._leaving -= Counter([channel])
            else:  # unasked for, it is how a node says that the channel is another's from now on
                self._moved.set()


class _Reading:
    """Hands on what a node says, and notices when it says nothing at all."""

    def __init__(self, link: Link, hear: Callable[[bytes, bytes, object], None]) -> None:
        self._link = link
        self._hear = hear
        self._heard = 0

    async def read(self) -> None:
        while True:
            answer = await self._link.read()
            self._heard += 1
            if isinstance(answer, list):
                words = cast("list[bytes]", answer)
                if len(words) == 3:  # else the answer to a ping
                    self._hear(*words)

    async def ping(self, options: BusOptions) -> None:
        while True:
            heard = self._heard
            async with asyncio.timeout(options.answer_timeout_s):
                await self._link.write([("PING",)])
            await asyncio.sleep(options.ping_every_s)
            if self._heard == heard:
                raise TimeoutError("Redis says nothing")
