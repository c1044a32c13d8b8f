"""What an attempt cost, in whole micro-dollars, rounded up once. None: nobody knows; 0: free.

Prices come from the list in `genai-prices`, offline, unless the operator's own table names the
model. Dollars per million tokens are micro-dollars per token, so the arithmetic is exact.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal
from typing import Final

import genai_prices

from holdfast.ports.models import Usage

_MICROS: Final = Decimal(1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """An operator's own price, in dollars per million tokens; cached input costs as `input`
    unless said."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write_5m: Decimal | None = None
    cache_write_1h: Decimal | None = None
    search: Decimal = Decimal(0)  # dollars for a thousand

    def micros(self, usage: Usage) -> Decimal:
        cached = usage.cache_read + usage.cache_write_5m + usage.cache_write_1h
        return (
            self.input * (usage.input - cached)
            + _or(self.cache_read, self.input) * usage.cache_read
            + _or(self.cache_write_5m, self.input) * usage.cache_write_5m
            + _or(self.cache_write_1h, self.input) * usage.cache_write_1h
            + self.output * usage.output
            + self.search * 1000 * usage.searches
        )


def cost_micros(
    usage: Usage | None, price_id: str | None, at: datetime, own: Mapping[str, Price] | None = None
) -> int | None:
    """The cost of one attempt made `at` that time."""
    if usage is None or price_id is None:
        return None
    price = (own or {}).get(price_id)
    micros = price.micros(usage) if price is not None else _listed(usage, price_id, at)
    return None if micros is None else int(micros.to_integral_value(rounding=ROUND_CEILING))


def load_prices() -> None:
    """Read the list now. Whoever asks it first waits for that, a quarter of a second of work; in a
    worker all chats would wait with it, and a SIGTERM, too."""
    _listed(Usage(input=1), "anthropic/claude", datetime(2026, 1, 1, tzinfo=UTC))


def _listed(usage: Usage, price_id: str, at: datetime) -> Decimal | None:
    provider, _, model = price_id.partition("/")
    counted = genai_prices.Usage(
        input_tokens=usage.input,
        cache_read_tokens=usage.cache_read or None,
        cache_write_tokens=(usage.cache_write_5m + usage.cache_write_1h) or None,
        cache_write_1h_tokens=usage.cache_write_1h or None,
        output_tokens=usage.output,
        web_searches=usage.searches or None,
    )
    try:
        price = genai_prices.calc_price(
            counted, model, provider_id=provider, genai_request_timestamp=at
        )
    except LookupError:
        return None
    return price.total_price * _MICROS


def _or(price: Decimal | None, otherwise: Decimal) -> Decimal:
    return otherwise if price is None else price
