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
from holdfast.ports.tools import EditTool

_BUDGETS: Final[Mapping[str, int]] = {"low": 4_096, "medium": 12_288, "high": 24_576}
_TO_HIGH: Final = ("low", "medium", "high")
_TO_XHIGH: Final = (*_TO_HIGH, "xhigh")
_TO_MAX: Final = (*_TO_XHIGH, "max")
_WITHOUT_XHIGH: Final = (*_TO_HIGH, "max")
_MINIMAL: Final = ("minimal", *_TO_HIGH)
_INTERLEAVED: Final = "interleaved-thinking-2025-05-14"
_CLAUDE_TOOLS: Final[Mapping[str, str]] = {
    "web_search": "web_search_20260318",
    "web_fetch": "web_fetch_20260318",
    "code_execution": "code_execution_20260521",
}
_OPUS_5_TOOLS: Final = {k: v for k, v in _CLAUDE_TOOLS.items() if k != "web_fetch"}
_OLDER_CLAUDE_TOOLS: Final[Mapping[str, str]] = {
    "web_search": "web_search_20250305",
    "web_fetch": "web_fetch_20250910",
    "code_execution": "code_execution_20250825",
}
_WEB: Final[Mapping[str, str]] = {"web_search": "web_search"}
_OPENAI_TOOLS: Final[Mapping[str, str]] = {**_WEB, "code_execution": "code_interpreter"}
_GEMINI_TOOLS: Final[Mapping[str, str]] = {
    "web_search": "googleSearch",
    "web_fetch": "urlContext",
    "code_execution": "codeExecution",
}
"""Of Gemini 3 and later: older ones take no functions beside them, and an agent has functions."""
_MILLION: Final = 1_000_000
_DOTTED: Final = re.compile(r"(?<=\d)\.(?=\d)")  # resellers write claude-sonnet-4.5


@dataclass(frozen=True, slots=True)
class Family:
    """Models whose names match share facts. The first match counts."""

    name: re.Pattern[str]
    facts: ModelFacts


def _family(pattern: str, **facts: Any) -> Family:  # noqa: ANN401 - ModelFacts checks the names
    return Family(re.compile(pattern), ModelFacts(model="", **facts))


def _claude(pattern: str, efforts: tuple[str, ...], **facts: Any) -> Family:  # noqa: ANN401
    """Decides for itself how much to think, and is told how hard to try."""
    return _family(
        pattern,
        context_window=_MILLION,
        output_max=128_000,
        thinking=ThinkingStyle.ADAPTIVE,
        efforts=efforts,
        **{"provider_tools": _CLAUDE_TOOLS, **facts},
    )


def _budget(pattern: str, output_max: int) -> Family:
    """An older Claude: thinks only when it is given a budget."""
    return _family(
        pattern,
        context_window=200_000,
        output_max=output_max,
        thinking=ThinkingStyle.BUDGET,
        efforts=_TO_HIGH,
        budgets=_BUDGETS,
        betas=(_INTERLEAVED,),
        provider_tools=_OLDER_CLAUDE_TOOLS,
    )


def _openai(
    pattern: str,
    efforts: tuple[str, ...],
    *,
    window: int = 400_000,
    thinks: bool = True,
    tools: Mapping[str, str] = _OPENAI_TOOLS,
    edits: EditTool = "patch",
) -> Family:
    """Trained on `apply_patch`, unless said otherwise."""
    return _family(
        pattern,
        context_window=window,
        output_max=128_000,
        thinking=ThinkingStyle.EFFORT,
        efforts=efforts,
        sampling=False,
        thinks=thinks,
        provider_tools=tools,
        edit_tool=edits,
    )


def _gemini(
    pattern: str, efforts: tuple[str, ...], tools: Mapping[str, str] = _GEMINI_TOOLS
) -> Family:
    return _family(
        pattern,
        context_window=1_048_576,
        output_max=65_536,
        thinking=ThinkingStyle.LEVEL,
        efforts=efforts,
        thinks=True,
        provider_tools=tools,
    )


_LARGE: Final = 1_050_000

