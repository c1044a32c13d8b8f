"""A PostgreSQL server of the test's own, for tests that misconfigure, stop or kill one."""

import asyncio
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast_lab.chaos.harness.ports import quiet_port

STARTS_S: Final = 240
"""Ten times what a start takes on a busy machine."""


@dataclass(slots=True)
class PrivatePostgres:
    url: str
    data: Path
    serve: str
    running: bool = False

    async def start(self) -> None:
        await self._control("-o", self.serve, "-l", str(self.data.parent / "log"), "start")
        self.running = True

    async def is_up(self) -> bool:
        """Whether it runs at all: it may have given up by itself."""
        try:
            await self._control("status")
        except subprocess.CalledProcessError:
            return False
        return True

    async def stop(self) -> None:
        """As a crash would: nothing is written out, unlogged tables are empty afterwards."""
        self.running = False
        await self._control("-m", "immediate", "stop")

    async def shut_down(self) -> None:
        """In order: a standby has received everything before it ends."""
        self.running = False
        await self._control("-m", "fast", "stop")

    async def promote(self) -> None:
        """A standby becomes a primary."""
        await self._control("promote")

    async def _control(self, *arguments: str) -> None:
        base = (binary("pg_ctl"), "-D", str(self.data), "-w", "-s", "-t", str(STARTS_S))
        await asyncio.to_thread(_run, *base, *arguments, data=self.data.parent)


def binary(name: str) -> str:
    found = shutil.which(name) or next(
        (str(path) for path in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None
    )
    assert found, f"{name} is not installed: tests need PostgreSQL's server binaries"
    return found


def servers_user() -> int | None:
    """The server refuses to run as root; where we do, it runs as the system's postgres user."""
    return pwd.getpwnam("postgres").pw_uid if os.geteuid() == 0 else None


def _run(*command: str, data: Path) -> None:
    as_user = servers_user()
    if as_user is not None:
        os.chown(data, as_user, -1)
    subprocess.run(command, check=True, capture_output=True, user=as_user, cwd="/")


@asynccontextmanager
async def private_postgres(
    settings: Mapping[str, str], listen: str = "127.0.0.1"
) -> AsyncGenerator[PrivatePostgres]:
    """A running server with these settings; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="holdfast-pg-") as folder:
        async with postgres_in(Path(folder), settings, listen=listen) as server:
            yield server


@asynccontextmanager
async def postgres_in(
    folder: Path, settings: Mapping[str, str], *initdb: str, listen: str = "127.0.0.1"
) -> AsyncGenerator[PrivatePostgres]:
    """The same in a folder that is there."""
    data, port = folder / "db", quiet_port()
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    serve = f"-p {port} -h {listen} -k {folder} {options}"
    make = (binary("initdb"), "-D", str(data), "-A", "trust", "-U", "postgres", "-N", *initdb)
    await asyncio.to_thread(_run, *make, data=folder)
    with (data / "pg_hba.conf").open("a") as trusted:
        trusted.write("host all all samenet trust\n")
    url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
    server = PrivatePostgres(url, data, serve)
    await server.start()
    try:
        yield server
    finally:
        if server.running:
            await server.stop()


@asynccontextmanager
async def standby_of(primary: PrivatePostgres) -> AsyncGenerator[PrivatePostgres]:
    """A running copy that follows the primary asynchronously; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="holdfast-pg-") as name:
        folder, port = Path(name), quiet_port()
        data = folder / "db"
        copy = (binary("pg_basebackup"), "-d", primary.url, "-D", str(data), "-c", "fast", "-N")
        await asyncio.to_thread(_run, *copy, "-R", "-X", "stream", data=folder)
        serve = f"-p {port} -h 127.0.0.1 -k {folder}"
        server = PrivatePostgres(f"postgresql://postgres@127.0.0.1:{port}/postgres", data, serve)
        await server.start()
        try:
            yield server
        finally:
            if server.running:
                await server.stop()
