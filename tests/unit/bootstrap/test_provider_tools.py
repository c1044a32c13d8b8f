"""Tools that the provider runs, in the settings of a model: what is sent, and what is refused."""

from collections.abc import Mapping
from typing import Any

import pytest

from holdfast.adapters.providers.endpoints import VENDORS, endpoint_of
from holdfast.adapters.providers.provider_tools import blocks_of, with_uses
from holdfast.bootstrap.providers import model_facts, model_tools
from holdfast.settings.models import ModelSettings

PLACES = {"region": "eu", "project": "p", "resource": "r", "workspace": "w"}


def tools(vendor: str, model: str, *given: Mapping[str, Any], **more: Any) -> list[Any]:
    settings = ModelSettings.model_validate(
        {"name": "m", "provider": "p", "model": model, "provider_tools": given, **more}
    )
    row = VENDORS[vendor]
    places: dict[str, Any] = {name: PLACES[name] for name in row.places}
    endpoint = endpoint_of(row, "key", **places)
    facts = model_facts(settings, row)
    specs = model_tools(settings, facts, endpoint)
    blocks = [dict(tool.block) for tool in blocks_of(specs, facts, endpoint)]
    return [*blocks, *([dict(uses)] if (uses := with_uses(specs, endpoint)) else [])]


EMPTY: dict[str, Any] = {}
SEARCH: dict[str, Any] = {"name": "web_search"}
FETCH: dict[str, Any] = {"name": "web_fetch"}
CODE: dict[str, Any] = {"name": "code_execution"}
ONLY: dict[str, Any] = {"allowed_domains": ["example.com"]}
NOT: dict[str, Any] = {"blocked_domains": ["example.com"]}


@pytest.mark.parametrize(
    ("vendor", "model", "given", "sent"),
    [
        (
            "anthropic",
            "claude-sonnet-5",
            [{**SEARCH, "uses_max": 5, **NOT}, CODE],
            [
                {
                    "type": "web_search_20260318",
                    "name": "web_search",
                    "max_uses": 5,
                    "blocked_domains": ["example.com"],
                },
                {"type": "code_execution_20260521", "name": "code_execution"},
            ],
        ),
        (
            "anthropic",
            "claude-sonnet-4-5",
            [{**FETCH, **ONLY}],
            [
                {
                    "type": "web_fetch_20250910",
                    "name": "web_fetch",
                    "allowed_domains": ["example.com"],
                    "citations": {"enabled": True},
                }
            ],
        ),
        (
            "claude-gcp",
            "claude-opus-5-5",
            [SEARCH],
            [{"type": "web_search_20250305", "name": "web_search"}],
        ),
        (
            "openai",
            "gpt-6-sol",
            [{**SEARCH, "uses_max": 3, **ONLY}, {**CODE, "uses_max": 2}],
            [
                {"type": "web_search", "filters": {"allowed_domains": ["example.com"]}},
                {"type": "code_interpreter", "container": {"type": "auto"}},
                {"max_tool_calls": 5},
            ],
        ),
        (
            "gemini",
            "gemini-3-flash-preview",
            [SEARCH, FETCH, CODE],
            [{"googleSearch": EMPTY}, {"urlContext": EMPTY}, {"codeExecution": EMPTY}],
        ),
        (
            "openrouter",
            "anthropic/claude-sonnet-5",
            [{**SEARCH, "uses_max": 2, **NOT}],
            [{"id": "web", "max_uses": 2, "exclude_domains": ["example.com"]}],
        ),
        (
            "openrouter",
            "any/model",
            [{**SEARCH, **ONLY}],
            [{"id": "web", "include_domains": ["example.com"]}],
        ),
    ],
)
def test_each_wire_spells_its_tools(
    vendor: str, model: str, given: list[Mapping[str, Any]], sent: list[Any]
) -> None:
    assert tools(vendor, model, *given) == sent


@pytest.mark.parametrize(
    ("vendor", "model", "given", "said"),
    [
        (
            "anthropic",
            "claude-opus-5",
            [FETCH],
            "web_fetch for claude-opus-5; it runs",
        ),
        ("bedrock-anthropic", "claude-opus-5-5", [SEARCH], "it runs no tool"),
        ("vertex", "gemini-3-flash-preview", [SEARCH], "it runs no tool"),
        ("gemini", "gemini-2.5-pro", [SEARCH], "it runs no tool"),
        ("openai-chat", "gpt-6-sol", [SEARCH], "it runs no tool"),
        ("gemini", "gemini-3-flash-preview", [{**SEARCH, "uses_max": 1}], "knows no uses_max"),
        ("openai", "gpt-6-sol", [{**SEARCH, **NOT}], "knows no blocked_domains"),
        ("openai", "gpt-6-sol", [{**SEARCH, "uses_max": 1}, CODE], "one number for all tools"),
        ("anthropic", "claude-opus-5-5", [SEARCH, SEARCH], "named twice"),
        ("anthropic", "claude-opus-5-5", [{**SEARCH, **ONLY, **NOT}], "only one of"),
        ("anthropic", "claude-opus-5-5", [{**CODE, **ONLY}], "reads no domains"),
    ],
)
def test_what_the_provider_does_not_have_is_refused(
    vendor: str, model: str, given: list[Mapping[str, Any]], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        tools(vendor, model, *given)


def test_a_new_version_of_a_tool_needs_no_release() -> None:
    facts = {"provider_tools": {"web_search": "web_search_20270101"}}
    sent = tools("anthropic", "claude-next", SEARCH, facts=facts)
    assert sent == [{"type": "web_search_20270101", "name": "web_search"}]
