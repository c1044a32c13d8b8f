"""The lists of models that providers publish: where each is, and what it says of a model.

A list is untrusted and every field of it is optional: a value of another type says nothing.
OpenAI's own list has ids and shutdown dates only; gateways and servers of its form add limits,
abilities and prices under names of their own.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final, cast

import orjson

from holdfast.adapters.providers.prices import Price
from holdfast.adapters.providers.types import (
    AwsAuth,
    Endpoint,
    ModelFacts,
    Object,
    Request,
    ThinkingStyle,
)
from holdfast.domain.messages import EFFORTS

ENTRIES_MAX: Final = 10_000
TOKENS_MAX: Final = 1_000_000_000
BUDGETS: Final[Mapping[str, int]] = {"low": 4_096, "medium": 12_288, "high": 24_576}
_ANTHROPIC_VERSION: Final = "2023-06-01"
_UNLISTED: Final = re.compile(r"azure-|bedrock-|vertex|claude-(aws|gcp)")
"""Vendors without a list of what an account can use, or with one that has no limits."""
_DATED: Final = re.compile(r"-\d{8}\Z")
_WINDOWS: Final = ("context_length", "max_model_len", "max_context_length", "context_window")
_OUTPUTS: Final = ("max_completion_tokens", "max_output_tokens")
_RETIREMENTS: Final = ("retires_at", "shutdown_date", "deprecation", "expiration_date")
_MILLION: Final = Decimal(1_000_000)
_NUM_CTX: Final = re.compile(r"^num_ctx\s+(\d+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """What a provider's list says of a model. None: nothing."""

    context_window: int | None = None
    output_max: int | None = None
    thinking: ThinkingStyle | None = None
    efforts: tuple[str, ...] | None = None
    images: bool | None = None
    documents: bool | None = None
    price: Price | None = None
    retires_at: datetime | None = None


_FACTS: Final = ("context_window", "output_max", "images", "documents")


def facts_with(facts: ModelFacts, listed: Listed, settled: frozenset[str]) -> ModelFacts:
    """The family's facts with what the list says; `settled` are those that settings decide."""
    said = {name: getattr(listed, name) for name in _FACTS if name not in settled}
    changes: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    if listed.thinking is not None and not settled & {"thinking", "efforts"}:
        changes |= _thinking_with(facts, listed)
    return replace(facts, **changes)


def _thinking_with(facts: ModelFacts, listed: Listed) -> dict[str, Any]:
    style, efforts = listed.thinking, listed.efforts
    if style is ThinkingStyle.BUDGET:
        # Budgets are ours: no list has them. The family's stay, if it has any.
        known = facts.thinking is style
        return {} if known else {"thinking": style, "efforts": tuple(BUDGETS), "budgets": BUDGETS}
    changes: dict[str, Any] = {"thinking": style, "efforts": efforts or ()}
    if style is ThinkingStyle.ADAPTIVE and facts.thinking is not style:
        changes["thinking_display"] = "summarized"  # a model newer than our families
    return changes


# Where a list is.


def list_request(endpoint: Endpoint) -> Request | None:
    """None: this provider has no list that says anything."""
    if _UNLISTED.match(endpoint.vendor) or isinstance(endpoint.auth, AwsAuth):
        return None
    headers = {"accept": "application/json", **endpoint.headers}
    match endpoint.wire:
        case "anthropic":
            headers["anthropic-version"] = _ANTHROPIC_VERSION
            url = f"{endpoint.base_url}/v1/models?limit=1000"
        case "gemini":
            url = f"{endpoint.base_url}/models?pageSize=1000"
        case _:
            url = f"{endpoint.base_url}/models"
    return Request(url, headers, b"", "GET")


def show_request(endpoint: Endpoint, model: str) -> Request | None:
    """Ollama's list has no limits; it shows one model at a time."""
    if endpoint.vendor != "ollama":
        return None
    root = endpoint.base_url.removesuffix("/v1")
    headers = {"accept": "application/json", **endpoint.headers}
    return Request(f"{root}/api/show", headers, orjson.dumps({"model": model}))


# What a list says.


def listed_models(wire: str, answer: object) -> dict[str, Listed]:
    """The models of a list by their ids."""
    entries = _objects(_object(answer).get("models" if wire == "gemini" else "data"))
    read = {"anthropic": _anthropic, "gemini": _gemini}.get(wire, _openai)
    found: dict[str, Listed] = {}
    for entry in entries:
        named = entry.get("name") if wire == "gemini" else entry.get("id")
        if isinstance(named, str) and named:
            listed = read(entry)
            found[named.removeprefix("models/")] = listed
            for alias in _strings(entry.get("aliases")):
                found.setdefault(alias, listed)
    return found


def named_in(found: Mapping[str, Listed], model: str) -> Listed | None:
    """A model of a list by its id, or by the name that its dated ids begin with."""
    if model in found:
        return found[model]
    dated = sorted(name for name in found if _DATED.sub("", name) == model)
    return found[dated[-1]] if dated else None


