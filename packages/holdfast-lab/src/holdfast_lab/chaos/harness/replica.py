"""A replica on a socket, as production serves it, and the client of its first admin."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from holdfast.api.dependencies import Identity
from holdfast.bootstrap import Adapters, Server, open_server
from holdfast.bootstrap.edge import create_first_with_key, open_served
from holdfast.bootstrap.server import as_they_are
from holdfast.settings import Settings
from holdfast_lab.chaos.harness.client import ADMIN_EMAIL, OUR_ORIGIN, PASSWORD, Client

Around = Callable[[Adapters], Adapters]
PLENTY: Final = 1_000_000.0
UNBOUNDED: Final = {
    "rate_per_s": PLENTY,
    "rate_burst": PLENTY,
    "statements_per_user_max": 0,
    "chats_per_user_max": 0,
    "streams_per_user_max": 0,
    "streams_per_chat_max": 0,
    "chat_texts": "off",
}
"""One person stands for many; and calls for titles are not counted among those of turns."""


@dataclass(frozen=True)
class Door:
    server: Server
    identity: Identity
    admin: Client
    database_url: str


@asynccontextmanager
async def open_door(settings: dict[str, Any], around: Around = as_they_are) -> AsyncGenerator[Door]:
    """On an empty database: who stands at the door first is its admin."""
    given = Settings.model_validate({**UNBOUNDED, **settings, "port": 0, "origins": OUR_ORIGIN})
    async with (
        open_server(given, around) as server,
        open_served(server, given) as served,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, force_close=True)) as http,
        asyncio.TaskGroup() as tasks,
    ):
        tasks.create_task(served.run())
        await served.ready()
        identity = served.edge.identity
        first = await create_first_with_key(
            identity, organisation="Acme", email=ADMIN_EMAIL, password=PASSWORD, name="Ada"
        )
        assert first is not None, "the database already has an account"
        admin = Client(http, served.url).as_(first.key.secret)
        yield Door(server, identity, admin, str(given.database_url))
        served.drain()
