"""Servers on real sockets, as production builds them, and clients that talk to them."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from holdfast.bootstrap import Adapters
from holdfast.bootstrap.edge import Served, create_first_with_key, open_served
from holdfast.bootstrap.server import Server
from holdfast_lab.chaos.harness.client import ADMIN_EMAIL as ADMIN_EMAIL
from holdfast_lab.chaos.harness.client import OUR_ORIGIN as OUR_ORIGIN
from holdfast_lab.chaos.harness.client import PASSWORD, Client, add_member
from holdfast_lab.chaos.harness.client import Answer as Answer
from holdfast_lab.chaos.harness.client import uuid_of as uuid_of
from holdfast_lab.chaos.harness.replica import PLENTY
from tests.support.replica import Replicas
from tests.support.waits import LIFE_S

UNLIMITED = {
    "rate_per_s": PLENTY,
    "rate_burst": int(PLENTY),
    "stranger_rate_per_s": PLENTY,
    "stranger_rate_burst": int(PLENTY),
}


@dataclass
class Cell:
    """Replicas on sockets, an admin's key, and a client for it at the first of them."""

    replicas: Replicas
    admin: Client
    served: list[Served]
    stack: AsyncExitStack

    @property
    def urls(self) -> list[str]:
        return [each.url for each in self.served]

    @property
    def nobody(self) -> Client:
        return self.admin.as_(None)

    async def another(self, **more: Any) -> Served:
        served = await self.stack.enter_async_context(on_socket(self.replicas, **more))
        self.served.append(served)
        return served

    async def member(self, name: str, scopes: tuple[str, ...] = ("read", "write")) -> Client:
        return await add_member(self.admin, name, scopes)


@asynccontextmanager
async def on_socket(
    replicas: Replicas,
    around: Callable[[Adapters], Adapters] | None = None,
    *,
    within_s: float = LIFE_S,
    **more: Any,
) -> AsyncGenerator[Served]:
    """`within_s`: for all of its life. Without limits of requests: how many a test sends in a
    second depends on the machine."""
    settings = replicas.settings(**{"port": 0, **UNLIMITED, **more})
    async with (
        replicas.open(around, within_s=within_s, **more) as server,
        open_served(server, settings) as served,
        asyncio.TaskGroup() as tasks,
    ):
        tasks.create_task(served.run())
        await served.ready()
        yield served
        served.drain()


@asynccontextmanager
async def a_cell(replicas: Replicas, **more: Any) -> AsyncGenerator[Cell]:
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(on_socket(replicas, **more))
        first = await create_first_with_key(
            served.edge.identity,
            organisation="Acme",
            email=ADMIN_EMAIL,
            password=PASSWORD,
            name="Ada",
        )
        assert first is not None
        http = await stack.enter_async_context(
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, force_close=True))
        )
        admin = Client(http, served.url).as_(first.key.secret)
        yield Cell(replicas, admin, [served], stack)


def server_of(cell: Cell) -> Server:
    return cell.served[0].server
