"""A chat whose thinking no longer fits goes on: the refused call is repeated in the
same attempt with less thinking, and the next one begins so."""

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import uuid4

import pytest

from holdfast.adapters.providers.catalog import facts_of
from holdfast.adapters.providers.endpoints import VENDORS
from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.models import ConfiguredModels
from holdfast.adapters.providers.registry import ModelConfig, ModelRegistry
from holdfast.adapters.providers.transport import open_transport
from holdfast.domain.ids import ChatId
from holdfast.domain.messages import MessageBody, Role
from holdfast.domain.parts import Native, Reasoning
from holdfast.ports.models import Ask, Reply
from holdfast_simulator.server import Config, Simulator, running
from tests.support import provider_faults
from tests.support.model import assistant, results, tool_result, user
from tests.support.simulated import endpoint_at

MODEL = "claude-opus-5-5"
FIRST = user('Will it rain? [[sim: think "one" | call clock {} | then | think "two" | say "No."]]')
SECOND = user('And tomorrow? [[sim: think "three" | say "Yes."]]')
OLD, NEW = ("Be brief.",), ("Be verbose.",)


class Chat:
    """One chat with one model, as a turn asks it."""

    def __init__(self, models: ConfiguredModels) -> None:
        self.models = models
        self.chat_id = ChatId(uuid4())
        self.history: list[MessageBody] = []

    async def ask(self, system: Sequence[str], *said: MessageBody) -> Reply:
        self.history += said
        ask = Ask(
            chat_id=self.chat_id, model=None, effort="low", history=self.history, system=system
        )
        async with self.models.stream(ask) as stream:
            async for _ in stream:
                pass
        assert stream.final is not None
        self.history.append(MessageBody(role=Role.ASSISTANT, parts=stream.final.parts))
        return stream.final

    async def first_turn(self) -> None:
        reply = await self.ask(OLD, FIRST)
        call = next(part for part in reply.parts if part.kind == "tool_call")
        await self.ask(OLD, results(tool_result(call.call_id)))


@asynccontextmanager
async def chat_with(vendor: str) -> AsyncGenerator[tuple[Chat, Simulator]]:
    async with (
        running(Config()) as simulator,
        open_transport(provider_faults.now) as transport,
    ):
        endpoint = replace(endpoint_at(simulator.url, "anthropic"), vendor=vendor)
        config = ModelConfig(endpoint=endpoint, facts=facts_of(VENDORS["anthropic"], MODEL))
        yield Chat(ConfiguredModels(transport, ModelRegistry({"m": config}))), simulator


def statuses(simulator: Simulator) -> list[int | None]:
    return [entry.status for entry in simulator.record]


def thoughts(simulator: Simulator) -> list[int]:
    """How many thinking blocks each request carried."""
    found: list[int] = []
    for entry in simulator.record:
        assert entry.body is not None
        blocks = [b for message in entry.body["messages"] for b in message["content"]]
        found.append(sum(block["type"] == "thinking" for block in blocks))
    return found


async def test_stale_thinking_is_dropped_by_the_provider_and_stays_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with chat_with("anthropic") as (chat, simulator):
        await chat.first_turn()
        with caplog.at_level(logging.WARNING):
            await chat.ask(NEW, SECOND)
        assert statuses(simulator) == [200, 200, 400, 200]
        await chat.ask(NEW, SECOND)
        assert statuses(simulator) == [200, 200, 400, 200, 200], "the chat is remembered"
        assert thoughts(simulator) == [0, 1, 2, 2, 3]
    logged = [record for record in caplog.records if "refused" in record.message]
    assert len(logged) == 1
    assert vars(logged[0])["request_id"]


async def test_without_binding_controls_thinking_of_earlier_turns_is_left_out() -> None:
    async with chat_with("azure-anthropic") as (chat, simulator):
        await chat.first_turn()
        await chat.ask(NEW, SECOND)
        assert statuses(simulator) == [200, 200, 400, 200]
        assert thoughts(simulator) == [0, 1, 2, 0]
        assert all("block_binding" not in str(entry.body) for entry in simulator.record)


async def test_a_refusal_inside_a_turn_leaves_out_all_thinking() -> None:
    async with chat_with("azure-anthropic") as (chat, simulator):
        reply = await chat.ask(OLD, FIRST)
        call = next(part for part in reply.parts if part.kind == "tool_call")
        await chat.ask(NEW, results(tool_result(call.call_id)))
        assert statuses(simulator) == [200, 400, 400, 200]
        assert thoughts(simulator) == [0, 1, 1, 0]


async def test_a_signature_of_another_party_is_left_out() -> None:
    block = {"type": "thinking", "thinking": "hm", "signature": "of a gateway"}
    foreign = Reasoning("hm", None, Native("anthropic", block))
    async with chat_with("anthropic") as (chat, simulator):
        chat.history += [user("Hello."), assistant(foreign, *user("Hi.").parts)]
        await chat.ask(OLD, SECOND)
        assert statuses(simulator) == [400, 200]
        assert thoughts(simulator) == [1, 0]


async def test_a_boundary_ends_the_memory_of_a_chat() -> None:
    async with chat_with("azure-anthropic") as (chat, simulator):
        await chat.first_turn()
        await chat.ask(NEW, SECOND)
        chat.history.clear()
        await chat.ask(NEW, FIRST)
        reply = chat.history[-1]
        await chat.ask(NEW, results(tool_result(reply.calls[0].call_id)), SECOND)
        assert thoughts(simulator)[-1] == 1
        assert statuses(simulator)[-2:] == [200, 200]


async def test_other_refusals_are_not_repeated() -> None:
    async with chat_with("anthropic") as (chat, simulator):
        with pytest.raises(ProviderError):
            await chat.ask(OLD, user("Hello. [[sim: fault=invalid-request]]"))
        assert len(statuses(simulator)) == 1
