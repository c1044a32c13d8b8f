"""Where things are on Redis or Valkey, and connections to there: one server, or a cluster's nodes.

A cluster tells which node holds which slot when one connects. Whatever contradicts that later (a
node that is gone, a slot that has moved) ends the connection, and the bus connects anew: so there
is one way to learn where things are, and a gap stands for whatever was missed meanwhile.
"""

import asyncio
import math
from binascii import crc_hqx
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast

import hiredis
from redis.asyncio import BlockingConnectionPool, Connection, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from holdfast.adapters.bus.options import BusOptions
from holdfast.adapters.bus.wire import Topic, topic_name
from holdfast.ports.bus import Episode

SLOTS: Final = 16_384
READERS_AT_ONCE: Final = 8
FAULTS: Final = (RedisError, OSError, TimeoutError)

Command: TypeAlias = tuple[str | int | bytes, ...]
Address: TypeAlias = tuple[str, int]

# Its own types take tuples of one word only.
_pack: Final = cast("Callable[[Command], bytes]", cast("Any", hiredis).pack_command)


@dataclass(frozen=True, slots=True)
class Verbs:
    publish: str
    subscribe: str
    unsubscribe: str


PLAIN: Final = Verbs("PUBLISH", "SUBSCRIBE", "UNSUBSCRIBE")
# In a cluster PUBLISH goes to every node, with or without followers; these stay on the chat's node.
SHARDED: Final = Verbs("SPUBLISH", "SSUBSCRIBE", "SUNSUBSCRIBE")


class Names:
    """What things are called. The chat is in braces, so that all of it lies on one node."""

    def __init__(self, prefix: str) -> None:
        assert not set("{}") & set(prefix), "braces in the prefix would be taken for the chat's"
        self._prefix = prefix

    def channel(self, topic: Topic) -> str:
        return f"{self._prefix}:{{{topic_name(topic)}}}"

    def key(self, channel: str, episode: Episode) -> str:
        return f"{channel}:{episode.history_version}.{episode.attempt}.{episode.history_stamp}"


def slot_of(topic: Topic) -> int:
    """Of whatever carries the topic in braces."""
    return crc_hqx(topic_name(topic).encode(), 0) % SLOTS


@dataclass(frozen=True, slots=True)
class Layout:
    nodes: Sequence[Address] = ()
    """Those of a cluster; none if there is only the server that the URL names."""
    owners: Sequence[int] = field(default=(), repr=False)
    """For each slot, whose it is, as a place in `nodes`."""

    @property
    def is_cluster(self) -> bool:
        return bool(self.nodes)

    @property
    def verbs(self) -> Verbs:
        return SHARDED if self.nodes else PLAIN

    def node_of(self, topic: Topic) -> int:
        return self.owners[slot_of(topic)] if self.nodes else 0


class Link:
    """One connection to one node. Ours to lose: it never connects again by itself."""

    def __init__(self, connection: Connection) -> None:
        self._connection: Any = connection

    async def write(self, commands: Sequence[Command]) -> None:
        if not self._connection.is_connected:  # the client would connect, in silence
            raise ConnectionError("the connection to Redis is lost")
        # Not the client's own packing, which takes as long as all the rest of sending.
        packed = [_pack(command) for command in commands]
        await self._connection.send_packed_command(packed, check_health=False)

    def read(self) -> Awaitable[object]:
        """The next answer, however long it takes: who asks sets the limit."""
        return self._connection.read_response(timeout=math.inf)

    async def ask(self, *command: str) -> object:
        await self.write([command])
        return await self.read()


class Nodes:
    """Makes connections, to the server that the URL names or to any node of its cluster."""

    def __init__(self, url: str, options: BusOptions) -> None:
        self._timeout_s = options.connect_timeout_s
        self._pool: Any = cast("Any", BlockingConnectionPool).from_url(
            url,
            protocol=2,
            retry=Retry(NoBackoff(), 0),
            socket_connect_timeout=options.connect_timeout_s,
            # We set our own limits. The client's are made with asyncio.wait_for, which before
            # Python 3.12 may swallow a cancellation: a bus that is closed would go on for ever.
            socket_timeout=None,
        )
        self._known: Sequence[Address] = ()

    @asynccontextmanager
    async def links(self) -> AsyncGenerator[tuple[Layout, Sequence[Link]]]:
        """A link to every node, each connected."""
        async with AsyncExitStack() as stack:
            layout = await self._find()
            links = [
                await stack.enter_async_context(self._link(node))
                for node in (layout.nodes if layout.is_cluster else [None])
            ]
            if layout.is_cluster:
                async with asyncio.timeout(self._timeout_s):
                    await _check_state(links)
            yield layout, links

    def client(self, layout: Layout, node: int) -> Redis:
        """For questions, which may be asked again on a new connection. To be closed."""
        pool: Any = BlockingConnectionPool(
            connection_class=self._pool.connection_class,
            max_connections=READERS_AT_ONCE,
            timeout=None,
            **self._settings(layout.nodes[node] if layout.is_cluster else None),
        )
        return cast("Any", Redis).from_pool(pool)

    async def _find(self) -> Layout:
        """Ask the server that the URL names; if it is away, any node that we have heard of."""
        refused: Exception = ConnectionError("no server was asked")
        for address in (None, *self._known):
            try:
                async with self._link(address) as link, asyncio.timeout(self._timeout_s):
                    layout = await _ask_layout(link, self._settings(address).get("host", ""))
            except FAULTS as error:
                refused = error
                continue
            self._known = layout.nodes
            return layout
        raise refused

    @asynccontextmanager
    async def _link(self, address: Address | None) -> AsyncGenerator[Link]:
        connection = self._pool.connection_class(**self._settings(address))
        try:
            # A server that stands still accepts connections, and says nothing on them.
            async with asyncio.timeout(self._timeout_s):
                await connection.connect()
            yield Link(connection)
        finally:
            with suppress(*FAULTS):
                await connection.disconnect(nowait=True)

    def _settings(self, address: Address | None) -> dict[str, Any]:
        """The URL's, user, password and encryption included."""
        settings = dict(self._pool.connection_kwargs)
        if address is not None:
            settings["host"], settings["port"] = address
        return settings


async def _ask_layout(link: Link, host: str) -> Layout:
    if b"cluster_enabled:1" not in cast("bytes", await link.ask("INFO", "cluster")):
        return Layout()
    nodes: list[Address] = []
    owners = [-1] * SLOTS
    for first, last, owner, *_ in cast("list[Any]", await link.ask("CLUSTER", "SLOTS")):
        # A node that does not know its own name leaves it out: it is the one that we asked.
        address = (owner[0] or b"").decode() or host, int(owner[1])
        if address not in nodes:
            nodes.append(address)
        owners[first : last + 1] = [nodes.index(address)] * (last + 1 - first)
    if -1 in owners:
        raise ConnectionError("the cluster has slots that no node holds")
    return Layout(nodes, owners)


async def _check_state(links: Sequence[Link]) -> None:
    """Nodes that have not found each other (again) answer, but keep nothing: as good as away."""
    for link in links:
        if b"cluster_state:ok" not in cast("bytes", await link.ask("CLUSTER", "INFO")):
            raise ConnectionError("the cluster is not ready")
