"""The server of one arm: `holdfast serve` on a database of its own, killed and started again on
demand."""

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from holdfast.adapters.postgres.migrate import MigrateOptions, migrate
from holdfast.adapters.workspaces.detached import kept
from holdfast.adapters.workspaces.local import end_agents
from holdfast.cli.dev.postgres import private_postgres
from holdfast.domain.errors import HoldfastError
from holdfast.domain.public_ids import WORKSPACE_ID
from holdfast_lab.bench.cell import Process, started
from holdfast_lab.bench.running import CannotRun
from holdfast_lab.chaos.harness.ports import quiet_port
from holdfast_lab.eval.verifier import Sandbox

TEMPLATE: Final = "eval"
PLENTY: Final = "1000000"
PROCESS: Final = "agent.json"
FILES: Final = "files"
STARTS_MAX: Final = 3


class WrongPlace(HoldfastError):
    """The files of a workspace are not where the runner was told to look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the runs of an arm take place."""

    url: str
    key: str
    template: str
    workspaces: Path
    """The `HOLDFAST_WORKSPACES_FOLDER` of the server, on this machine."""
    server: "OwnServer | None" = None
    """None: it is not ours, and is not killed."""

    def files(self, workspace_id: str) -> Path:
        """Raises `WrongPlace`."""
        found = self._workspace(workspace_id) / FILES
        if not found.is_dir():
            raise WrongPlace(
                f"{found} is no folder: --workspaces names the HOLDFAST_WORKSPACES_FOLDER of a"
                " server on this machine, and --template a template of kind `local`."
            )
        return found

    def kill_agent(self, workspace_id: str) -> bool:
        """As a loss of power would. False if none runs."""
        process = kept(self._workspace(workspace_id) / PROCESS)
        if process is None:
            return False
        os.kill(process.pid, signal.SIGKILL)
        return True

    def _workspace(self, workspace_id: str) -> Path:
        return self.workspaces / str(WORKSPACE_ID.decode(workspace_id))


class OwnServer:
    """One process that serves and drives, at an address that stays the same."""

    def __init__(self, settings: Mapping[str, str], folder: Path) -> None:
        port = quiet_port()
        self.url = f"http://127.0.0.1:{port}"
        self._settings = {**settings, "HOLDFAST_PORT": str(port)}
        self._folder = folder
        self._stack = AsyncExitStack()
        self._process: Process | None = None
        self._starts = 0
        self._killing = asyncio.Lock()

    async def start(self) -> None:
        self._starts += 1
        log = self._folder / f"server{self._starts}.log"
        serving = started(("holdfast", "serve"), self._settings, log)
        self._process = await self._stack.enter_async_context(serving)

    async def kill(self) -> None:
        """With SIGKILL; it serves again afterwards. Several calls at once are one kill. A caller
        that is cancelled meanwhile calls `revive`."""
        starts = self._starts
        async with self._killing:
            if self._starts != starts or self._process is None:
                return
            os.kill(self._process.pid, signal.SIGKILL)
            self._process = None
            await self._start_again()

    async def revive(self) -> None:
        """Start it if a cancelled kill has left it dead."""
        async with self._killing:
            if self._process is None:
                await self._start_again()

    async def _start_again(self) -> None:
        """Raises `CannotRun`. All runs of the arm wait for it: a slow machine gets more tries."""
        await self._stack.aclose()
        for _ in range(STARTS_MAX - 1):
            with suppress(CannotRun):
                return await self.start()
        return await self.start()

    async def stop(self) -> None:
        async with self._killing:
            await self._stack.aclose()


def server_settings(
    arm: Mapping[str, str], *, database_url: str, workspaces: Path, sandbox: Sandbox
) -> dict[str, str]:
    """In the names of the environment. The arm's own win, but for where the server is."""
    template = {
        "kind": "local",
        "name": TEMPLATE,
        "description": "The folder of the task.",
        "sandbox": sandbox,
        "start_s": 120,
    }
    return {
        "HOLDFAST_LOG_LEVEL": "WARNING",
        "HOLDFAST_RATE_PER_S": PLENTY,
        "HOLDFAST_RATE_BURST": PLENTY,
        "HOLDFAST_WORKSPACES_PER_USER_MAX": PLENTY,
        "HOLDFAST_CHAT_TEXTS": "off",  # what a task costs is counted
        "HOLDFAST_FOREIGN_TEXT": "allow",  # no person is there who could be asked
        **arm,
        "HOLDFAST_DATABASE_URL": database_url,
        "HOLDFAST_ROLE": "all",
        "HOLDFAST_WORKSPACES_FOLDER": str(workspaces),
        "HOLDFAST_TEMPLATES": orjson.dumps([template]).decode(),
    }


@asynccontextmanager
async def own_database(folder: Path) -> AsyncGenerator[str]:
    """The URL of a migrated database that is gone afterwards."""
    await asyncio.to_thread(folder.mkdir, mode=0o711)  # PostgreSQL may run as another user
    async with private_postgres(folder) as postgres:
        await migrate(postgres.url, MigrateOptions(tells_each=False))
        yield postgres.url


@asynccontextmanager
async def serving(
    settings: Mapping[str, str], key: str, workspaces: Path, logs: Path
) -> AsyncGenerator[Place]:
    """A server with these settings; it and the agents that it started are gone afterwards."""
    server = OwnServer(settings, logs)
    try:
        await server.start()
        yield Place(
            url=server.url, key=key, template=TEMPLATE, workspaces=workspaces, server=server
        )
    finally:
        await server.stop()
        await asyncio.to_thread(end_agents, workspaces)
        await asyncio.to_thread(shutil.rmtree, workspaces, ignore_errors=True)
