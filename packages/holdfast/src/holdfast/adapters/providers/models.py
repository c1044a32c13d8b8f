"""The configured models behind the port: a name leads to an endpoint, facts, clocks and a price."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.prices import Price, cost_micros
from holdfast.adapters.providers.stream import Deadlines, ProviderStream
from holdfast.adapters.providers.transport import Transport
from holdfast.adapters.providers.types import CachePolicy, Call, Endpoint, ModelFacts, Tool
from holdfast.domain.chat import ErrorKind, TurnError
from holdfast.domain.parts import Part
from holdfast.ports import models
from holdfast.ports.models import NO_ROUTE, Ask, Event, ModelFailed, Route, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """Everything about one model that people may choose by name."""

    endpoint: Endpoint
    facts: ModelFacts
    deadlines: Deadlines = field(default_factory=Deadlines)
    price: Price | None = None  # the operator's own; else the price list's
    temperature: float | None = None
    cache: CachePolicy = field(default_factory=CachePolicy)
    fallback: tuple[str, ...] = ()  # other models, asked in this order while this one is down
    fallback_on_usage_limit: bool = False


class ModelUnknown(ModelFailed):
    """A name that leads nowhere; no provider was asked."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no model is configured under the name {name!r}")
        self.kind = ErrorKind.CONFIG
        self.detail = str(self)
        self.retryable = False
        self.retry_after_s = None
        self.own_deadline = False
        self._name = name

    def turn_error(self) -> TurnError:  # pyright: ignore[reportImplicitOverride] - 3.11 cannot say it
        sentence = f"The model {self._name[:100]!r} is not configured here. Choose another one."
        return TurnError(kind=self.kind, sentence=sentence)


class ConfiguredModels:
    """`default`: the name of the model for chats that chose none."""

    def __init__(
        self, transport: Transport, configs: Mapping[str, ModelConfig], default: str
    ) -> None:
        assert not configs or default in configs, f"the default model {default!r} is not configured"
        self._transport = transport
        self._configs = dict(configs)
        self._default = default

    def _config(self, name: str | None) -> ModelConfig | None:
        return self._configs.get(name or self._default)

    def stream(self, ask: Ask) -> "ConfiguredStream":
        return ConfiguredStream(self._transport, self._config(ask.model), ask)

    def cost_micros(self, model: str | None, usage: Usage | None, at: datetime) -> int | None:
        config = self._config(model)
        if config is None:
            return None
        if config.price is not None:
            return cost_micros(usage, "own", at, {"own": config.price})
        return cost_micros(usage, config.facts.price_id, at)

    def context_window(self, model: str | None) -> int | None:
        config = self._config(model)
        return None if config is None else config.facts.context_window

    def route(self, model: str | None) -> Route:
        config = self._config(model)
        if config is None:
            return NO_ROUTE
        return Route(
            vendor=config.endpoint.vendor,
            host=host_of(config.endpoint),
            fallback=config.fallback,
            fallback_on_usage_limit=config.fallback_on_usage_limit,
        )


class ConfiguredStream:
    """One attempt. A setting that the provider rejects is left out, and the call repeated (L41):
    no part was received yet, so readers see no difference."""

    def __init__(self, transport: Transport, config: ModelConfig | None, ask: Ask) -> None:
        self._transport = transport
        self._config = config
        self._ask = ask
        self._inner: ProviderStream | None = None

    @property
    def opened(self) -> bool:
        return self._inner is not None and self._inner.opened

    @property
    def final(self) -> models.Reply | None:
        return None if self._inner is None else self._inner.final

    @property
    def usage(self) -> Usage | None:
        return None if self._inner is None else self._inner.usage

    def partial(self) -> tuple[Part, ...]:
        return () if self._inner is None else self._inner.partial()

    async def __aenter__(self) -> Self:
        config = self._config
        if config is None:
            raise ModelUnknown(self._ask.model or "")
        call = _call(config, self._ask)
        try:
            await self._open(config, call)
        except ProviderError as error:
            if error.rejected != "temperature" or call.temperature is None:
                raise
            await self._open(config, replace(call, temperature=None))
        return self

    async def _open(self, config: ModelConfig, call: Call) -> None:
        self._inner = ProviderStream(self._transport, config.endpoint, call, config.deadlines)
        await self._inner.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._inner is not None:
            await self._inner.__aexit__(kind, error, traceback)

    def __aiter__(self) -> AsyncIterator[Event]:
        assert self._inner is not None, "enter it first"
        return self._inner


def host_of(endpoint: Endpoint) -> str:
    """For logs and for the circuit breaker: an address without credentials and paths."""
    parts = urlsplit(endpoint.base_url)
    return parts.netloc.rpartition("@")[2]


def _call(config: ModelConfig, ask: Ask) -> Call:
    return Call(
        model=config.facts,
        history=ask.history,
        system=ask.system,
        tools=[
            Tool(name=spec.name, description=spec.description, schema=spec.schema)
            for spec in ask.tools
        ],
        effort=ask.effort,
        temperature=config.temperature,
        cache=config.cache,
        cache_key=str(ask.chat_id),
    )
