"""A second model when the first is down: over sockets, as readers and operators see it."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
import pytest

from holdfast.adapters.providers.models import ConfiguredModels
from holdfast.adapters.providers.registry import ModelConfig, ModelRegistry
from holdfast.adapters.providers.stream import Deadlines
from holdfast.adapters.providers.types import Endpoint
from holdfast.bootstrap import Adapters, Server
from holdfast.domain.chat import Chat, ErrorKind, Status
from holdfast.turn import breaker
from holdfast.turn.breaker import OPEN_S
from holdfast.turn.fallback import FAILURES_MAX
from holdfast_simulator.faults import Fault
from tests.requirements import requirement
from tests.support.builders import user
from tests.support.model import FACTS
from tests.support.provider_faults import PATIENT
from tests.support.replica import Replicas, ask, at_rest, replicas
from tests.support.simulated import endpoint_at
from tests.support.waits import HANG_S

FIRST, SECOND = "anthropic", "responses"
QUICK = {"retry_first_delay_s": 0.01, "retry_delay_s_max": 0.05}
ANSWER = '[[sim: say "Here I am."]]'
IMPATIENT = Deadlines(first_part_s=0.3, silence_s=20.0, progress_s=20.0, tail_s=0.5)


@pytest.fixture
async def cell(template: str) -> AsyncGenerator[Replicas]:
    async with replicas(template) as cell:
        yield cell


def closed_port() -> int:
    """Of an address that refuses connections."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


@dataclass
class Pair:
    """A server with two models: the first as the test says, the second well."""

    cell: Replicas
    endpoint: Endpoint
    deadlines: Deadlines = PATIENT
    more: dict[str, Any] = field(default_factory=dict[str, Any])

    def around(self, adapters: Adapters) -> Adapters:
        configured: Any = adapters.models
        transport = configured._transport
        self.configs = {
            FIRST: ModelConfig(
                endpoint=self.endpoint,
                facts=FACTS[FIRST],
                deadlines=self.deadlines,
                fallback=(SECOND,),
                **self.more,
            ),
            SECOND: ModelConfig(
                endpoint=endpoint_at(self.cell.simulator.url, SECOND),
                facts=FACTS[SECOND],
                deadlines=PATIENT,
            ),
        }
        self.registry = ModelRegistry(self.configs)
        return replace(adapters, models=ConfiguredModels(transport, self.registry))

    def mend(self) -> None:
        """The first provider is back."""
        whole = endpoint_at(self.cell.simulator.url, FIRST)
        mended = replace(
            self.configs[FIRST], endpoint=replace(self.endpoint, headers=whole.headers)
        )
        self.registry.replace({**self.configs, FIRST: mended})

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Server]:
        async with self.cell.open(self.around, **QUICK) as server:
            yield server


async def answered(server: Server) -> tuple[Chat, list[str | None]]:
    """A turn, and the models of its replies."""
    chat = await ask(server, user(ANSWER, model=FIRST))
    chat = await at_rest(server, chat.chat_id)
    page = await server.adapters.history.page(chat.chat_id, limit=50)
    return chat, [message.body.model for message in page.messages][1:]


async def retries_told(server: Server) -> list[dict[str, Any]]:
    """What a reader is told of waits between attempts, until the turn is over."""
    chat = await ask(server, user(ANSWER, model=FIRST))
    told: list[dict[str, Any]] = []
    assert server.hub is not None
    async with asyncio.timeout(HANG_S), server.hub.follow(chat.chat_id, None) as events:
        async for event in events:
            if event.kind != "chat.state":
                continue
            state = orjson.loads(event.data)
            if state["retry"] is not None and state["retry"] not in told:
                told.append(state["retry"])
            if state["status"] != "running":
                return told
    raise AssertionError("the stream ended before the turn")


def faults(url: str) -> dict[str, tuple[Endpoint, Deadlines, ErrorKind]]:
    refusing = endpoint_at(f"http://127.0.0.1:{closed_port()}", FIRST)
    overloaded = endpoint_at(url, FIRST, x_sim_fault=str(Fault.OVERLOADED))
    silent = endpoint_at(url, FIRST, x_sim_fault=str(Fault.HANG_BEFORE_HEADERS))
    return {
        "dead": (refusing, PATIENT, ErrorKind.UNAVAILABLE),
        "overloaded": (overloaded, PATIENT, ErrorKind.OVERLOADED),
        "silent": (silent, IMPATIENT, ErrorKind.TIMEOUT),
    }


@requirement("F09")
@pytest.mark.parametrize("fault", ["dead", "overloaded", "silent"])
async def test_second_model_answers_while_the_first_provider_is_down(
    cell: Replicas, fault: str
) -> None:
    endpoint, deadlines, kind = faults(cell.simulator.url)[fault]
    async with Pair(cell, endpoint, deadlines).open() as server:
        chat, models = await answered(server)

        assert chat.status is Status.IDLE, chat.error
        assert models == [SECOND]
        assert chat.model == FIRST
        value = server.metrics.value
        assert value("holdfast_turn_attempts_total") == FAILURES_MAX + 1
        assert value("holdfast_turn_fallback_replies_total") == 1
        told = await retries_told(server)
        assert {retry["error"]["type"] for retry in told} == {kind.value}
        assert told[-1]["model"] == SECOND, "a reader knows who comes next"
        assert {retry["model"] for retry in told[:-1]} <= {None}


@requirement("F09")
@pytest.mark.parametrize("fault", [Fault.UNAUTHORIZED, Fault.INVALID_REQUEST])
async def test_error_of_the_settings_ends_the_turn_and_is_not_hidden(
    cell: Replicas, fault: Fault
) -> None:
    endpoint = endpoint_at(cell.simulator.url, FIRST, x_sim_fault=str(fault))
    async with Pair(cell, endpoint).open() as server:
        chat, models = await answered(server)

        assert chat.status is Status.FAILED
        assert models == []
        assert server.metrics.value("holdfast_turn_attempts_total") == 1


@requirement("F09")
async def test_breaker_opens_for_all_chats_and_a_probe_closes_it(
    cell: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed_s = 0.0
    monkeypatch.setattr("holdfast.turn.driver._loop_time_s", lambda: passed_s)
    endpoint = endpoint_at(cell.simulator.url, FIRST, x_sim_fault=str(Fault.OVERLOADED))
    pair = Pair(cell, endpoint)
    async with pair.open() as server:
        value, change = server.metrics.value, "holdfast_provider_breaker_changes_total"
        await answered(server)
        await answered(server)
        assert value(change, state="open") == 1
        before = value("holdfast_turn_attempts_total")
        assert before == breaker.FAILURES_MAX + 2
        _, models = await answered(server)
        assert models == [SECOND]
        assert value("holdfast_turn_attempts_total") == before + 1, "straight to the second"
        pair.mend()
        _, models = await answered(server)
        assert models == [SECOND], "its time is not over"
        passed_s = OPEN_S
        _, models = await answered(server)
        assert models == [FIRST]
        assert value(change, state="closed") == 1
