"""Turns on the real thing: PostgreSQL, its bus, and the simulator behind the configured models."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from holdfast.adapters.bus.postgres import open_postgres_bus
from holdfast.adapters.postgres.clock import DatabaseClock
from holdfast.adapters.postgres.pool import PoolOptions, open_pool
from holdfast.adapters.providers.models import ConfiguredModels
from holdfast.adapters.providers.registry import ModelConfig, ModelRegistry
from holdfast.adapters.providers.transport import Transport, open_transport
from holdfast.admin.current import CurrentSettings
from holdfast.chats.ledger import Ledger
from holdfast.domain.chat import Chat
from holdfast.domain.messages import MessageBody, Role
from holdfast.ports.bus import Bus
from holdfast.ports.models import Ask, ModelStream
from holdfast.ports.tools import Tools
from holdfast.tools.builtin import Builtin
from holdfast.turn.driver import Driver
from holdfast.turn.interrupts import Interrupts
from holdfast.turn.options import TurnOptions
from holdfast.turn.reading import TurnReader
from holdfast.turn.retry import RetryPolicy
from tests.support.builders import ORG, OWNER
from tests.support.database import add_user, temporary_database
from tests.support.model import FACTS, WIRE_NAMES
from tests.support.provider_faults import PATIENT, now
from tests.support.simulated import endpoint_at
from tests.support.stage import told
from tests.support.waits import HANG_S
from tests.support.wire import WireTap, tapped
from tests.support.world import World, postgres_world

OPTIONS = TurnOptions(
    retry=RetryPolicy(attempts_max=3, first_delay_s=0.05, delay_s_max=0.1, hint_s_max=1.0)
)


class FirstReply:
    """What is directed, is directed for the first reply of a chat; the rest goes well."""

    def __init__(self, directed: ConfiguredModels, models: ConfiguredModels) -> None:
        self._directed = directed
        self._models = models
        self.cost_micros = models.cost_micros
        self.context_window = models.context_window
        self.route = models.route

    def stream(self, ask: Ask) -> ModelStream:
        begun = any(body.role is Role.ASSISTANT for body in ask.history)
        return (self._models if begun else self._directed).stream(ask)


@dataclass
class Turns:
    tap: WireTap
    world: World
    bus: Bus
    transport: Transport
    url: str
    clock: DatabaseClock
    driver: Driver = field(init=False)

    def __post_init__(self) -> None:
        self.driver = self.process()

    def process(
        self,
        *,
        tools: Tools | None = None,
        options: TurnOptions = OPTIONS,
        settings: CurrentSettings | None = None,
        **config: Any,
    ) -> Driver:
        """A driver as one process has it; `x_sim_…` directs what the simulator does."""
        headers = {k: config.pop(k) for k in list(config) if k.startswith("x_sim")}
        models = self._models({"deadlines": PATIENT} | config, {})
        directed = self._models({"deadlines": PATIENT} | config, headers)
        store = self.world.store
        return Driver(
            Ledger(store, self.bus, self.clock),
            TurnReader(store, self.world.history),
            self.bus,
            FirstReply(directed, models),
            tools or Builtin(self.clock),
            options,
            clock=self.clock,
            chance=lambda: 0.5,
            settings=settings,
        )

    def _models(self, config: dict[str, Any], headers: dict[str, str]) -> ConfiguredModels:
        def configured(wire: str) -> ModelConfig:
            settings: dict[str, Any] = {"facts": FACTS[wire], **config}
            return ModelConfig(endpoint=endpoint_at(self.url, wire, **headers), **settings)

        configs = {wire: configured(wire) for wire in WIRE_NAMES}
        return ConfiguredModels(self.transport, ModelRegistry(configs, "chat"))

    async def turn(self, *messages: MessageBody, driver: Driver | None = None) -> Chat:
        chat = await self.world.running(*messages)
        async with asyncio.timeout(HANG_S):
            return await (driver or self.driver).drive(chat, Interrupts(chat))

    async def said(self, chat: Chat) -> list[str]:
        return [told(message.body) for message in await self.world.read(chat.chat_id)]


@asynccontextmanager
async def turns_on(template: str, url: str) -> AsyncGenerator[Turns]:
    async with (
        temporary_database(template) as database,
        tapped(database) as tap,
        open_pool(tap.url, PoolOptions(connections_max=8)) as pool,
        open_postgres_bus(database) as bus,
        open_transport(now) as transport,
    ):
        await add_user(pool, ORG, OWNER)
        clock = await DatabaseClock.open(pool)
        yield Turns(tap, postgres_world(pool), bus, transport, url, clock)
