"""A server as production builds it, on a database and a simulator of the test's own."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import asyncpg

from holdfast.bootstrap import Adapters, Server, open_server
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import Create
from holdfast.domain.ids import ChatId, UserId
from holdfast.domain.messages import MessageBody
from holdfast.settings import Settings, read_settings
from holdfast_lab.chaos.harness.simulator import simulator_process
from holdfast_simulator.server import Config, running
from tests.support.builders import ORG, OWNER
from tests.support.database import temporary_database
from tests.support.waits import HANG_S, LIFE_S

QUICK: dict[str, Any] = {
    "lease_ttl_s": 8.0,
    "heartbeat_every_s": 2.0,
    "drain_s": 5.0,
    "finish_replies_s": 0.0,
    "chat_texts": "off",
}
"""Short leases, yet a process that stands still for three seconds keeps its own. Calls for titles
would be counted among those of turns."""
API_KEY = "sk-canary-of-the-model-4711"


class Provider(Protocol):
    """A simulator, in this process or in one of its own."""

    @property
    def url(self) -> str: ...


@dataclass(frozen=True)
class Elsewhere:
    url: str


@dataclass(frozen=True)
class Replicas:
    """What servers of one cell share."""

    database_url: str
    simulator: Provider

    def settings(self, **more: Any) -> Settings:
        models = [
            {
                "name": "sim",
                "vendor": "simulator-anthropic",
                "model": "claude-sonnet-5",
                "base_url": self.simulator.url,
                "api_key": API_KEY,
            }
        ]
        given = {"database_url": self.database_url, "models": models, **QUICK, **more}
        return read_settings(**given)

    @asynccontextmanager
    async def open(
        self,
        around: Callable[[Adapters], Adapters] | None = None,
        *,
        within_s: float = LIFE_S,
        **more: Any,
    ) -> AsyncGenerator[Server]:
        settings = self.settings(**more)
        opened = open_server(settings) if around is None else open_server(settings, around)
        async with asyncio.timeout(within_s), opened as server:
            await server.ready()
            yield server


@asynccontextmanager
async def replicas(template: str) -> AsyncGenerator[Replicas]:
    async with (
        temporary_database(template) as url,
        running(Config(hang_max_s=20)) as simulator,
    ):
        await add_owners(url, OWNER)
        yield Replicas(url, simulator)


@asynccontextmanager
async def replicas_apart(template: str) -> AsyncGenerator[Replicas]:
    """The same beside a simulator in a process of its own, as fast as it can."""
    async with temporary_database(template) as url, simulator_process() as simulator_url:
        await add_owners(url, OWNER)
        yield Replicas(url, Elsewhere(simulator_url))


async def ask(server: Server, *messages: MessageBody, owner: UserId = OWNER) -> Chat:
    """A new chat with these messages, as somebody sends them."""
    chat = Chat(chat_id=server.adapters.ids.new_chat_id(), org_id=ORG, owner_id=owner)
    return (await server.ledger.create(chat, Create(messages))).chat


async def at_rest(server: Server, chat_id: ChatId, within_s: float = HANG_S) -> Chat:
    """The chat once nobody drives it any more."""
    async with asyncio.timeout(within_s):
        while True:
            loaded = await server.adapters.store.load(chat_id)
            assert loaded is not None
            chat = loaded.facts.chat
            if chat.status not in (Status.RUNNING, Status.INTERRUPTING) and chat.worker_id is None:
                return chat
            await asyncio.sleep(0.02)


async def add_owners(url: str, *owners: UserId) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(
            "insert into organisations (id, name) values ($1, 'org') on conflict do nothing", ORG
        )
        await connection.executemany(
            "insert into users (id, org_id, name) values ($1, $2, 'user')",
            [(owner, ORG) for owner in owners],
        )
    finally:
        await connection.close()