FAMILIES: Final[tuple[Family, ...]] = (
    # Anthropic
    _claude(r"claude-(opus|sonnet)-4-6", _WITHOUT_XHIGH),
    _claude(r"claude-mythos-preview", (), thinks=True, thinking_display="summarized"),
    _claude(r"claude-opus-4-[7-9]", _TO_MAX, sampling=False, thinking_display="summarized"),
    _claude(
        r"claude-opus-5(?!-\d\b)",
        _TO_MAX,
        sampling=False,
        thinks=True,
        thinking_display="summarized",
        provider_tools=_OPUS_5_TOOLS,
    ),
    _claude(
        r"claude-(opus|sonnet|haiku|fable|mythos)-[5-9]",
        _TO_MAX,
        sampling=False,
        thinks=True,
        thinking_display="summarized",
    ),
    _budget(r"claude-opus-4(-[01])?(-\d{8}|$)", 32_000),
    _budget(r"claude-(opus|sonnet|haiku)-4|claude-3-7", 64_000),
    _family(r"claude-3", context_window=200_000, output_max=4_096),
    # OpenAI
    _openai(r"gpt-6-astra|gpt-6\.1-sol", _TO_MAX, window=_LARGE),
    _openai(r"gpt-(5\.6|[6-9])", ("none", *_TO_MAX), window=_LARGE),
    _openai(r"gpt-5\.[45]-pro", ("medium", "high", "xhigh"), window=_LARGE, tools=_WEB),
    _openai(r"gpt-5\.2-pro", ("medium", "high", "xhigh"), tools=_WEB),
    _openai(r"gpt-5-pro", ("high",), tools=_WEB),
    _openai(r"gpt-5\.\d-chat", ("medium",), window=128_000, tools={}, edits="replace"),
    _family(r"gpt-5-chat", context_window=128_000, output_max=16_384),
    _openai(r"gpt-5\.5", ("none", *_TO_XHIGH), window=_LARGE),
    _openai(r"gpt-5\.4-(mini|nano)", ("none", *_TO_XHIGH), thinks=False),
    _openai(r"gpt-5\.4", ("none", *_TO_XHIGH), window=_LARGE, thinks=False),
    _openai(r"gpt-5\.[23]", ("none", *_TO_XHIGH), thinks=False),
    _openai(r"gpt-5\.1-codex", _TO_HIGH),
    _openai(r"gpt-5\.1", ("none", *_TO_HIGH), thinks=False),
    _openai(r"gpt-5-codex", _TO_HIGH),
    _openai(r"gpt-5", _MINIMAL),
    _family(
        r"\bo[34](-|$)",
        context_window=200_000,
        output_max=100_000,
        thinking=ThinkingStyle.EFFORT,
        efforts=_TO_HIGH,
        sampling=False,
        thinks=True,
        provider_tools=_OPENAI_TOOLS,
    ),
    _family(
        r"\bo1(-|$)",
        context_window=200_000,
        output_max=100_000,
        thinking=ThinkingStyle.EFFORT,
        efforts=_TO_HIGH,
        sampling=False,
        thinks=True,
    ),
    _family(
        r"gpt-oss",
        context_window=131_072,
        thinking=ThinkingStyle.EFFORT,
        efforts=_TO_HIGH,
        images=False,
        documents=False,
        thinks=True,
    ),
    _family(r"gpt-4\.1-nano", context_window=_MILLION),
    _family(r"gpt-4\.1", context_window=_MILLION, provider_tools=_OPENAI_TOOLS),
    _family(r"gpt-4o", context_window=128_000, output_max=16_384, provider_tools=_OPENAI_TOOLS),
    # Google
    _family(r"gemini-2\.5-flash-image", context_window=32_768, output_max=32_768),
    _family(
        r"gemini-2\.5",
        context_window=1_048_576,
        output_max=65_536,
        thinking=ThinkingStyle.BUDGET,
        efforts=_TO_HIGH,
        budgets=_BUDGETS,
        thinks=True,
    ),
    _gemini(r"gemini-3-pro-preview", ("low", "high")),
    _gemini(r"gemini-3\.1-flash-lite-image", ("minimal", "high"), tools={}),
    _gemini(r"gemini-(3\.[78]-flash|3\.1-pro-preview|4-argon)", _TO_HIGH),
    _gemini(r"gemini-([3-9]|flash-latest|flash-lite-latest|pro-latest)", _MINIMAL),
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
