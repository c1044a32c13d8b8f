"""`holdfast dev` as a real process, in a folder of its own."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from tests.support.web import Client

START_S = 120


def environment(**variables: Any) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    named = {f"HOLDFAST_{name}".upper(): str(value) for name, value in variables.items()}
    return {**kept, **named}


@dataclass
class Dev:
    process: asyncio.subprocess.Process
    lines: list[str]
    http: aiohttp.ClientSession
    data: Path

    @property
    def url(self) -> str:
        return self.lines[0].split()[-1]

    @property
    def key(self) -> str:
        return (self.data / "key").read_text().strip()

    @property
    def client(self) -> Client:
        return Client(self.http, self.url).as_(self.key)

    async def end(self, number: signal.Signals) -> tuple[int | None, str]:
        self.process.send_signal(number)
        return await ended(self.process)


async def ended(process: asyncio.subprocess.Process) -> tuple[int | None, str]:
    async with asyncio.timeout(START_S):
        _, errors = await process.communicate()
    return process.returncode, errors.decode()


@asynccontextmanager
async def started(
    data: Path, *arguments: str, program: tuple[str, ...] = ("-m", "holdfast"), **variables: Any
) -> AsyncGenerator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *(*program, "dev", "--data", str(data), *arguments),
        env=environment(**{"config_dir": data.parent / "config", **variables}),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@asynccontextmanager
async def dev(data: Path, *arguments: str, **variables: Any) -> AsyncGenerator[Dev]:
    """Ready."""
    async with (
        started(data, *(arguments or ("--port", "0")), **variables) as process,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as http,
    ):
        assert process.stdout is not None
        lines: list[str] = []
        async with asyncio.timeout(START_S):
            while not lines or not lines[-1].startswith("  stop"):
                line = (await process.stdout.readline()).decode()
                assert line, await ended(process)
                lines.append(line.rstrip("\n"))
        yield Dev(process, lines, http, data)
