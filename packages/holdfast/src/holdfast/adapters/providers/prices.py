"""What an attempt cost, in whole micro-dollars, rounded up once. None: unknown; 0: free.

Prices come from the list in `genai-prices`, offline, unless the operator's own table names the
model. Dollars per million tokens are micro-dollars per token, so the arithmetic is exact.

The list can price anything by anything, and takes a quarter of a millisecond to find out; most
models have five plain prices, which are taken from the list and multiplied here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from typing import Final

import genai_prices
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelInfo, ModelPrice

from holdfast.ports.models import Usage

_MICROS: Final = Decimal(1_000_000)
_NEWEST: Final = datetime(9999, 1, 1, 12, tzinfo=UTC)
"""After the start of every price of the list."""
_PLAIN: Final = frozenset(
    {
        "input_mtok",
        "output_mtok",
        "cache_read_mtok",
        "cache_write_mtok",
        "cache_write_1h_mtok",
        "web_searches_kcount",
    }
)
"""What our usage counts, as the list names it."""
_AWS_SCOPE: Final = re.compile(r"(global|regional|us|eu|apac|au|jp)\.")
_AWS_VERSION: Final = re.compile(r"(-\d{8})?(-v?\d+:\d+)?\Z")
_plain: Final[dict[int, tuple[ModelPrice, "Price | None"]]] = {}
"""With the list's own, which so keeps its identity; as many as the list has, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """An operator's own price, in dollars per million tokens; cached input costs as `input`
    unless said."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write_5m: Decimal | None = None
    cache_write_1h: Decimal | None = None
    search: Decimal = Decimal(0)  # dollars for a thousand, as the next two
    fetch: Decimal = Decimal(0)
    code_run: Decimal = Decimal(0)

    def micros(self, usage: Usage) -> Decimal:
        cached = usage.cache_read + usage.cache_write_5m + usage.cache_write_1h
        return (
            self.input * (usage.input - cached)
            + _or(self.cache_read, self.input) * usage.cache_read
            + _or(self.cache_write_5m, self.input) * usage.cache_write_5m
            + _or(self.cache_write_1h, self.input) * usage.cache_write_1h
            + self.output * usage.output
            + self.search * 1000 * usage.searches
            + self.fetch * 1000 * usage.fetches
            + self.code_run * 1000 * usage.code_runs
        )


def cost_micros(
    usage: Usage | None, price_id: str | None, at: datetime, own: Mapping[str, Price] | None = None
) -> int | None:
    """The cost of one attempt made `at` that time."""
    if usage is None or price_id is None:
        return None
    price = (own or {}).get(price_id)
    if price is None and usage.service_tier is not None:
        return _of_tier(usage, price_id, at)
    micros = price.micros(usage) if price is not None else _listed(usage, price_id, at)
    return None if micros is None else int(micros.to_integral_value(rounding=ROUND_CEILING))


def price_of(price_id: str | None) -> Price | None:
    """The newest plain price of the list; None: not listed, or it depends on more than tokens."""
    provider, _, name = (price_id or "").partition("/")
    try:
        model = _found(provider, _aws_name(name) if provider == "aws" else name)
    except LookupError:
        return None
    return _plain_of(model.get_prices(_NEWEST))


def _of_tier(usage: Usage, price_id: str, at: datetime) -> int | None:
    """What the list has for the service tier that answered; None: it has nothing of its own."""
    provider, _, name = price_id.partition("/")
    try:
        plain = by_list(usage, provider, name, at)
        micros = by_list(usage, provider, name, at, tier=usage.service_tier)
    except LookupError:
        return None
    return None if micros == plain else int(micros.to_integral_value(rounding=ROUND_CEILING))


def load_prices() -> None:
    """Read the list now. Otherwise the first caller waits for it, a quarter of a second; in a
    worker all chats would wait with it, and so would a SIGTERM."""
    _listed(Usage(input=1), "anthropic/claude", datetime(2026, 1, 1, tzinfo=UTC))


def is_listed(price_id: str) -> bool:
    """Whether the list has a model of this name."""
    provider, _, name = price_id.partition("/")
    try:
        get_snapshot().find_provider_model(name, None, provider, None)
    except LookupError:
        return False
    return True


def _listed(usage: Usage, price_id: str, at: datetime) -> Decimal | None:
    provider, _, name = price_id.partition("/")
    if provider == "aws":
        name = _aws_name(name)
    try:
        model = _found(provider, name)
    except LookupError:
        return None
    price = _plain_of(model.get_prices(at))
    return price.micros(usage) if price is not None else by_list(usage, provider, name, at)


def _found(provider: str, name: str) -> ModelInfo:
    _, model = get_snapshot().find_provider_model(name, None, provider, None)
    return model


def _plain_of(listed: ModelPrice) -> Price | None:
    if id(listed) not in _plain:  # by identity: to compare takes as long as to calculate
        _plain[id(listed)] = listed, plain_price(listed)
    _, price = _plain[id(listed)]
    return price


@lru_cache(maxsize=256)
def _aws_name(name: str) -> str:
    """As the list names it, with the date and the version that Mantle leaves out of the name."""
    scope, plain = _aws_parts(name)
    listed = next(provider for provider in get_snapshot().providers if provider.id == "aws").models
    same = (model.id for model in listed if _aws_parts(model.id) == (scope, plain))
    return next(same, name).removeprefix("regional.")


def _aws_parts(name: str) -> tuple[str, str]:
    """Whether it is served in all regions, which costs less, and its bare name."""
    scope = _AWS_SCOPE.match(name)
    bare = _AWS_VERSION.sub("", name[scope.end() :] if scope else name)
    return "global" if scope and scope[1] == "global" else "", bare.removeprefix("anthropic.")


def plain_price(listed: ModelPrice) -> Price | None:
    """None if it depends on how long the prompt is, or prices what we do not count."""
    named = {name: price for name, price in vars(listed).items() if price is not None}
    if not named.keys() <= _PLAIN or "input_mtok" not in named:
        return None
    if not all(isinstance(price, Decimal) for price in named.values()):
        return None
    written = named.get("cache_write_mtok")
    return Price(
        input=named["input_mtok"],
        output=named.get("output_mtok", Decimal(0)),
        cache_read=named.get("cache_read_mtok"),
        cache_write_5m=written,
        cache_write_1h=named.get("cache_write_1h_mtok", written),
        search=named.get("web_searches_kcount", Decimal(0)),
    )


def by_list(
    usage: Usage, provider: str, model: str, at: datetime, *, tier: str | None = None
) -> Decimal:
    """As the list calculates it."""
    counted = genai_prices.Usage(
        input_tokens=usage.input,
        cache_read_tokens=usage.cache_read or None,
        cache_write_tokens=(usage.cache_write_5m + usage.cache_write_1h) or None,
        cache_write_1h_tokens=usage.cache_write_1h or None,
        output_tokens=usage.output,
        web_searches=usage.searches or None,
    )
    price = genai_prices.calc_price(
        counted,
        model,
        provider_id=provider,
        genai_request_timestamp=at,
        price_context=None if tier is None else {"service_tier": tier},
    )
    return price.total_price * _MICROS


def _or(price: Decimal | None, otherwise: Decimal) -> Decimal:
    return otherwise if price is None else price
