"""Whole turns on PostgreSQL and the simulator, through the configured models."""

import asyncio
import re
from collections.abc import AsyncGenerator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
import pytest_asyncio

from holdfast.adapters.postgres.history import PostgresHistory
from holdfast.adapters.providers.models import ConfiguredModels
from holdfast.adapters.providers.prices import Price
from holdfast.adapters.providers.registry import ModelConfig, ModelRegistry
from holdfast.domain.chat import Chat, ErrorKind, Status
from holdfast.domain.commands import Interrupt
from holdfast.domain.errors import FormatUnknown
from holdfast.domain.ids import ChatId
from holdfast.domain.messages import Ending, Role
from holdfast.domain.parts import Reasoning, Text, ToolCall, ToolResult
from holdfast.ports.models import Usage
from holdfast.turn.driver import Driver
from holdfast.turn.interrupts import Interrupts
from holdfast.turn.prompt import GO_ON
from holdfast_lab.chaos.faults.models.documented import Documented, documented
from holdfast_lab.chaos.faults.models.outcomes import REPEATED
from holdfast_lab.chaos.harness.simulator import simulator_process
from holdfast_simulator.faults import Fault
from tests.requirements import requirement
from tests.support.builders import user
from tests.support.model import FACTS, WIRE_NAMES, assistant
from tests.support.provider_faults import DIRECTED, deadlines_of, now
from tests.support.simulated import endpoint_at
from tests.support.turns import Turns, turns_on

