"""What we know of models: by family, because vendors put dates, prefixes and regions around names.

An unlisted model gets cautious facts: no thinking, no known context window (which
switches automatic compaction off, L23).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from holdfast.adapters.providers.endpoints import Vendor
from holdfast.adapters.providers.types import ModelFacts, ThinkingStyle

_BUDGETS: Final[Mapping[str, int]] = {"low": 4_096, "medium": 12_288, "high": 24_576}
_TO_HIGH: Final = ("low", "medium", "high")
_TO_MAX: Final = (*_TO_HIGH, "max")
_XHIGH_TO_MAX: Final = (*_TO_HIGH, "xhigh", "max")
_INTERLEAVED: Final = "interleaved-thinking-2025-05-14"
_MILLION: Final = 1_000_000
_DOTTED: Final = re.compile(r"(?<=\d)\.(?=\d)")  # resellers write claude-sonnet-4.5


@dataclass(frozen=True, slots=True)
class Family:
    """Models whose names match share facts. The first match counts."""

    name: re.Pattern[str]
    facts: ModelFacts


def _family(pattern: str, **facts: Any) -> Family:  # noqa: ANN401 - ModelFacts checks the names
    return Family(re.compile(pattern), ModelFacts(model="", **facts))


FAMILIES: Final[tuple[Family, ...]] = (
    # Anthropic
    _family(
        r"claude-(opus|sonnet)-4-6",
        context_window=_MILLION,
        output_max=128_000,
        thinking=ThinkingStyle.ADAPTIVE,
        efforts=_TO_MAX,
    ),
    _family(
        r"claude-(opus-4-[7-9]|(opus|sonnet|haiku|fable|mythos)-[5-9])",
        context_window=_MILLION,
        output_max=128_000,
        thinking=ThinkingStyle.ADAPTIVE,
        efforts=_XHIGH_TO_MAX,
        sampling=False,
        thinking_display="summarized",
    ),
    _family(
        r"claude-opus-4(-[01])?(-\d{8}|$)",
        context_window=200_000,
        output_max=32_000,
        thinking=ThinkingStyle.BUDGET,
        efforts=_TO_HIGH,
        budgets=_BUDGETS,
        betas=(_INTERLEAVED,),
    ),
    _family(
        r"claude-(opus|sonnet|haiku)-4|claude-3-7",
        context_window=200_000,
        output_max=64_000,
        thinking=ThinkingStyle.BUDGET,
        efforts=_TO_HIGH,
        budgets=_BUDGETS,
        betas=(_INTERLEAVED,),
    ),
    _family(r"claude-3", context_window=200_000, output_max=4_096),
    # OpenAI
    _family(
        r"gpt-(5\.[4-9]|6)(?!.*(mini|nano))",
        context_window=1_050_000,
        output_max=128_000,
        thinking=ThinkingStyle.EFFORT,
        efforts=("none", *_TO_HIGH, "xhigh"),
        sampling=False,
    ),
    _family(
        r"gpt-5\.[2-9]",
        context_window=400_000,
        output_max=128_000,
        thinking=ThinkingStyle.EFFORT,
        efforts=("none", *_TO_HIGH, "xhigh"),
        sampling=False,
    ),
    _family(
        r"gpt-5\.1",
        context_window=400_000,
        output_max=128_000,
        thinking=ThinkingStyle.EFFORT,
        efforts=("none", *_TO_HIGH),
        sampling=False,
    ),
    _family(
        r"gpt-5",
        context_window=400_000,
        output_max=128_000,
        thinking=ThinkingStyle.EFFORT,
        efforts=("minimal", *_TO_HIGH),
        sampling=False,
    ),
    _family(
        r"\bo[134](-|$)",
        context_window=200_000,
        output_max=100_000,
        thinking=ThinkingStyle.EFFORT,
        efforts=_TO_HIGH,
        sampling=False,
    ),
    _family(
        r"gpt-oss",
        context_window=131_072,
        thinking=ThinkingStyle.EFFORT,
        efforts=_TO_HIGH,
        images=False,
        documents=False,
    ),
    _family(r"gpt-4\.1", context_window=_MILLION),
    _family(r"gpt-4o", context_window=128_000, output_max=16_384),
    # Google
    _family(
        r"gemini-2\.5",
        context_window=1_048_576,
        output_max=65_536,
        thinking=ThinkingStyle.BUDGET,
        efforts=_TO_HIGH,
        budgets=_BUDGETS,
    ),
    _family(
        r"gemini-3(\.\d)?-pro",
        context_window=1_048_576,
        output_max=65_536,
        thinking=ThinkingStyle.LEVEL,
        efforts=("low", "high"),
    ),
    _family(
        r"gemini-[3-9]",
        context_window=1_048_576,
        output_max=65_536,
        thinking=ThinkingStyle.LEVEL,
        efforts=("minimal", *_TO_HIGH),
    ),
    _family(r"gemini", context_window=_MILLION, output_max=8_192),
    # xAI: thinks by itself, and wants its encrypted reasoning back; which efforts differs by model
    _family(r"grok-[4-9](?!.*non-reasoning)", thinking=ThinkingStyle.EFFORT),
)


def facts_of(vendor: Vendor, model: str, *, price_id: str | None = None) -> ModelFacts:
    """The facts of a model as this vendor serves it."""
    name = _DOTTED.sub("-", model) if "claude" in model else model
    known = next((family.facts for family in FAMILIES if family.name.search(name)), None)
    facts = known or ModelFacts(model="")
    listed = f"{vendor.prices}/{model}" if vendor.prices else None
    return replace(facts, model=model, price_id=price_id or listed)
