"""A process that starts a workspace, to be killed meanwhile: URL, folder, chat, pause."""

import asyncio
import sys
from pathlib import Path
from uuid import UUID, uuid4

from holdfast.adapters.postgres.pool import open_pool
from holdfast.adapters.postgres.workspaces import PostgresWorkspaces
from holdfast.adapters.workspaces.keeper import open_keeper
from holdfast.adapters.workspaces.local import Local, LocalOptions
from holdfast.domain.chat import Chat
from holdfast.domain.ids import ChatId
from holdfast.domain.workspaces import WorkspaceId
from holdfast.ports.workspaces import Template
from tests.support.builders import ORG, OWNER
from tests.support.workspaces import QUICK, WallClock, counted_agent


async def main(url: str, folder: str, chat_id: str, pause_s: str) -> None:
    options = LocalOptions(
        folder=Path(folder), agent=counted_agent(float(pause_s)), sandbox="external", start_s=90.0
    )
    local = Local(Template(name="local"), options)
    async with (
        open_pool(url) as pool,
        open_keeper(
            PostgresWorkspaces(pool), [local], WallClock(), lambda: WorkspaceId(uuid4()), QUICK
        ) as keeper,
    ):
        await keeper.create(Chat(chat_id=ChatId(UUID(chat_id)), org_id=ORG, owner_id=OWNER))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
