"""Tools that the provider runs, on the three wires that have them: asked for, shown with sources,
replayed in order, and left out where the next model is of another vendor."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest

from holdfast.adapters.providers.catalog import facts_of
from holdfast.adapters.providers.endpoints import VENDORS, endpoint_of
from holdfast.adapters.providers.models import ConfiguredModels
from holdfast.adapters.providers.registry import ModelConfig, ModelRegistry
from holdfast.adapters.providers.transport import open_transport
from holdfast.domain.ids import ChatId
from holdfast.domain.messages import MessageBody
from holdfast.domain.parts import Part, Source, Text, ToolCall, ToolResult
from holdfast.domain.provider_tools import PROVIDER_TOOLS, ProviderToolName, ProviderToolSpec
from holdfast.ports.models import Ask, Reply
from holdfast.ports.tools import Effect, ToolSpec
from holdfast_simulator.server import Config, Simulator, running
from tests.requirements import requirement
from tests.support.model import NOW, assistant, stored, user

SAFE_S = 50.0
MODELS = {
    "anthropic": "claude-opus-5-5",
    "responses": "gpt-6-sol",
    "gemini": "gemini-3-flash-preview",
}
LOOK = ToolSpec(name="look", description="Look at it.", effect=Effect.REPEATABLE)
ASKED = 'What is new? [[sim: search "what is new"]]'


def specs(*names: ProviderToolName) -> tuple[ProviderToolSpec, ...]:
    return tuple(ProviderToolSpec(name=name) for name in names)


@dataclass
class Talk:
    models: ConfiguredModels
    simulator: Simulator
    history: list[MessageBody] = field(default_factory=list[MessageBody])

    async def turn(self, model: str, text: str, *names: ProviderToolName) -> Reply:
        self.history.append(user(text))
        return await self.go_on(model, *names)

    async def go_on(self, model: str, *names: ProviderToolName) -> Reply:
        ask = Ask(
            chat_id=ChatId(UUID(int=1)),
            model=model,
            effort="low",
            history=self.history,
            tools=(LOOK,),
            provider_tools=specs(*names),
        )
        async with self.models.stream(ask) as stream:
            async for _event in stream:
                pass
        assert stream.final is not None
        self.history.append(assistant(*stored(stream.final.parts), ending=stream.final.ending))
        return stream.final

    @property
    def refused(self) -> list[str | None]:
        return [entry.rejected_by for entry in self.simulator.record if entry.status != 200]

    def body(self) -> Mapping[str, Any]:
        body = list(self.simulator.record)[-1].body
        assert body is not None
        return body


@asynccontextmanager
async def talk(service_tier: str | None = None) -> AsyncGenerator[Talk]:
    async with (
        asyncio.timeout(SAFE_S),
        running(Config()) as simulator,
        open_transport(lambda: NOW) as transport,
    ):
        configs: dict[str, ModelConfig] = {}
        for wire, model in MODELS.items():
            vendor = VENDORS[f"simulator-{wire}"]
            path = {"anthropic": "", "responses": "/v1", "gemini": "/v1beta"}[wire]
            endpoint = endpoint_of(vendor, "any", base_url=simulator.url + path)
            facts = facts_of(vendor, model)
            tools = specs(*PROVIDER_TOOLS)
            if wire == "responses":
                tools = specs("web_search", "code_execution")
            configs[wire] = ModelConfig(
                endpoint=endpoint, facts=facts, provider_tools=tools, service_tier=service_tier
            )
        yield Talk(ConfiguredModels(transport, ModelRegistry(configs, "anthropic")), simulator)


def provider_parts(parts: Sequence[Part]) -> list[str]:
    return [
        f"{part.kind} {part.tool}"
        for part in parts
        if isinstance(part, ToolCall | ToolResult) and part.runs_at == "provider"
    ]


@requirement("F05")
@pytest.mark.parametrize("wire", MODELS)
async def test_a_search_has_sources_and_is_replayed_in_order(wire: str) -> None:
    async with talk() as chat:
        reply = await chat.turn(wire, ASKED, "web_search")
        assert provider_parts(reply.parts) == ["tool_call web_search", "tool_result web_search"]
        assert [part.url for part in reply.parts if isinstance(part, Source)]
        assert any(part.citations for part in reply.parts if isinstance(part, Text))
        assert reply.usage is not None
        assert reply.usage.searches == 1

        await chat.turn(wire, 'And now? [[sim: say "Nothing."]]', "web_search")
        assert chat.refused == []
        replayed = str(chat.body())
        order = ("what is new", "still lists it as open", "And now?")
        found = [replayed.rindex(words) for words in order]
        assert found == sorted(found)


@requirement("F05")
async def test_a_chat_that_goes_through_all_vendors_and_back_is_never_refused() -> None:
    async with talk() as chat:
        for wire in (*MODELS, *MODELS, "anthropic"):
            await chat.turn(wire, ASKED, "web_search")
        assert chat.refused == []
        replayed = str(chat.body()["messages"])
        assert replayed.count("'web_search_tool_result'") == 2  # its own, and none of the others
        assert replayed.count("Notes on what is new") == 6  # the answers are told to all


async def test_a_container_is_named_again_and_a_lost_one_is_left_out() -> None:
    async with talk() as chat:
        run = '[[sim: run "1 + 1" | say "2"]]'
        reply = await chat.turn("anthropic", run, "code_execution")
        assert provider_parts(reply.parts) == [
            "tool_call code_execution",
            "tool_result code_execution",
        ]
        assert reply.usage is not None
        assert reply.usage.code_runs == 1
        assert "container" not in chat.body()

        await chat.turn("anthropic", run, "code_execution")
        first = chat.body()["container"]
        assert first.startswith("container_")
        await chat.turn("anthropic", 'Hi [[sim: say "Hi."]]')
        assert "container" not in chat.body()  # no tool of the provider is offered

        kept = [part for part in chat.history[-3].parts if part.native is not None]
        lost = {"container": "container_gone"}
        assert kept[-1].native is not None
        object.__setattr__(kept[-1].native, "block", lost)
        await chat.turn("anthropic", run, "code_execution")
        assert chat.refused == ["container-wrong"]
        assert "container" not in chat.body()


async def test_code_that_the_provider_has_not_ended_goes_on_in_its_container() -> None:
    async with talk() as chat:
        paused = 'Go. [[sim: run "wait()" | stop=pause | then | say "Done."]]'
        await chat.turn("anthropic", paused, "code_execution")
        await chat.go_on("anthropic", "code_execution")
        assert chat.refused == []
        assert chat.body()["container"].startswith("container_")


@pytest.mark.parametrize("wire", ["anthropic", "gemini"])
async def test_a_page_that_was_read_is_shown_and_counted(wire: str) -> None:
    async with talk() as chat:
        fetch = '[[sim: fetch "https://example.com/a" | say "Little."]]'
        reply = await chat.turn(wire, fetch, "web_fetch")
        await chat.turn(wire, 'Thanks. [[sim: say "Yes."]]', "web_fetch")
        assert chat.refused == []
        assert provider_parts(reply.parts) == ["tool_call web_fetch", "tool_result web_fetch"]
        assert reply.usage is not None
        assert reply.usage.fetches == 1


async def test_code_at_openai_shows_its_output() -> None:
    async with talk() as chat:
        reply = await chat.turn("responses", '[[sim: run "1 + 1" | say "2"]]', "code_execution")
        await chat.turn("responses", 'Thanks. [[sim: say "Yes."]]', "code_execution")
        assert chat.refused == []
        (call,) = [part for part in reply.parts if isinstance(part, ToolCall)]
        (ran,) = [part for part in reply.parts if isinstance(part, ToolResult)]
        assert call.arguments == {"code": "1 + 1"}
        assert ran.output == [{"type": "logs", "logs": "ran 5 characters\n"}]


@pytest.mark.parametrize(
    ("wire", "tier"), [("responses", "flex"), ("gemini", "priority"), ("anthropic", None)]
)
async def test_the_tier_that_answered_is_part_of_the_usage(wire: str, tier: str | None) -> None:
    async with talk(service_tier=tier or "auto") as chat:
        reply = await chat.turn(wire, 'Hi [[sim: say "Hi."]]')
        assert reply.usage is not None
        assert reply.usage.service_tier == tier
        assert (f"tier_{tier}" in reply.usage.counts()) == (tier is not None)
        assert chat.refused == []
