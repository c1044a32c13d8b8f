"""A PgBouncer of the test's own before the PostgreSQL of the tests."""

import asyncio
import getpass
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from holdfast_lab.chaos.stage.ports import quiet_port
from holdfast_lab.chaos.stage.private_postgres import servers_user
from tests.support.waits import HANG_S

SERVERS_MAX = 3
"""Sessions that transactions share: fewer than the connections of one replica."""


@dataclass(frozen=True)
class PgBouncer:
    url: str
    """Of the database that lies behind it."""
    process: "subprocess.Popen[bytes]"

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)


@asynccontextmanager
async def pgbouncer(database_url: str, mode: str) -> AsyncGenerator[PgBouncer]:
    """As its package configures it, but for the mode: startup parameters of ours are refused."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    assert program, "tests need pgbouncer"
    behind, port = urlsplit(database_url), quiet_port()
    person = behind.username or os.environ.get("PGUSER") or getpass.getuser()
    name = behind.path.removeprefix("/")
    with tempfile.TemporaryDirectory(prefix="holdfast-pgbouncer-") as folder:
        ini = _configure(Path(folder), database_url, mode, port, person)
        process = await asyncio.to_thread(
            subprocess.Popen[bytes],
            [program, "-q", str(ini)],
            stderr=subprocess.DEVNULL,
            user=servers_user(),
            cwd="/",
        )
        try:
            await _until_open(port, process)
            yield PgBouncer(f"postgresql://{person}@127.0.0.1:{port}/{name}", process)
        finally:
            process.kill()
            await asyncio.to_thread(process.wait)


def _configure(place: Path, database_url: str, mode: str, port: int, person: str) -> Path:
    behind = urlsplit(database_url)
    name = behind.path.removeprefix("/")
    place.chmod(0o755)
    (place / "users").write_text(f'"{person}" ""\n')
    lines = (
        "[databases]",
        f"{name} = host={behind.hostname} port={behind.port or 5432} dbname={name}",
        "[pgbouncer]",
        "listen_addr = 127.0.0.1",
        f"listen_port = {port}",
        "unix_socket_dir =",
        "auth_type = trust",
        f"auth_file = {place / 'users'}",
        f"pool_mode = {mode}",
        f"default_pool_size = {SERVERS_MAX if mode == 'transaction' else 50}",
    )
    (place / "ini").write_text("\n".join(lines) + "\n")
    return place / "ini"


async def _until_open(port: int, process: "subprocess.Popen[bytes]") -> None:
    async with asyncio.timeout(HANG_S):
        while True:
            assert process.poll() is None, "pgbouncer ended by itself"
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.02)
            else:
                with closing(writer):
                    return
