"""A PostgreSQL server of the test's own, for tests that misconfigure, stop or kill one."""

import asyncio
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(slots=True)
class PrivatePostgres:
    url: str
    data: Path
    serve: str
    running: bool = False

    async def start(self) -> None:
        await self._control("-o", self.serve, "-l", str(self.data.parent / "log"), "start")
        self.running = True

    async def stop(self) -> None:
        """As a crash would: nothing is written out, unlogged tables are empty afterwards."""
        self.running = False
        await self._control("-m", "immediate", "stop")

    async def _control(self, *arguments: str) -> None:
        base = (binary("pg_ctl"), "-D", str(self.data), "-w", "-s")
        await asyncio.to_thread(_run, *base, *arguments, data=self.data.parent)


def binary(name: str) -> str:
    found = shutil.which(name) or next(
        (str(path) for path in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None
    )
    assert found, f"{name} is not installed: tests need PostgreSQL's server binaries"
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _run(*command: str, data: Path) -> None:
    # The server refuses to run as root; where tests do, it runs as the system's postgres user.
    as_user = None
    if os.geteuid() == 0:
        as_user = pwd.getpwnam("postgres").pw_uid
        os.chown(data, as_user, -1)
    subprocess.run(command, check=True, capture_output=True, user=as_user, cwd="/")


@asynccontextmanager
async def private_postgres(settings: Mapping[str, str]) -> AsyncGenerator[PrivatePostgres]:
    """A running server with these settings; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="holdfast-pg-") as folder:
        data, port = Path(folder), free_port()
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        serve = f"-p {port} -h 127.0.0.1 -k {data} {options}"
        await asyncio.to_thread(
            _run,
            *(binary("initdb"), "-D", str(data / "db"), "-A", "trust", "-U", "postgres", "-N"),
            data=data,
        )
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        server = PrivatePostgres(url, data / "db", serve)
        await server.start()
        try:
            yield server
        finally:
            if server.running:
                await server.stop()