TWO_STEPS = (
    'Will it rain? [[sim: think "The sky." | say "Let me see." | call clock {} '
    '| then | say "It will not."]]'
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def simulator_url() -> AsyncGenerator[str]:
    async with simulator_process() as url:
        yield url


@pytest.fixture
async def turns(template: str, simulator_url: str) -> AsyncGenerator[Turns]:
    async with turns_on(template, simulator_url) as turns:
        yield turns


@pytest.mark.parametrize("wire", WIRE_NAMES)
async def test_a_turn_with_a_tool_ends_well_on_every_wire(turns: Turns, wire: str) -> None:
    chat = await turns.turn(user(TWO_STEPS, model=wire))

    assert chat.status is Status.IDLE, chat.error
    messages = await turns.world.read(chat.chat_id)
    assert [m.body.role for m in messages] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    assert "It will not." in (await turns.said(chat))[-1]
    assert all(m.body.usage for m in messages if m.body.role is Role.ASSISTANT)
    assert await turns.world.violations([chat.chat_id]) == []


@pytest.mark.parametrize("wire", WIRE_NAMES)
async def test_a_reply_that_was_cut_is_gone_on_with_on_every_wire(turns: Turns, wire: str) -> None:
    """The simulator keeps the providers' rules: none takes a prompt that ends in its own words."""
    half = replace(assistant(Text("The answ")), ending=Ending.CUT)
    chat = await turns.turn(user("Say it.", model=wire), half)

    assert chat.status is Status.IDLE, chat.error
    assert [m.body.role for m in await turns.world.read(chat.chat_id)] == [
        *(Role.USER, Role.ASSISTANT, Role.ASSISTANT),
    ]
    assert GO_ON not in " ".join(await turns.said(chat))
    assert turns.driver.counters.retries == 0


@pytest.mark.parametrize("wire", WIRE_NAMES)
async def test_a_real_stream_is_handed_over_and_gone_on_with(turns: Turns, wire: str) -> None:
    words = " ".join(["one", *("more" for _ in range(40))])
    prompt = f'Go. [[sim: think "Well then." | say "{words}" | rate=20]]'
    chat = await turns.world.running(user(prompt, model=wire))
    nudges = Interrupts(chat)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        task = group.create_task(turns.driver.drive(chat, nudges))
        async with turns.bus.subscribe(chat.chat_id) as news:
            async for item in news:
                if b'"text":"one' in getattr(item, "payload", b""):
                    break
        nudges.let_go()
    let_go = task.result()
    assert let_go.worker_id is not None
    (_, partial) = await turns.world.read(chat.chat_id)
    assert partial.body.ending is Ending.CUT

    await turns.world.leases.release(let_go.worker_id, [chat.chat_id])
    (found,) = await turns.world.acquire(await turns.world.a_worker())
    ended = await turns.process().drive(found, Interrupts(found))
    assert ended.status is Status.IDLE, ended.error
    assert await turns.world.violations([chat.chat_id]) == []


@requirement("L01", "L11", "M4")
@pytest.mark.parametrize("wire", WIRE_NAMES)
async def test_an_interrupt_of_a_real_stream_keeps_what_was_shown(turns: Turns, wire: str) -> None:
    words = " ".join(["one two", *("more" for _ in range(1_000))])
    prompt = f'Go. [[sim: think "Well then." | say "{words}" | rate=20]]'
    chat = await turns.world.running(user(prompt, model=wire))
    nudges = Interrupts(chat)
    shown = b""
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        task = group.create_task(turns.driver.drive(chat, nudges))
        async with turns.bus.subscribe(chat.chat_id) as news:
            async for item in news:
                shown += getattr(item, "payload", b"")
                if b"two" in shown:
                    break
            said = await turns.world.do(chat.chat_id, Interrupt())
            nudges.hear(said.chat.version, said.chat.history_version, said.chat.status)
    assert task.result().status is Status.IDLE
    (_, partial) = await turns.world.read(chat.chat_id)
    assert partial.body.ending is Ending.INTERRUPTED
    texts = "".join(part.text for part in partial.body.parts if isinstance(part, Text))
    for piece in re.findall(rb'"type":"text","text":"([^"]*)"', shown):
        assert piece.decode() in texts
    for part in partial.body.parts:
        if isinstance(part, Reasoning):
            assert part.finished_at is not None


async def test_a_single_step_turn_costs_three_statements_here(turns: Turns) -> None:
    await turns.turn(user("warm up"))
    chat = await turns.world.create(user("hello"))
    worker_id = await turns.world.a_worker()
    before = turns.tap.statements
    (found,) = await turns.world.acquire(worker_id)
    ended = await turns.driver.drive(found, Interrupts(found))

    assert ended.status is Status.IDLE
    assert ended.chat_id == chat.chat_id
    assert turns.tap.statements - before == 3  # acquire, read the history, commit


@requirement("L138")
async def test_a_turn_whose_history_cannot_be_read_does_not_fail(
    turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker sets the chat aside; a newer version goes on with it."""

    async def unreadable(*_: object, **__: object) -> None:
        raise FormatUnknown("message format 2")

    monkeypatch.setattr(PostgresHistory, "page", unreadable)
    chat = await turns.world.running(user("hello"))
    with pytest.raises(FormatUnknown):
        await turns.driver.drive(chat, Interrupts(chat))
    assert await turns.world.load(chat.chat_id) == chat


# Faults.


@requirement("P1", "P2", "L43", "L50")
@pytest.mark.timeout(240)
@pytest.mark.parametrize("wire", ["anthropic", "chat"])
async def test_every_fault_ends_a_turn_in_its_documented_state(turns: Turns, wire: str) -> None:
    """A fault that strikes once: what may pass is retried and ends well, the rest fails the turn
    with the kind that the page of faults names."""
    rows = [row for row in documented() if row.wire == wire and row.fault not in REPEATED]
    assert {row.fault for row in rows} == set(Fault) - REPEATED
    wrong: list[str] = []
    room = asyncio.Semaphore(6)
    asked = {await _ask(turns, wire, row.fault): row for row in rows}
    acquired = await turns.world.acquire(await turns.world.a_worker(), limit=len(rows))
    assert len(acquired) == len(rows)

    async def one(chat: Chat) -> None:
        row = asked[chat.chat_id]
        async with room:
            ended = await _directed(turns, row.fault).drive(chat, Interrupts(chat))
        problem = await _judge(turns, ended, row)
        if problem:
            wrong.append(f"{row.fault}: {problem}")

    async with asyncio.TaskGroup() as group:
        for chat in acquired:
            group.create_task(one(chat))
    assert not wrong, "\n".join(wrong)


async def _ask(turns: Turns, wire: str, fault: Fault) -> ChatId:
    prompt = (
        f'Under {fault}? [[sim: think "The sky, then." | say "Let me see what the sky says." '
        '| call clock {} | then | say "Dry."]]'
    )
    return (await turns.world.create(user(prompt, model=wire))).chat_id


def _directed(turns: Turns, fault: Fault) -> Driver:
    directed: dict[str, Any] = {"x_sim_fault": str(fault), "x_sim_times": "1"}
    directed |= DIRECTED.get(fault, {})
    return turns.process(deadlines=deadlines_of(fault), **directed)


async def _judge(turns: Turns, chat: Chat, row: Documented) -> str | None:
    violations = await turns.world.violations([chat.chat_id])
    if violations:
        return str(violations)
    if row.kind is not None and not (row.retryable and row.hint_s <= 1.0):
        if chat.status is not Status.FAILED or chat.error is None:
            return f"{chat.status} instead of failed"
        if chat.error.kind is not row.kind:
            return f"{chat.error.kind} instead of {row.kind}"
        return None
    if chat.status is not Status.IDLE:
        return f"{chat.status} instead of idle: {chat.error}"
    messages = await turns.world.read(chat.chat_id)
    if any(m.body.ending is Ending.INTERRUPTED for m in messages):
        return "an interrupt that was not requested"
    calls = [p for m in messages for p in m.body.parts if isinstance(p, ToolCall)]
    answers = [p for m in messages for p in m.body.parts if isinstance(p, ToolResult)]
    return None if len(calls) == len(answers) else "calls without results"


# The configured models themselves.


async def test_a_model_that_nobody_configured_fails_the_turn_and_says_so(turns: Turns) -> None:
    chat = await turns.turn(user("hello", model="nope"))

    assert chat.status is Status.FAILED
    assert chat.error is not None
    assert chat.error.kind is ErrorKind.CONFIG
    assert "'nope'" in chat.error.sentence
    assert turns.driver.counters.retries == 0


@requirement("L41")
async def test_a_rejected_temperature_is_left_out_and_nobody_notices(turns: Turns) -> None:
    faulty: dict[str, Any] = {"x_sim_fault": str(Fault.TEMPERATURE_REJECTED), "x_sim_times": "1"}
    driver = turns.process(temperature=0.2, **faulty)
    chat = await turns.turn(user('Hot? [[sim: say "Mild."]]', model="chat"), driver=driver)

    assert chat.status is Status.IDLE, chat.error
    assert (driver.counters.attempts, driver.counters.retries) == (1, 0)


async def test_prices_and_windows_are_those_of_the_named_model(turns: Turns) -> None:
    price = Price(input=Decimal(1), output=Decimal(2))
    own = ModelConfig(
        endpoint=endpoint_at(turns.url, "chat"),
        facts=replace(FACTS["chat"], context_window=1000),
        price=price,
    )
    models = ConfiguredModels(turns.transport, ModelRegistry({"own": own}))
    usage = Usage(input=10, output=5)

    assert models.cost_micros(None, usage, now()) == 20
    assert models.cost_micros("own", None, now()) is None
    assert models.cost_micros("nope", usage, now()) is None
    assert models.context_window("own") == 1000
    assert models.context_window("nope") is None
