"""Our catalogue against the profiles of pydantic-ai, whose cells were checked with real keys."""

import typing
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias, cast

import pytest
from pydantic_ai.models import KnownModelName
from pydantic_ai.profiles.anthropic import anthropic_model_profile
from pydantic_ai.profiles.google import google_model_profile
from pydantic_ai.profiles.openai import openai_model_profile

from holdfast.adapters.providers.catalog import FAMILIES, Family, facts_of
from holdfast.adapters.providers.endpoints import VENDORS
from holdfast.adapters.providers.types import ModelFacts, ThinkingStyle
from tests.requirements import requirement

Profile: TypeAlias = dict[str, Any]
Difference: TypeAlias = tuple[str, str, object, object]

EXPLAINED: Final[frozenset[str]] = frozenset(
    {
        # Of no family that a vendor documents; pydantic-ai has no row for them either.
        "gpt-daybreak-blue-latest",
        "gpt-daybreak-red-latest",
    }
)
MODELS_MIN: Final = 100
GOOGLE_SCALE: Final = ("MINIMAL", "LOW", "MEDIUM", "HIGH")


def known(vendor: str) -> list[str]:
    names = cast(tuple[str, ...], typing.get_args(KnownModelName.__value__))
    return [name.split(":", 1)[1] for name in names if name.startswith(f"{vendor}:")]


def of_anthropic(facts: ModelFacts, profile: Profile) -> Iterator[tuple[str, object, object]]:
    adaptive = bool(profile.get("anthropic_supports_adaptive_thinking"))
    yield "adaptive", facts.thinking is ThinkingStyle.ADAPTIVE, adaptive
    yield "thinks", facts.thinks, bool(profile.get("thinking_enabled_by_default"))
    refused = bool(profile.get("anthropic_disallows_sampling_settings"))
    yield "sampling", facts.sampling, not refused
    if adaptive:
        efforts = bool(profile.get("anthropic_supports_effort"))
        highest = bool(profile.get("anthropic_supports_max_effort", True))
        yield "effort", bool(facts.efforts), efforts
        yield "max", "max" in facts.efforts, efforts and highest
        yield (
            "xhigh",
            "xhigh" in facts.efforts,
            bool(profile.get("anthropic_supports_xhigh_effort")),
        )
    limit = profile.get("anthropic_max_output_tokens")
    if limit is not None:
        yield "output", facts.output_max, limit


def of_openai(facts: ModelFacts, profile: Profile) -> Iterator[tuple[str, object, object]]:
    reasons = bool(profile.get("openai_supports_reasoning"))
    yield "reasons", facts.thinking is ThinkingStyle.EFFORT, reasons
    yield "thinks", facts.thinks, bool(profile.get("thinking_enabled_by_default"))
    yield (
        "none",
        "none" in facts.efforts,
        bool(profile.get("openai_supports_reasoning_effort_none")),
    )
    efforts = profile.get("openai_reasoning_efforts")
    if efforts is not None:
        yield "efforts", set(facts.efforts), set(efforts)


def of_google(facts: ModelFacts, profile: Profile) -> Iterator[tuple[str, object, object]]:
    thinks = bool(profile.get("supports_thinking"))
    level = bool(profile.get("google_supports_thinking_level"))
    yield "thinks", facts.thinking is not ThinkingStyle.NONE, thinks
    yield "level", facts.thinking is ThinkingStyle.LEVEL, thinks and level
    if thinks and level:
        levels = profile.get("google_thinking_levels", GOOGLE_SCALE)
        yield "levels", set(facts.efforts), {name.lower() for name in levels}


Compare: TypeAlias = Callable[[ModelFacts, Profile], Iterator[tuple[str, object, object]]]
ORACLES: Final[dict[str, tuple[str, Callable[[str], Any], Compare]]] = {
    "anthropic": ("anthropic", anthropic_model_profile, of_anthropic),
    "openai": ("openai", openai_model_profile, of_openai),
    "google": ("gemini", google_model_profile, of_google),
}


def differences() -> list[Difference]:
    found: list[Difference] = []
    for family, (vendor, profile_of, compare) in ORACLES.items():
        for model in known(family):
            if model in EXPLAINED:
                continue
            facts = facts_of(VENDORS[vendor], model)
            profile = cast(Profile, profile_of(model) or {})
            found += [
                (model, fact, ours, theirs)
                for fact, ours, theirs in compare(facts, profile)
                if ours != theirs
            ]
    return found


@requirement("F11")
def test_the_catalogue_differs_nowhere_from_profiles_checked_with_real_keys() -> None:
    assert sum(len(known(family)) for family in ORACLES) >= MODELS_MIN
    assert differences() == []


def test_a_family_that_is_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_first(pattern: str) -> tuple[Family, ...]:
        return tuple(family for family in FAMILIES if family.name.pattern != pattern)

    fewer = without_first(r"gpt-6-astra|gpt-6\.1-sol")
    assert len(fewer) == len(FAMILIES) - 1
    monkeypatch.setattr("holdfast.adapters.providers.catalog.FAMILIES", fewer)
    assert {model for model, *_ in differences()} == {"gpt-6-astra", "gpt-6.1-sol"}
