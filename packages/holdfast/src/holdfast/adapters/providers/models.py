"""The configured models behind the port: a name leads to an endpoint, facts, clocks and a price."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from holdfast.adapters.providers.binding import AcceptedThinking
from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.left_out import RejectedSettings
from holdfast.adapters.providers.prices import cost_micros
from holdfast.adapters.providers.provider_tools import blocks_of, with_uses
from holdfast.adapters.providers.registry import ModelConfig, ModelRegistry
from holdfast.adapters.providers.stream import ProviderStream
from holdfast.adapters.providers.transport import Transport
from holdfast.adapters.providers.types import Call, Endpoint, Tool
from holdfast.domain.chat import ErrorKind, TurnError
from holdfast.domain.parts import Part
from holdfast.ports import models
from holdfast.ports.models import (
    NO_ROUTE,
    Ask,
    Event,
    ModelFailed,
    Route,
    Usage,
)


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
    """Asks the registry for each attempt, so that a change of it holds from the next attempt on."""

    def __init__(self, transport: Transport, registry: ModelRegistry) -> None:
        self._transport = transport
        self._registry = registry
        self._generation = registry.generation
        self._settings = RejectedSettings()
        self._thinking = AcceptedThinking()

    def stream(self, ask: Ask) -> "ConfiguredStream":
        if self._generation != self._registry.generation:
            # Of a model whose settings may be others now, nothing is known yet.
            self._generation, self._settings = self._registry.generation, RejectedSettings()
        name = ask.model or self._registry.default
        left_out = LeftOut(name, self._settings, self._thinking)
        config = self._registry.find(name)
        config = None if config is None else config.for_owner(ask.owner_id)
        return ConfiguredStream(self._transport, config, ask, left_out)

    def cost_micros(self, model: str | None, usage: Usage | None, at: datetime) -> int | None:
        config = self._registry.find_priced(model)
        if config is None:
            return None
        if config.price is not None:
            return cost_micros(usage, "own", at, {"own": config.price})
        if usage is not None and usage.billed_micros is not None:
            return usage.billed_micros
        return cost_micros(usage, config.facts.price_id, at)

    def context_window(self, model: str | None) -> int | None:
        config = self._registry.find(model)
        return None if config is None else config.facts.context_window

    def route(self, model: str | None) -> Route:
        config = self._registry.find(model)
        if config is None:
            return NO_ROUTE
        return Route(
            model=model or self._registry.default,
            vendor=config.endpoint.vendor,
            host=host_of(config.endpoint),
            wire=config.endpoint.wire,
            fallback=config.fallback,
            fallback_on_usage_limit=config.fallback_on_usage_limit,
            provider_tools=config.provider_tools,
            web=config.web,
            edit_tool=config.facts.edit_tool,
        )


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What this process has learned to leave out of the calls of one model."""

    model: str
    settings: RejectedSettings
    thinking: AcceptedThinking

    def apply(self, call: Call, ask: Ask) -> Call:
        return self.thinking.apply(self.settings.apply(call, self.model), ask)

    def less(self, call: Call, ask: Ask, endpoint: Endpoint, error: ProviderError) -> Call | None:
        """The call to repeat; None: nothing of it can be left out. Each answer leaves out more."""
        repeated = self.thinking.less(call, ask, endpoint, error)
        return repeated or self.settings.less(call, self.model, endpoint, error)

    def remember(self, call: Call) -> None:
        self.settings.remember(call, self.model)


class ConfiguredStream:
    """One attempt. What the provider rejects, a setting or thinking of earlier replies, is left
    out, and the call repeated (L41): no part was received yet, so readers see no difference."""

    def __init__(
        self,
        transport: Transport,
        config: ModelConfig | None,
        ask: Ask,
        left_out: "LeftOut",
    ) -> None:
        self._transport = transport
        self._config = config
        self._ask = ask
        self._left_out = left_out
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
        call = self._left_out.apply(_call(config, self._ask), self._ask)
        while True:
            try:
                await self._open(config, call)
            except ProviderError as error:
                repeated = self._left_out.less(call, self._ask, config.endpoint, error)
                if repeated is None:
                    error.own_key = config.has_own_key
                    raise
                call = repeated
            else:
                self._left_out.remember(call)
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
    own = {spec.name for spec in config.provider_tools}  # a fallback has what is set for it
    offered = [spec for spec in ask.provider_tools if spec.name in own]
    return Call(
        model=config.facts,
        history=ask.history,
        bound_from=ask.bound_from,
        system=ask.system,
        tools=[
            Tool(
                name=spec.name,
                description=spec.description,
                schema=spec.schema,
                free_form=spec.free_form,
            )
            for spec in ask.tools
        ],
        provider_tools=blocks_of(offered, config.facts, config.endpoint),
        effort=ask.effort or config.effort,
        output_max=ask.output_max or config.output_max,
        extra={**with_uses(offered, config.endpoint), **config.extra},
        temperature=config.temperature if ask.temperature is None else ask.temperature,
        service_tier=config.service_tier,
        cache=config.cache,
        cache_key=str(ask.chat_id),
    )
