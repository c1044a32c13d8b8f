"""What providers' lists of models say, and what becomes of it."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from holdfast.adapters.providers.catalog import facts_of
from holdfast.adapters.providers.endpoints import VENDORS, AwsKeys, endpoint_of
from holdfast.adapters.providers.listings import (
    Listed,
    facts_with,
    list_request,
    listed_models,
    named_in,
    show_request,
    shown_model,
)
from holdfast.adapters.providers.prices import Price
from holdfast.adapters.providers.types import ModelFacts, ThinkingStyle

S = ThinkingStyle
NOTHING = Listed()


def yes(given: bool = True) -> dict[str, Any]:
    return {"supported": given}


def claude(**changes: Any) -> dict[str, Any]:
    efforts = {name: yes(name != "max") for name in ("low", "medium", "high", "xhigh", "max")}
    entry: dict[str, Any] = {
        "id": "claude-opus-7",
        "max_input_tokens": 2_000_000,
        "max_tokens": 256_000,
        "retires_at": "2027-05-01T00:00:00Z",
        "capabilities": {
            "effort": {**yes(), **efforts},
            "thinking": {**yes(), "types": {"adaptive": yes(), "enabled": yes(given=False)}},
            "image_input": yes(),
            "pdf_input": yes(given=False),
        },
    }
    return entry | changes


def first(wire: str, entry: dict[str, Any]) -> Listed:
    key = "models" if wire == "gemini" else "data"
    return next(iter(listed_models(wire, {key: [entry]}).values()))


def test_anthropic_says_limits_efforts_abilities_and_retirement() -> None:
    assert first("anthropic", claude()) == Listed(
        context_window=2_000_000,
        output_max=256_000,
        thinking=S.ADAPTIVE,
        efforts=("low", "medium", "high", "xhigh"),
        images=True,
        documents=False,
        retires_at=datetime(2027, 5, 1, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("thinking", "style"),
    [
        ({**yes(), "types": {"adaptive": yes(given=False), "enabled": yes()}}, S.BUDGET),
        (yes(given=False), S.NONE),
        ({}, None),
    ],
)
def test_anthropic_says_how_a_model_thinks(
    thinking: dict[str, Any], style: ThinkingStyle | None
) -> None:
    listed = first("anthropic", claude(capabilities={"thinking": thinking}))
    assert listed.thinking is style


def test_gemini_says_limits_and_whether_a_model_thinks() -> None:
    entry = {
        "name": "models/gemini-9",
        "inputTokenLimit": 10,
        "outputTokenLimit": 5,
        "thinking": False,
    }
    assert listed_models("gemini", {"models": [entry]}) == {
        "gemini-9": Listed(context_window=10, output_max=5, thinking=S.NONE)
    }
    assert first("gemini", entry | {"thinking": True}).thinking is None


@pytest.mark.parametrize(
    ("entry", "listed"),
    [
        ({"shutdown_date": "2027-01-02"}, Listed(retires_at=datetime(2027, 1, 2, tzinfo=UTC))),
        ({"max_model_len": 4096}, Listed(context_window=4096)),
        (
            {"max_context_length": 8192, "capabilities": {"vision": True}},
            Listed(context_window=8192, images=True),
        ),
        (
            {"context_window": 131072, "max_completion_tokens": 8192},
            Listed(context_window=131072, output_max=8192),
        ),
        (
            {
                "context_length": 100,
                "top_provider": {"max_completion_tokens": 50},
                "architecture": {"input_modalities": ["text", "file"]},
                "supported_parameters": ["reasoning", "tools"],
                "pricing": {
                    "prompt": "0.000001",
                    "completion": "0.000004",
                    "input_cache_write": "0.00000125",
                },
            },
            Listed(
                context_window=100,
                output_max=50,
                thinking=S.EFFORT,
                efforts=("low", "medium", "high"),
                images=False,
                documents=True,
                price=Price(
                    input=Decimal(1),
                    output=Decimal(4),
                    cache_write_5m=Decimal("1.25"),
                    cache_write_1h=Decimal("1.25"),
                ),
            ),
        ),
        ({"supported_parameters": ["tools"]}, Listed(thinking=S.NONE)),
        ({"pricing": {"prompt": "-1", "completion": "-1"}}, NOTHING),
    ],
    ids=["openai", "vllm", "mistral", "groq", "openrouter", "unthinking", "varying price"],
)
def test_the_openai_form_with_what_others_add(entry: dict[str, Any], listed: Listed) -> None:
    assert first("chat", {"id": "m", **entry}) == listed


@pytest.mark.parametrize(
    "entry",
    [
        {"max_model_len": "4096", "context_length": -1, "context_window": True},
        {"pricing": {"prompt": 1, "completion": "free"}, "shutdown_date": "soon"},
        {"capabilities": ["vision"], "architecture": "text", "supported_parameters": {"a": 1}},
        {"max_model_len": 10**12, "shutdown_date": 5, "pricing": {"prompt": "NaN"}},
    ],
)
def test_values_of_other_types_say_nothing(entry: dict[str, Any]) -> None:
    assert first("chat", {"id": "m", **entry}) == NOTHING
    assert first("anthropic", {"id": "m", **entry}) == NOTHING


@pytest.mark.parametrize("answer", [None, [], "x", {"data": "x"}, {"data": [1, {"id": 2}, {}]}])
def test_an_answer_of_another_form_lists_nothing(answer: object) -> None:
    assert listed_models("chat", answer) == {}


def test_a_model_is_found_by_its_id_its_alias_and_its_name_without_a_date() -> None:
    found = listed_models(
        "anthropic",
        {
            "data": [
                claude(id="claude-x-20260101", max_tokens=1),
                claude(id="claude-x-20260601", max_tokens=2),
                {"id": "m-1", "aliases": ["m-latest"], "max_tokens": 3},
            ]
        },
    )
    by_name = {name: named_in(found, name) for name in ("claude-x", "claude-x-20260101", "claude")}
    assert [each and each.output_max for each in by_name.values()] == [2, 1, None]
    assert named_in(found, "m-latest") == named_in(found, "m-1")


def test_ollama_shows_the_limit_that_it_keeps_to() -> None:
    shown: dict[str, Any] = {
        "model_info": {"general.architecture": "q", "q.context_length": 40_960},
        "capabilities": ["completion", "vision", "thinking"],
    }
    listed = shown_model(shown)
    assert (listed.context_window, listed.images, listed.thinking) == (40_960, True, S.EFFORT)
    assert shown_model(shown | {"parameters": "stop x\nnum_ctx 4096"}).context_window == 4096
    assert shown_model("x") == Listed(documents=False)


def test_where_lists_are() -> None:
    urls = {
        name: request.url if request else None
        for name, request in (
            (name, list_request(endpoint_of(VENDORS[name], "k", base_url="https://h/v1")))
            for name in ("anthropic", "gemini", "openai", "openrouter", "vllm", "azure-openai")
        )
    }
    assert urls == {
        "anthropic": "https://h/v1/v1/models?limit=1000",
        "gemini": "https://h/v1/models?pageSize=1000",
        "openai": "https://h/v1/models",
        "openrouter": "https://h/v1/models",
        "vllm": "https://h/v1/models",
        "azure-openai": None,
    }
    signed = endpoint_of(
        VENDORS["bedrock-anthropic"], AwsKeys("a", "b", "eu-1"), base_url="https://h"
    )
    assert list_request(signed) is None
    shown = show_request(endpoint_of(VENDORS["ollama"]), "qwen")
    assert shown is not None
    assert (shown.url, shown.body) == ("http://localhost:11434/api/show", b'{"model":"qwen"}')


def test_the_list_is_better_than_the_family_and_weaker_than_settings() -> None:
    family = facts_of(VENDORS["anthropic"], "claude-sonnet-4-5")
    listed = Listed(context_window=1_000_000, output_max=9, images=False, thinking=S.BUDGET)

    learned = facts_with(family, listed, frozenset())
    assert (learned.context_window, learned.output_max, learned.images) == (1_000_000, 9, False)
    assert (learned.thinking, learned.efforts, learned.budgets) == (
        family.thinking,
        family.efforts,
        family.budgets,
    )
    kept = facts_with(family, listed, frozenset({"context_window"}))
    assert (kept.context_window, kept.output_max) == (family.context_window, 9)
    assert facts_with(family, NOTHING, frozenset()) == family


def test_a_model_that_no_family_knows_learns_to_think() -> None:
    unknown = ModelFacts(model="new")
    adaptive = facts_with(unknown, Listed(thinking=S.ADAPTIVE, efforts=("low", "max")), frozenset())
    assert (adaptive.thinking, adaptive.efforts) == (S.ADAPTIVE, ("low", "max"))
    assert adaptive.thinking_display == "summarized"
    budget = facts_with(unknown, Listed(thinking=S.BUDGET), frozenset())
    assert set(budget.efforts) == set(budget.budgets) != set()
    none = facts_with(adaptive, Listed(thinking=S.NONE), frozenset())
    assert (none.thinking, none.efforts) == (S.NONE, ())
    settled = facts_with(unknown, Listed(thinking=S.BUDGET), frozenset({"efforts"}))
    assert settled == unknown
