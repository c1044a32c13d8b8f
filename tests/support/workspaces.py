"""Keepers of workspaces on a real database and real processes."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from holdfast.db.pool import Pool, PoolOptions, open_pool
from holdfast.db.workspaces import PostgresWorkspaces
from holdfast.domain.chat import Chat
from holdfast.domain.workspaces import Workspace, WorkspaceId, WorkspaceStatus
from holdfast.ports.workspaces import Template, WorkspaceStore
from holdfast.workspace.keeper import Keeper, open_keeper
from holdfast.workspace.local import Local, LocalOptions
from holdfast.workspace.options import KeeperOptions
from holdfast.workspace.provisioning import Provisioner
from holdfast_lab.chaos.stage.folders import running_in, short_folder
from tests.support.builders import ORG, OWNER
from tests.support.database import add_user, temporary_database
from tests.support.doubles import SeededIds
from tests.support.waits import HANG_S
from tests.support.world import World, postgres_world


def counted_agent(pause_s: float = 0) -> tuple[str, ...]:
    """The agent; each start of it leaves a mark in its state folder, and may take its time."""
    begin = f'touch "$6/boot-$$"; sleep {pause_s}; exec "$0" -m holdfast_agent "$@"'
    return ("/bin/sh", "-c", begin, sys.executable)


CALM = KeeperOptions(look_first_s=0.02, look_s_max=0.1)
"""As in life, but with eyes that are open wider: a machine that is busy proves nothing."""
QUICK = KeeperOptions(
    lapse_s=1.5, renew_every_s=0.4, abandoned_s=2.0, look_first_s=0.02, look_s_max=0.1
)
"""For those who are overtaken."""


class WallClock:
    """The database runs on this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class Counted:
    """A provisioner, and how often each verb was asked of it."""

    def __init__(self, inner: Provisioner, asked: list[str]) -> None:
        self._inner = inner
        self.asked = asked

    @property
    def template(self) -> Template:
        return self._inner.template

    @property
    def start_s(self) -> float:
        return self._inner.start_s

    def token(self, workspace: Workspace) -> str | None:
        return self._inner.token(workspace)

    async def start(self, workspace: Workspace) -> str:
        self.asked.append("start")
        return await self._inner.start(workspace)

    async def find(self, workspace: Workspace) -> str | None:
        self.asked.append("find")
        return await self._inner.find(workspace)

    async def stop(self, workspace: Workspace) -> None:
        self.asked.append("stop")
        await self._inner.stop(workspace)

    async def delete(self, workspace: Workspace) -> None:
        self.asked.append("delete")
        await self._inner.delete(workspace)

    async def tidy(self) -> None:
        await self._inner.tidy()


@dataclass
class Yard:
    """A database, a folder, and as many keepers as a test wants."""

    url: str
    pool: Pool
    folder: Path
    stack: AsyncExitStack
    asked: list[str] = field(default_factory=list[str])
    world: World = field(init=False)

    def __post_init__(self) -> None:
        self.world = postgres_world(self.pool)

    def local(self, *, ttl_s: int = 0, **options: Any) -> Local:
        given: dict[str, Any] = {
            "folder": self.folder,
            "agent": counted_agent(),
            "sandbox": "external",
            "start_s": 90.0,
            **options,
        }
        return Local(Template(name="local", ttl_s=ttl_s), LocalOptions(**given))

    async def keeper(
        self,
        *provisioners: Provisioner,
        store: Callable[[Pool], WorkspaceStore] = PostgresWorkspaces,
        options: KeeperOptions = CALM,
        ttl_s: int = 0,
    ) -> Keeper:
        """A replica: a pool and a keeper of its own."""
        pool = await self.stack.enter_async_context(
            # All at once: whoever had to wait for a connection would be too late for a race.
            open_pool(self.url, PoolOptions(connections_min=6, connections_max=6))
        )
        offered = provisioners or (self.local(ttl_s=ttl_s),)
        return await self.stack.enter_async_context(
            open_keeper(
                store(pool),
                [Counted(each, self.asked) for each in offered],
                WallClock(),
                lambda: WorkspaceId(uuid4()),
                options,
            )
        )

    async def chat(self) -> Chat:
        return await self.world.create()

    async def rows(self) -> list[dict[str, Any]]:
        return [dict(row) for row in await self.pool.fetch("select * from workspaces")]

    @property
    def agents(self) -> list[int]:
        return running_in(self.folder)

    @property
    def folders(self) -> list[str]:
        return sorted(each.name for each in self.folder.iterdir()) if self.folder.is_dir() else []

    def boots(self, workspace: Workspace) -> int:
        """How many agents ever began there."""
        state = self.folder / str(workspace.workspace_id) / "state"
        return len(list(state.glob("boot-*")))

    def files(self, workspace: Workspace) -> Path:
        return self.folder / str(workspace.workspace_id) / "files"


@asynccontextmanager
async def a_yard(template: str) -> AsyncGenerator[Yard]:
    """Nothing of it runs afterwards."""
    with short_folder() as folder:
        try:
            async with (
                temporary_database(template) as url,
                open_pool(url, PoolOptions(connections_min=1, connections_max=4)) as pool,
                AsyncExitStack() as stack,
            ):
                await add_user(pool, ORG, OWNER)
                yield Yard(url, pool, folder / "w", stack)
        finally:
            await end_all(folder)


async def end_all(folder: Path) -> None:
    """Until two looks in a row find no process: a start that was under way when its keeper ended
    may come after the first look."""
    idle_looks = 0
    async with asyncio.timeout(HANG_S):
        while idle_looks < 2:
            await asyncio.get_running_loop().run_in_executor(None, int)  # behind what is under way
            found = running_in(folder)
            idle_looks = 0 if found else idle_looks + 1
            for pid in found:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(0.05)


def a_workspace(**more: Any) -> Workspace:
    given: dict[str, Any] = {
        "workspace_id": WorkspaceId(uuid4()),
        "org_id": ORG,
        "owner_id": OWNER,
        "chat_id": SeededIds().new_chat_id(),
        "template": "local",
        "status": WorkspaceStatus.STARTING,
        **more,
    }
    return Workspace(**given)
