"""Tools that the provider runs: which model has which, and how each wire spells them.

Which versions of a tool a model takes is a fact of its family (catalog.py); which tools a vendor
serves at all is a fact of the vendor (`_SERVED`). What a wire cannot say is refused at the start:
a limit that is left out without a word is none.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from holdfast.adapters.providers.types import Endpoint, ModelFacts, Object, ProviderTool
from holdfast.domain.provider_tools import PROVIDER_TOOLS, ProviderToolSpec

_ALL: Final[Mapping[str, str]] = dict.fromkeys(PROVIDER_TOOLS, "")
_OPENAI: Final[Mapping[str, str]] = {"web_search": "", "code_execution": ""}
_SERVED: Final[Mapping[str, Mapping[str, str]]] = {
    "anthropic": _ALL,
    "azure-anthropic": _ALL,
    "claude-aws": _ALL,
    "claude-gcp": {"web_search": "web_search_20250305"},
    "openai": _OPENAI,
    "azure-openai": _OPENAI,
    "gemini": _ALL,
    "openrouter": {"web_search": "web"},
    "simulator-anthropic": _ALL,
    "simulator-responses": _OPENAI,
    "simulator-gemini": _ALL,
}
"""By the vendor's row: the tools that it serves. An empty name is the model's; another one holds
for all of its models. Not here: Amazon Bedrock serves none, and Vertex takes none beside
functions."""

_Spell: TypeAlias = Callable[[ProviderToolSpec, str], Object]


def tools_of(facts: ModelFacts, endpoint: Endpoint) -> Mapping[str, str]:
    """What the provider runs for this model, with the provider's name of each."""
    served = _SERVED.get(endpoint.vendor, {})
    return {
        name: served[name] or facts.provider_tools.get(name, "")
        for name in PROVIDER_TOOLS
        if name in served and (served[name] or name in facts.provider_tools)
    }


def blocks_of(
    specs: Sequence[ProviderToolSpec], facts: ModelFacts, endpoint: Endpoint
) -> tuple[ProviderTool, ...]:
    """The tools as the wire of this endpoint spells them."""
    known, spell = tools_of(facts, endpoint), _SPELLED[endpoint.wire]
    return tuple(
        ProviderTool(endpoint.wire, spell(spec, known[spec.name]))
        for spec in specs
        if spec.name in known
    )


def with_uses(specs: Sequence[ProviderToolSpec], endpoint: Endpoint) -> Mapping[str, int]:
    """Fields of the body for the uses of all tools together, where the wire counts them so."""
    uses = [spec.uses_max for spec in specs if spec.uses_max is not None]
    return {"max_tool_calls": sum(uses)} if uses and endpoint.wire == "responses" else {}


def check(specs: Sequence[ProviderToolSpec], facts: ModelFacts, endpoint: Endpoint) -> None:
    """ValueError says what the provider does not take."""
    known = tools_of(facts, endpoint)
    for spec in specs:
        if spec.name not in known:
            there = f"it runs {', '.join(known)}" if known else "it runs no tool"
            raise ValueError(
                f"provider_tools: {endpoint.title or endpoint.vendor} does not run {spec.name}"
                f" for {facts.model}; {there}"
            )
        able = _LIMITS[endpoint.wire].get(spec.name, frozenset())
        given = {
            "uses_max": spec.uses_max is not None,
            "allowed_domains": bool(spec.allowed_domains),
            "blocked_domains": bool(spec.blocked_domains),
        }
        wrong = [name for name, is_given in given.items() if is_given and name not in able]
        if wrong:
            raise ValueError(
                f"provider_tools ({spec.name}): {endpoint.title or endpoint.vendor} knows no"
                f" {wrong[0]} of it"
            )
    bounded = [spec.uses_max is not None for spec in specs]
    if endpoint.wire == "responses" and any(bounded) and not all(bounded):
        raise ValueError(
            "provider_tools: uses_max is one number for all tools there; set it for each or none"
        )


_DOMAINS: Final = frozenset({"allowed_domains", "blocked_domains"})
_LIMITS: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    "anthropic": {
        "web_search": _DOMAINS | {"uses_max"},
        "web_fetch": _DOMAINS | {"uses_max"},
    },
    "responses": {
        "web_search": frozenset({"uses_max", "allowed_domains"}),
        "code_execution": frozenset({"uses_max"}),
    },
    "chat": {"web_search": _DOMAINS | {"uses_max"}},
    "gemini": {},
}
"""The limits that a wire can say."""


def _anthropic(spec: ProviderToolSpec, kind: str) -> Object:
    block: Object = {"type": kind, "name": spec.name}
    if spec.uses_max is not None:
        block["max_uses"] = spec.uses_max
    if spec.allowed_domains:
        block["allowed_domains"] = list(spec.allowed_domains)
    if spec.blocked_domains:
        block["blocked_domains"] = list(spec.blocked_domains)
    if spec.name == "web_fetch":
        block["citations"] = {"enabled": True}
    return block


def _responses(spec: ProviderToolSpec, kind: str) -> Object:
    if spec.name == "code_execution":
        return {"type": kind, "container": {"type": "auto"}}
    if spec.allowed_domains:
        return {"type": kind, "filters": {"allowed_domains": list(spec.allowed_domains)}}
    return {"type": kind}


def _gemini(_spec: ProviderToolSpec, kind: str) -> Object:
    return {kind: {}}


def _chat(spec: ProviderToolSpec, kind: str) -> Object:
    """OpenRouter's plugin."""
    block: Object = {"id": kind}
    if spec.uses_max is not None:
        block["max_uses"] = spec.uses_max
    if spec.allowed_domains:
        block["include_domains"] = list(spec.allowed_domains)
    if spec.blocked_domains:
        block["exclude_domains"] = list(spec.blocked_domains)
    return block


_SPELLED: Final[Mapping[str, _Spell]] = {
    "anthropic": _anthropic,
    "responses": _responses,
    "gemini": _gemini,
    "chat": _chat,
}
