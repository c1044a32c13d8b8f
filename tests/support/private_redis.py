"""A Redis server of the test's own, for tests that cut, pause, stop or kill one."""

import asyncio
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from redis.asyncio import Redis
from redis.exceptions import RedisError

from tests.support.private_postgres import free_port


@dataclass(slots=True)
class PrivateRedis:
    port: int
    folder: Path
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    async def start(self) -> None:
        server = shutil.which("redis-server") or shutil.which("valkey-server")
        assert server, "tests need redis-server or valkey-server"
        command = [server, "--port", str(self.port), "--save", "", "--dir", str(self.folder)]
        self.process = await asyncio.to_thread(
            subprocess.Popen[bytes], command, stdout=subprocess.DEVNULL
        )
        async with asyncio.timeout(10):
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
        client = cast("Any", Redis).from_url(self.url)
        try:
            return await client.execute_command(*words)
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
        server = PrivateRedis(free_port(), Path(folder))
        await server.start()
        try:
            yield server
        finally:
            if server.process is not None:
                await server.stop()