def _anthropic(entry: Object) -> Listed:
    able = _object(entry.get("capabilities"))
    thinking = _object(able.get("thinking"))
    types = _object(thinking.get("types"))
    style: ThinkingStyle | None = None
    if _supported(types, "adaptive"):
        style = ThinkingStyle.ADAPTIVE
    elif _supported(types, "enabled"):
        style = ThinkingStyle.BUDGET
    elif thinking.get("supported") is False:
        style = ThinkingStyle.NONE
    effort = _object(able.get("effort"))
    return Listed(
        context_window=_tokens(entry.get("max_input_tokens")),
        output_max=_tokens(entry.get("max_tokens")),
        thinking=style,
        efforts=tuple(each for each in EFFORTS if _supported(effort, each)) or None,
        images=_supported(able, "image_input"),
        documents=_supported(able, "pdf_input"),
        retires_at=_date(entry.get("retires_at")),
    )


def _gemini(entry: Object) -> Listed:
    # `thinking: true` does not say by level or by budget: the family does.
    return Listed(
        context_window=_tokens(entry.get("inputTokenLimit")),
        output_max=_tokens(entry.get("outputTokenLimit")),
        thinking=ThinkingStyle.NONE if entry.get("thinking") is False else None,
    )


def _openai(entry: Object) -> Listed:
    """OpenAI's form, with what OpenRouter, vLLM, Mistral and Groq add to it."""
    served = _object(entry.get("top_provider"))
    modalities = _strings(_object(entry.get("architecture")).get("input_modalities"))
    able = _object(entry.get("capabilities"))
    sees = able.get("vision")
    parameters = _strings(entry.get("supported_parameters"))
    thinks = "reasoning" in parameters or "reasoning_effort" in parameters
    style: ThinkingStyle | None = None
    if parameters:
        style = ThinkingStyle.EFFORT if thinks else ThinkingStyle.NONE
    return Listed(
        context_window=_first_tokens(entry, _WINDOWS),
        output_max=_first_tokens(served, _OUTPUTS) or _first_tokens(entry, _OUTPUTS),
        thinking=style,
        efforts=tuple(BUDGETS) if thinks else None,
        images="image" in modalities if modalities else sees if isinstance(sees, bool) else None,
        documents="file" in modalities if modalities else None,
        price=_price(_object(entry.get("pricing"))),
        retires_at=next(filter(None, (_date(entry.get(name)) for name in _RETIREMENTS)), None),
    )


def shown_model(answer: object) -> Listed:
    """What Ollama shows of one model."""
    shown = _object(answer)
    info = _object(shown.get("model_info"))
    parameters = shown.get("parameters")
    own = _NUM_CTX.search(parameters) if isinstance(parameters, str) else None
    trained = next((info[name] for name in info if name.endswith(".context_length")), None)
    able = _strings(shown.get("capabilities"))
    thinks = "thinking" in able
    return Listed(
        # The model file's own limit is what the server keeps to; longer prompts are cut.
        context_window=_tokens(int(own[1]) if own else trained),
        thinking=None if not able else ThinkingStyle.EFFORT if thinks else ThinkingStyle.NONE,
        efforts=tuple(BUDGETS) if thinks else None,
        images="vision" in able if able else None,
        documents=False,
    )


def _price(given: Object) -> Price | None:
    """OpenRouter's prices, in dollars per token. A negative one means that it varies."""
    prompt, completion = _dollars(given.get("prompt")), _dollars(given.get("completion"))
    if prompt is None or completion is None:
        return None
    read, written = (
        _dollars(given.get("input_cache_read")),
        _dollars(given.get("input_cache_write")),
    )
    return Price(
        input=prompt * _MILLION,
        output=completion * _MILLION,
        cache_read=None if read is None else read * _MILLION,
        cache_write_5m=None if written is None else written * _MILLION,
        cache_write_1h=None if written is None else written * _MILLION,
        search=(_dollars(given.get("web_search")) or Decimal(0)) * 1000,
    )


def _dollars(given: object) -> Decimal | None:
    if not isinstance(given, str):
        return None
    try:
        price = Decimal(given)
    except InvalidOperation:
        return None
    return price if price.is_finite() and 0 <= price < 1 else None


def _supported(given: Object, name: str) -> bool | None:
    said = _object(given.get(name)).get("supported")
    return said if isinstance(said, bool) else None


def _first_tokens(entry: Object, names: tuple[str, ...]) -> int | None:
    return next(filter(None, (_tokens(entry.get(name)) for name in names)), None)


def _tokens(given: object) -> int | None:
    whole = type(given) is int and 0 < given <= TOKENS_MAX
    return cast(int, given) if whole else None


def _date(given: object) -> datetime | None:
    if not isinstance(given, str):
        return None
    try:
        date = datetime.fromisoformat(given)
    except ValueError:
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)


def _object(given: object) -> Object:
    return cast(Object, given) if isinstance(given, dict) else {}


def _objects(given: object) -> Iterator[Object]:
    if isinstance(given, list):
        yield from (_object(each) for each in cast(list[object], given)[:ENTRIES_MAX])


def _strings(given: object) -> tuple[str, ...]:
    items = cast(list[object], given) if isinstance(given, list) else []
    return tuple(each for each in items if isinstance(each, str))
