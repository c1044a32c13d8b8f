"""The models that chats may name, as this process knows them: in memory, replaced while it runs.

    settings file ──▶ replace("settings") ─┐
    database rows ──▶ replace("database") ─┴▶ one list: workers and `GET /models` ask it every time
    providers' lists ─▶ learn ─────────────┘

An attempt keeps the configuration that it began with. The next attempt uses the present one.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from holdfast.adapters.providers.endpoints import SIMULATED_MODEL, VENDORS
from holdfast.adapters.providers.listings import PublishedFacts, facts_with
from holdfast.adapters.providers.prices import Price, price_of
from holdfast.adapters.providers.stream import Deadlines
from holdfast.adapters.providers.types import CachePolicy, Endpoint, ModelFacts, ThinkingStyle
from holdfast.domain.ids import UserId
from holdfast.domain.parts import JsonObject
from holdfast.domain.provider_tools import ProviderToolSpec
from holdfast.ports.models import ModelCard, TokenPrice

SETTINGS: Final = "settings"
"""The source that every server has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """Everything about one model that people may choose by name."""

    endpoint: Endpoint
    facts: ModelFacts
    deadlines: Deadlines = field(default_factory=Deadlines)
    price: Price | None = None  # the operator's own; else the price list's
    temperature: float | None = None
    cache: CachePolicy = field(default_factory=CachePolicy)
    effort: str | None = None  # of messages that name none
    output_max: int | None = None
    extra: JsonObject = field(default_factory=dict[str, Any])
    settled: frozenset[str] = frozenset()
    """Facts that settings decide: a provider's list does not change them."""
    retires_at: datetime | None = None
    fallback: tuple[str, ...] = ()  # other models, asked in this order while this one is down
    fallback_on_usage_limit: bool = False
    provider_tools: tuple[ProviderToolSpec, ...] = ()
    service_tier: str | None = None
    web: bool = False  # whether those of the web go without saying
    has_own_key: bool = False  # whether the endpoint has the key of the chat's owner
    user_endpoint: Callable[[UserId], Endpoint | None] | None = field(
        default=None, repr=False, compare=False
    )
    """With the user's own key; it gives None for a user who has none."""

    def for_owner(self, owner_id: UserId | None) -> "ModelConfig":
        """For an attempt in a chat of this user."""
        own = self.user_endpoint and owner_id and self.user_endpoint(owner_id)
        return replace(self, endpoint=own, has_own_key=True) if own else self


class ModelRegistry:
    """One per process. Where two sources have a model of one name, the older source's counts."""

    def __init__(self, configs: Mapping[str, ModelConfig] | None = None, default: str = "") -> None:
        self.changed = asyncio.Event()
        """Set by every replacement; the reader of providers' lists clears it."""
        self.generation = 0
        self._sources: dict[str, Mapping[str, ModelConfig]] = {}
        self._default = ""
        self._given: dict[str, ModelConfig] = {}
        self._configs: dict[str, ModelConfig] = {}
        self._removed: dict[str, ModelConfig] = {}
        self._learned: dict[tuple[str, str, str], PublishedFacts] = {}
        self.replace(configs or {}, default)

    def replace(
        self,
        configs: Mapping[str, ModelConfig],
        default: str | None = None,
        *,
        source: str = SETTINGS,
    ) -> None:
        """All models of one source, at once. `default`: the name of the model for chats that chose
        none; None: as before; empty: the first model."""
        if default is not None:
            self._default = default
        self._sources[source] = dict(configs)
        given: dict[str, ModelConfig] = {}
        for each in self._sources.values():
            given |= {name: config for name, config in each.items() if name not in given}
        self._removed |= self._configs
        self._given = given
        self._configs = {name: self._with_facts(config) for name, config in given.items()}
        self.generation += 1
        self.changed.set()

    @property
    def given(self) -> Mapping[str, ModelConfig]:
        """As the sources have them, without what providers' lists say."""
        return self._given

    @property
    def default(self) -> str:
        """Empty: there is no model."""
        if self._default in self._configs:
            return self._default
        return next(iter(self._configs), "")

    def names_of(self, source: str) -> frozenset[str]:
        return frozenset(self._sources.get(source, {}))

    def find(self, name: str | None) -> ModelConfig | None:
        """None: the default."""
        return self._configs.get(name or self.default)

    def find_priced(self, name: str | None) -> ModelConfig | None:
        """Also one that was removed: a reply that began before is still billed."""
        return self.find(name) or self._removed.get(name or "")

    def names(self) -> tuple[str, ...]:
        """The default first."""
        first = self.default
        return (first, *(name for name in self._configs if name != first)) if first else ()

    def card(self, name: str) -> ModelCard | None:
        """What clients may know of a model."""
        config = self._configs.get(name)
        return None if config is None else _card(config)

    def learn(self, name: str, listed: PublishedFacts) -> None:
        """Take what the provider's list says of a model, for the attempts that begin from now on.
        Without a release: the families are older than the list, the settings are not."""
        given = self._given.get(name)
        if given is None:  # removed while the list was read
            return
        self._learned[_served(given)] = listed
        self._configs[name] = self._with_facts(given)

    def _with_facts(self, given: ModelConfig) -> ModelConfig:
        listed = self._learned.get(_served(given))
        if listed is None:
            return given
        return replace(
            given,
            facts=facts_with(given.facts, listed, given.settled),
            price=given.price or listed.price,
            retires_at=listed.retires_at,
        )


def _served(config: ModelConfig) -> tuple[str, str, str]:
    """What a provider's list is about."""
    return config.endpoint.vendor, config.endpoint.base_url, config.facts.model


def _card(config: ModelConfig) -> ModelCard:
    facts = config.facts
    vendor = VENDORS.get(config.endpoint.vendor)
    simulated = vendor is not None and vendor.is_simulator and facts.model == SIMULATED_MODEL
    return ModelCard(
        context_window=facts.context_window,
        output_max=facts.output_max,
        efforts=facts.efforts,
        images=facts.images,
        provider_tools=tuple(spec.name for spec in config.provider_tools),
        web=config.web,
        documents=facts.documents,
        thinks=facts.thinks or facts.thinking is not ThinkingStyle.NONE,
        vendor=config.endpoint.vendor if vendor is None else vendor.title,
        simulated=simulated,
        price=None if simulated else _token_price(config),
        retires_at=config.retires_at,
    )


def _token_price(config: ModelConfig) -> TokenPrice | None:
    price = config.price or price_of(config.facts.price_id)
    if price is None:
        return None
    return TokenPrice(
        input_micros=int(price.input * 1_000_000), output_micros=int(price.output * 1_000_000)
    )
