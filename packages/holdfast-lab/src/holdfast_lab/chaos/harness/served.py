"""`holdfast serve` as an operator runs it: a process with a log, and the client of its admin."""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import orjson

from holdfast_lab.chaos.harness.client import ADMIN_EMAIL, OUR_ORIGIN, PASSWORD, Client
from holdfast_lab.chaos.harness.replica import PLENTY

START_S: Final = 120.0
OURS: Final = "HOLDFAST_"


@dataclass(frozen=True)
class Served:
    process: asyncio.subprocess.Process
    log: Path
    admin: Client

    @property
    def alive(self) -> bool:
        return self.process.returncode is None

    @property
    def lines(self) -> list[str]:
        return self.log.read_text().splitlines()

    def memory_kb(self) -> int:
        """The most that was in use since `forget_peak`."""
        return _status(self.process.pid, "VmHWM")

    def forget_peak(self) -> int:
        """What is in use now; the peak is counted from here."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")
        return _status(self.process.pid, "VmRSS")


def _status(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


@asynccontextmanager
async def served(
    settings: dict[str, Any],
    mutant: str | None = None,
    client_address: str | None = None,
    *,
    role: str = "all",
) -> AsyncGenerator[Served]:
    """On a database without users. `client_address`: where the admin calls from."""
    given = {
        "chat_texts": "off",  # calls for titles would be counted among those of turns
        **settings,
        "role": role,
        "port": 0,
        "origins": OUR_ORIGIN,
        "admin_email": ADMIN_EMAIL,
        "admin_password": PASSWORD,
        "rate_per_s": PLENTY,
        "rate_burst": int(PLENTY),
    }
    module = ("holdfast",) if mutant is None else ("holdfast_lab.chaos.harness.mutated", mutant)
    with tempfile.TemporaryDirectory(prefix="holdfast-served-") as folder:
        log = Path(folder) / "log"
        with log.open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", *module, "serve"),
                env=_environment(given),
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
            )
        try:
            url = await _ready(process, log)
            local = None if client_address is None else (client_address, 0)
            # No connection is used again: the server may have closed one that was silent.
            connector = aiohttp.TCPConnector(limit=0, local_addr=local, force_close=True)
            async with aiohttp.ClientSession(connector=connector) as http:
                yield Served(process, log, await _admin(Client(http, url)))
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()


async def _ready(process: asyncio.subprocess.Process, log: Path) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(START_S):
        line = (await process.stdout.readline()).decode()
    assert line, f"the server did not start: {_tail(log)}"
    return line.split()[-1]


def _tail(log: Path) -> str:
    return log.read_text()[-2000:]


async def _admin(stranger: Client) -> Client:
    made = await stranger.new_key("key", "read", "write", "approve", "admin")
    return stranger.as_(made["secret"])


def _environment(given: dict[str, Any]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return kept | {f"{OURS}{name.upper()}": _text(value) for name, value in given.items()}


def _text(value: Any) -> str:
    return orjson.dumps(value).decode() if isinstance(value, (list, dict)) else str(value)
