"""Micro-dollars, rounded up once; unpriced is not free."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from genai_prices.data_snapshot import get_snapshot

from holdfast.adapters.providers.catalog import facts_of
from holdfast.adapters.providers.endpoints import VENDORS
from holdfast.adapters.providers.prices import Price, by_list, cost_micros, plain_price
from holdfast.ports.models import Usage
from tests.requirements import requirement

AT = datetime(2026, 11, 1, tzinfo=UTC)


@requirement("L96")
@pytest.mark.parametrize(
    ("usage", "model", "micros"),
    [
        # Sonnet 4.5 by hand: 3, 15, 0.3 read, 3.75 and 6 written, 10 a thousand searches.
        (Usage(input=1000, cache_read=100, output=50), "anthropic/claude-sonnet-4-5", 3480),
        (
            Usage(
                input=1000,
                cache_read=200,
                cache_write_5m=300,
                cache_write_1h=100,
                output=10,
                searches=2,
            ),
            "anthropic/claude-sonnet-4-5",
            400 * 3 + 60 + 1125 + 600 + 150 + 20_000,
        ),
        (Usage(input=1, cache_read=1), "anthropic/claude-sonnet-4-5", 1),  # 0.3, rounded up
        (Usage(), "anthropic/claude-sonnet-4-5", 0),
        (Usage(input=5), "anthropic/nobody-knows", None),
        (Usage(input=5), "nobody/knows", None),
        (Usage(input=5), None, None),
    ],
)
def test_cost_from_the_list(usage: Usage, model: str | None, micros: int | None) -> None:
    assert cost_micros(usage, model, AT) == micros


def test_plain_prices_are_the_lists() -> None:
    """Of every model on the list: what we multiply is what it would have calculated."""
    usages = [
        Usage(input=1234, output=567),
        Usage(input=300_001, cache_read=1001, cache_write_5m=77, cache_write_1h=13, output=9),
        Usage(input=50, cache_write_1h=50, output=1, searches=3),
    ]
    seen = 0
    for provider in get_snapshot().providers:
        for model in provider.models:
            price = plain_price(model.get_prices(AT))
            if price is None or not model.is_match(model.id):
                continue
            for usage in usages:
                listed = by_list(usage, provider.id, model.id, AT)
                assert price.micros(usage) == listed, model.id
            seen += 1

    assert seen > 1000


def test_long_prompts_cost_their_tier() -> None:
    usage = Usage(input=250_000, output=1000)

    assert cost_micros(usage, "anthropic/claude-sonnet-4-5", AT) == 250_000 * 6 + 22_500


def test_an_operators_own_price_goes_first() -> None:
    own = {
        "own/qwen": Price(input=Decimal("0.1"), output=Decimal("0.25"), cache_read=Decimal(0)),
        "own/free": Price(input=Decimal(0), output=Decimal(0)),
        "anthropic/claude-sonnet-4-5": Price(input=Decimal(1), output=Decimal(1)),
    }
    usage = Usage(input=1001, cache_read=500, cache_write_5m=100, cache_write_1h=1, output=3)

    assert cost_micros(usage, "own/qwen", AT, own) == 51  # 50.1 + 0.75, rounded up once
    assert cost_micros(usage, "own/free", AT, own) == 0
    assert cost_micros(usage, "anthropic/claude-sonnet-4-5", AT, own) == 1004


def test_counts_name_only_what_was_used() -> None:
    assert Usage(input=5, output=2).counts() == {"input": 5, "output": 2}


@pytest.mark.parametrize(
    ("model", "micros"),
    [
        ("anthropic.claude-opus-5-5", 4400),  # in one region: a tenth more
        ("claude-opus-5-5", 4400),
        ("us.anthropic.claude-opus-5-5", 4400),
        ("global.anthropic.claude-opus-5-5", 4000),
        ("anthropic.claude-sonnet-4-5", 3300),  # listed with a date and a version
        ("global.anthropic.claude-sonnet-4-5", 3000),
        ("openai.gpt-oss-120b", 150),
        ("openai.gpt-oss-120b-1:0", 150),
        ("anthropic.claude-9", None),
    ],
)
def test_names_of_bedrock_are_found_in_the_list(model: str, micros: int | None) -> None:
    assert cost_micros(Usage(input=1000), f"aws/{model}", AT) == micros


@pytest.mark.parametrize(
    ("vendor", "model"),
    [
        ("bedrock-anthropic", "anthropic.claude-opus-5-5"),
        ("claude-gcp", "claude-opus-5-5"),
        ("deepseek", "deepseek-v4-pro"),
        ("moonshot", "kimi-k2.6"),
        ("zai", "glm-5.3"),
        ("mistral", "mistral-large-latest"),
        ("xai", "grok-4.6"),
        ("groq", "openai/gpt-oss-120b"),
        ("fireworks", "accounts/fireworks/models/kimi-k2p6"),
        ("cerebras", "gpt-oss-120b"),
        ("openrouter", "anthropic/claude-sonnet-4.5"),
    ],
)
def test_models_of_the_rows_have_prices(vendor: str, model: str) -> None:
    price_id = facts_of(VENDORS[vendor], model).price_id

    assert cost_micros(Usage(input=1_000_000), price_id, AT)
