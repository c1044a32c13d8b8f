"""A Redis server or cluster of the test's own, for tests that cut, pause, stop or kill one."""

import asyncio
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from redis.asyncio import Redis
from redis.exceptions import RedisError

from holdfast_lab.chaos.harness.ports import quiet_port

SLOTS = 16_384


@dataclass(slots=True)
class PrivateRedis:
    port: int
    folder: Path
    settings: tuple[str, ...] = ()
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    async def start(self) -> None:
        server = shutil.which("redis-server") or shutil.which("valkey-server")
        assert server, "tests need redis-server or valkey-server"
        command = [server, "--port", str(self.port), "--save", "", "--dir", str(self.folder)]
        command += self.settings
        self.process = await asyncio.to_thread(
            subprocess.Popen[bytes], command, stdout=subprocess.DEVNULL
        )
        async with asyncio.timeout(60):
            while True:
                if await self._answers():
                    return
                await asyncio.sleep(0.01)

    async def stop(self) -> None:
        """kill -9: whatever it held is gone."""
        assert self.process is not None
        self.process.kill()
        await asyncio.to_thread(self.process.wait)
        self.process = None

    def pause(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    async def command(self, *words: str) -> Any:
        (answer,) = await self.commands([words])
        return answer

    async def commands(self, commands: Sequence[tuple[str, ...]]) -> list[Any]:
        client = cast("Any", Redis).from_url(self.url)
        try:
            pipeline = client.pipeline(transaction=False)
            for words in commands:
                pipeline.execute_command(*words)
            return await pipeline.execute()
        finally:
            await client.aclose()

    async def _answers(self) -> bool:
        try:
            return bool(await self.command("PING"))
        except (RedisError, OSError):
            return False


@asynccontextmanager
async def private_redis() -> AsyncGenerator[PrivateRedis]:
    """A running server that keeps nothing on disk; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="holdfast-redis-") as folder:
        server = PrivateRedis(quiet_port(), Path(folder))
        await server.start()
        try:
            yield server
        finally:
            if server.process is not None:
                await server.stop()


@dataclass(slots=True)
class PrivateCluster:
    """Three nodes, a third of the slots each, no replicas."""

    nodes: list[PrivateRedis]

    async def start(self) -> None:
        """Also again: what a node knows of the cluster is on its disk."""
        for node in self.nodes:
            await node.start()
        await self.until_agreed()

    async def stop(self) -> None:
        for node in self.nodes:
            if node.process is not None:
                await node.stop()

    async def command(self, *words: str) -> None:
        """The same to every node."""
        for node in self.nodes:
            await node.command(*words)

    async def join(self) -> None:
        first, *others = self.nodes
        for number, node in enumerate(self.nodes):
            share = SLOTS // len(self.nodes) + 1
            last = min(SLOTS, (number + 1) * share) - 1
            await node.command("CLUSTER", "SET-CONFIG-EPOCH", str(number + 1))
            await node.command("CLUSTER", "ADDSLOTSRANGE", str(number * share), str(last))
        # A node forgets a handshake that takes longer than the node timeout: it is asked again.
        async with asyncio.timeout(60):
            while True:
                for node in others:
                    address = ("127.0.0.1", str(first.port), node_port(first))
                    await node.command("CLUSTER", "MEET", *address)
                with suppress(TimeoutError):
                    return await self.until_agreed(within_s=3.0)

    async def until_agreed(self, within_s: float = 60.0) -> None:
        async with asyncio.timeout(within_s):
            while True:
                if all([await self._is_ready(node) for node in self.nodes]):
                    return
                await asyncio.sleep(0.02)

    async def move_slot(self, slot: int, source: PrivateRedis, target: PrivateRedis) -> None:
        """As a tool for resharding does it, keys included."""
        names = {each.port: await each.command("CLUSTER", "MYID") for each in (source, target)}
        here, there = names[source.port].decode(), names[target.port].decode()
        await target.command("CLUSTER", "SETSLOT", str(slot), "IMPORTING", here)
        await source.command("CLUSTER", "SETSLOT", str(slot), "MIGRATING", there)
        keys = await source.command("CLUSTER", "GETKEYSINSLOT", str(slot), "1000")
        for key in keys:
            address = ("127.0.0.1", str(target.port))
            await source.command("MIGRATE", *address, key.decode(), "0", "5000")
        for node in (target, source):
            await node.command("CLUSTER", "SETSLOT", str(slot), "NODE", there)

    async def move_all_slots(self, source: PrivateRedis, target: PrivateRedis) -> None:
        """Of a node that holds no key."""
        there = (await target.command("CLUSTER", "MYID")).decode()
        share = SLOTS // len(self.nodes) + 1
        first = self.nodes.index(source) * share
        slots = range(first, min(first + share, SLOTS))
        for node in (target, source):
            await node.commands([("CLUSTER", "SETSLOT", str(s), "NODE", there) for s in slots])

    async def _is_ready(self, node: PrivateRedis) -> bool:
        return b"cluster_state:ok" in await node.command("CLUSTER", "INFO")


def node_port(node: PrivateRedis) -> str:
    """Where a node talks to other nodes. Left to itself it takes a port that may not exist."""
    return node.settings[node.settings.index("--cluster-port") + 1]


@asynccontextmanager
async def private_cluster() -> AsyncGenerator[PrivateCluster]:
    with tempfile.TemporaryDirectory(prefix="holdfast-redis-") as folder:
        cluster = PrivateCluster([a_node(Path(folder) / str(number)) for number in range(3)])
        try:
            for node in cluster.nodes:
                await node.start()
            await cluster.join()
            yield cluster
        finally:
            await cluster.stop()


def a_node(folder: Path) -> PrivateRedis:
    folder.mkdir()
    settings = {
        "--cluster-enabled": "yes",
        "--cluster-port": str(quiet_port()),
        "--cluster-node-timeout": "1000",
        # Else a node that has given its slots away turns into a replica.
        "--cluster-allow-replica-migration": "no",
    }
    return PrivateRedis(
        quiet_port(), folder, tuple(word for setting in settings.items() for word in setting)
    )
