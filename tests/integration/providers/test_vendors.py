"""A chat with an image, thinking and tools, at every vendor and from each to each other and back.

The simulator plays the vendors and refuses what they refuse. Every request of the product must be
accepted, whichever vendor wrote the history before it.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from holdfast.adapters.providers.catalog import facts_of
from holdfast.adapters.providers.endpoints import VENDORS, endpoint_of
from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.models import ConfiguredModels
from holdfast.adapters.providers.registry import ModelConfig, ModelRegistry
from holdfast.adapters.providers.stream import ProviderStream
from holdfast.adapters.providers.transport import Transport, open_transport
from holdfast.adapters.providers.types import Call, Endpoint, Tool
from holdfast.adapters.providers.wires import chat_request
from holdfast.domain.messages import MessageBody
from holdfast.domain.parts import File, Reasoning, ToolCall
from holdfast.ports.models import Reply
from holdfast_simulator.server import Config, Simulator, running
from tests.support.model import NOW, assistant, results, stored, tool_result, user

SAFE_S = 100.0
PNG = b"\x89PNG\r\n\x1a\n" + b"\xff" * 32
VALUES: dict[str, Any] = {"region": "global", "project": "p-1", "port": "1"}
CLOCK = Tool(
    name="clock",
    description="The time.",
    schema={
        "type": "object",
        "properties": {"zone": {"$ref": "#/$defs/Zone"}},
        "$defs": {"Zone": {"type": "string"}},
    },
)
ASKED = (
    '[[sim: think "Which zone?" | say "Let me look." | call clock {"zone": "utc"}'
    ' | then | think "Noon, then." | say "It is noon."]]'
)


@dataclass(frozen=True, slots=True)
class Played:
    """A row of the product and where the simulator plays it."""

    vendor: str
    path: str
    model: str
    party: str = ""
    """Its name at the simulator, if that is another one."""
    shows: bool = True
    """Its reasoning can be read."""


PLAYED = (
    Played("anthropic", "", "claude-sonnet-4-5"),
    Played("claude-gcp", "/v1/publishers/anthropic", "claude-sonnet-4-5"),
    Played("openai", "/v1", "gpt-5.4"),
    Played("openai-chat", "/v1", "gpt-5.4", "openai", shows=False),
    Played("xai", "/v1", "grok-4.6"),
    Played("gemini", "/v1beta", "gemini-3-pro-preview"),
    Played("vertex", "/v1/publishers/google", "gemini-3-pro-preview"),
    Played("deepseek", "", "deepseek-v4-pro"),
    Played("moonshot", "/v1", "kimi-k2.6"),
    Played("zai", "/api/paas/v4", "glm-5.3"),
    Played("mistral", "/v1", "magistral-medium-latest"),
    Played("groq", "/openai/v1", "openai/gpt-oss-120b"),
    Played("together", "/v1", "moonshotai/Kimi-K2.6"),
    Played("fireworks", "/inference/v1", "accounts/fireworks/models/kimi-k2p6"),
    Played("cerebras", "/v1", "gpt-oss-120b"),
    Played("openrouter", "/api/v1", "anthropic/claude-sonnet-4.5"),
    Played("openrouter", "/api/v1", "google/gemini-3-pro-preview"),
    Played("vllm", "/v1", "qwen3"),
    Played("ollama", "/v1", "qwen3"),
)
IDS = [f"{one.vendor}:{one.model}" for one in PLAYED]


@pytest.fixture
async def simulator() -> AsyncGenerator[Simulator]:
    async with running(Config(hang_max_s=20)) as started:
        yield started


@pytest.fixture
async def transport() -> AsyncGenerator[Transport]:
    async with open_transport(lambda: NOW) as opened:
        yield opened


def endpoint_for(one: Played, simulator: Simulator) -> Endpoint:
    """The row as configured for the vendor itself, with its requests led to the simulator."""
    row = VENDORS[one.vendor]
    own = endpoint_of(row, "any-key", base_url=None if row.base_url else "http://v/v1", **VALUES)
    return replace(own, base_url=f"{simulator.url}/as/{one.party or one.vendor}{one.path}")


async def ask(transport: Transport, endpoint: Endpoint, call: Call) -> Reply:
    async with asyncio.timeout(SAFE_S), ProviderStream(transport, endpoint, call) as stream:
        async for _ in stream:
            pass
    assert stream.final is not None
    return stream.final


async def turn(
    one: Played,
    transport: Transport,
    simulator: Simulator,
    history: list[MessageBody],
    changed: Callable[[Endpoint], Endpoint] = lambda endpoint: endpoint,
) -> list[MessageBody]:
    """A turn of two steps: thinking and a call, its result, thinking and text."""
    endpoint = changed(endpoint_for(one, simulator))
    history = [
        *history,
        user("What is this, and what time is it?", File("p", "image/png", "p.png")),
    ]
    history.append(user(ASKED))
    call = Call(
        model=facts_of(VENDORS[one.vendor], one.model),
        history=history,
        system=("Be kind.",),
        tools=(CLOCK,),
        effort="high",
        cache_key="chat-1",
        files={"p": PNG}.get,
    )
    first = await ask(transport, endpoint, call)
    calls = [part for part in first.parts if isinstance(part, ToolCall)]
    assert [part.tool for part in calls] == ["clock"]
    history.append(assistant(*stored(first.parts), ending=first.ending))
    history.append(results(*(tool_result(part.call_id) for part in calls)))
    second = await ask(transport, endpoint, replace(call, history=history))
    assert any(part.kind == "text" for part in second.parts)
    thought = [part for part in first.parts if isinstance(part, Reasoning) and part.text]
    assert bool(thought) is one.shows
    return [*history, assistant(*stored(second.parts), ending=second.ending)]


@pytest.mark.parametrize("there", PLAYED, ids=IDS)
async def test_a_chat_goes_from_vendor_to_vendor_and_back(
    there: Played, transport: Transport, simulator: Simulator
) -> None:
    begun = await turn(there, transport, simulator, [])
    for other in PLAYED:
        history = await turn(other, transport, simulator, begun)
        await turn(there, transport, simulator, history)

    assert [entry.rejected_by for entry in simulator.record if entry.rejected_by] == []


MUTANTS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("deepseek", {"replays_reasoning": False}, "deepseek-reasoning"),
    ("deepseek", {"reasoning_stand_in": None}, "deepseek-reasoning"),
    ("deepseek", {"images": True}, "text-only"),
    ("moonshot", {"replays_reasoning": False}, "moonshot-reasoning"),
    ("moonshot", {"reasoning_stand_in": ""}, "moonshot-reasoning"),
    ("zai", {"inline_schemas": False}, "no-references"),
    ("mistral", {"usage_option": True}, "mistral-extra"),
    ("mistral", {"short_call_ids": False}, "mistral-ids"),
    ("mistral", {"reply_before_user": False}, "mistral-order"),
    ("groq", {"replays_reasoning": True}, "groq-fields"),
    ("openrouter", {"replays_reasoning": False}, "openrouter-signed-calls"),
)


@pytest.mark.parametrize(("vendor", "quirk", "rule"), MUTANTS)
async def test_a_row_without_one_of_its_quirks_is_refused(
    vendor: str, quirk: dict[str, Any], rule: str, transport: Transport, simulator: Simulator
) -> None:
    one = [one for one in PLAYED if one.vendor == vendor][-1]
    begun = (await turn(PLAYED[0], transport, simulator, []))[:-1]  # the user speaks after a result

    with pytest.raises(ProviderError):
        await turn(
            one,
            transport,
            simulator,
            begun,
            lambda endpoint: replace(endpoint, quirks=replace(endpoint.quirks, **quirk)),
        )

    assert [entry.rejected_by for entry in simulator.record][-1] == rule


@pytest.mark.parametrize(
    ("first", "second", "dialect"), [("openai", "xai", "responses"), ("gemini", "vertex", "gemini")]
)
async def test_a_dialect_that_two_parties_share_is_refused(
    first: str, second: str, dialect: str, transport: Transport, simulator: Simulator
) -> None:
    by_name = {one.vendor: one for one in PLAYED}
    begun = await turn(by_name[first], transport, simulator, [])

    with pytest.raises(ProviderError):
        await turn(
            by_name[second],
            transport,
            simulator,
            begun,
            lambda endpoint: replace(endpoint, dialect=dialect),
        )


def everything(details: list[Any], _model: str) -> list[Any]:
    return list(details)


async def test_details_of_another_company_are_refused(
    transport: Transport, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude, gemini = (one for one in PLAYED if one.vendor == "openrouter")
    begun = await turn(gemini, transport, simulator, [])
    monkeypatch.setattr(chat_request, "readable", everything)

    with pytest.raises(ProviderError):
        await turn(claude, transport, simulator, begun)

    assert [entry.rejected_by for entry in simulator.record][-1] == "openrouter-thinking"


def test_at_least_twelve_vendors_are_played() -> None:
    assert len({one.vendor for one in PLAYED}) >= 12


async def test_the_cost_of_a_reply_is_what_openrouter_tells(
    transport: Transport, simulator: Simulator
) -> None:
    one = next(one for one in PLAYED if one.vendor == "openrouter")
    endpoint = endpoint_for(one, simulator)
    facts = facts_of(VENDORS["openrouter"], one.model)
    reply = await ask(transport, endpoint, Call(model=facts, history=[user("Hi")]))

    models = ConfiguredModels(
        transport, ModelRegistry({"m": ModelConfig(endpoint=endpoint, facts=facts)})
    )
    assert reply.usage is not None
    assert models.cost_micros("m", reply.usage, NOW) == reply.usage.input + reply.usage.output
