"""Turns whose tool sources fail, hang, or are interrupted while they open."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from holdfast.domain.chat import Status
from holdfast.domain.messages import Ending
from holdfast.ports.tools import Effect, Toolbox, ToolContext
from holdfast.tools.isolated import Isolated, SourceCounters
from holdfast.tools.toolbox import Combined, Functions
from tests.requirements import requirement
from tests.support.builders import user
from tests.support.scripted import calls, says
from tests.support.stage import Effects, Stage, driving, staged, until


class Hanging:
    """A source that hangs when it is opened, until `gate` is set."""

    def __init__(self, toolbox: Functions | None = None) -> None:
        self.names = frozenset({"far"})
        self._toolbox = toolbox or Functions()
        self.gate = asyncio.Event()
        self.openings = 0
        self.hanging = 0

    @asynccontextmanager
    async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
        self.openings += 1
        self.hanging += 1
        try:
            await self.gate.wait()
        finally:
            self.hanging -= 1
        yield self._toolbox


class Refusing:
    names = frozenset({"far"})

    @asynccontextmanager
    async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
        raise ConnectionError("refused")
        yield Functions()


def system_of(stage: Stage) -> list[tuple[str, ...]]:
    return [ask.system for ask in stage.models.asked]


@requirement("L55")
async def test_turn_goes_on_without_a_source_that_fails_and_the_model_is_told() -> None:
    counters, effects = SourceCounters(), Effects()
    near = Functions(effects.tool("near"))
    tools = Combined(Isolated("faraway", Refusing(), counters), Isolated("near", near, counters))
    async with staged(calls("near"), says("ok"), tools=tools) as stage:
        chat = await stage.turn()
        assert chat.status is Status.IDLE
        first, second = system_of(stage)
    assert effects.done == ["near"]
    assert first == second
    assert "not available now: far, because faraway failed to open" in first[-1]
    assert (counters.left_out, stage.counters.tool_bugs, stage.counters.bugs) == (1, 0, 0)


async def test_prompt_and_statements_are_the_same_with_isolated_sources_that_open() -> None:
    seen: list[tuple[list[tuple[str, ...]], dict[str, int]]] = []
    for isolate in (False, True):
        source = Functions(Effects().tool("near"))
        tools = Isolated("near", source, SourceCounters()) if isolate else source
        async with staged(calls("near"), says("ok"), tools=Combined(tools)) as stage:
            await stage.turn()
            seen.append((system_of(stage), stage.store.calls))
    assert seen[0] == seen[1]


@requirement("L55")
async def test_interrupt_does_not_wait_for_a_source_that_hangs() -> None:
    counters, source = SourceCounters(), Hanging()
    tools = Combined(Isolated("faraway", source, counters, timeout_s=3600.0))
    async with staged(tools=tools) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: source.hanging == 1)
            await stage.interrupt(chat, nudges)
        assert task.result().status is Status.IDLE
    assert (source.openings, source.hanging) == (1, 0)
    assert (counters.left_out, stage.counters.bugs) == (0, 0)


async def test_worker_that_stops_does_not_wait_for_a_source_that_hangs() -> None:
    source = Hanging()
    tools = Combined(Isolated("faraway", source, SourceCounters(), timeout_s=3600.0))
    async with staged(tools=tools) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: source.hanging == 1)
            nudges.let_go()
        assert task.result().worker_id == chat.worker_id
    assert (source.openings, source.hanging) == (1, 0)


async def test_worker_that_stops_opens_once_more_to_hand_over_calls() -> None:
    effects = Effects(gated=("far",))
    source = Hanging(Functions(effects.tool("far", Effect.REPEATABLE)))
    source.gate.set()
    tools = Combined(Isolated("faraway", source, SourceCounters(), timeout_s=3600.0))
    async with staged(calls("far"), tools=tools) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, _):
            await until(lambda: effects.running == 1)
            task.cancel()
        source.gate.clear()
        source.openings = 0
        taken = await stage.again(stage.now(chat))
        async with driving(stage, taken) as (task, nudges):
            await until(lambda: source.hanging == 1)
            nudges.let_go()
            await until(lambda: source.openings == 2)
            for _ in range(100):
                await asyncio.sleep(0)
            assert (source.openings, source.hanging) == (2, 1)
            source.gate.set()
        assert [call.tool for call in task.result().open_calls] == ["far"]
        assert stage.counters.bugs == 0


async def test_rumour_while_a_source_opens_only_opens_it_again() -> None:
    source = Hanging()
    tools = Combined(Isolated("faraway", source, SourceCounters(), timeout_s=3600.0))
    async with staged(says("ok"), tools=tools) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: source.hanging == 1)
            nudges.doubt()
            await until(lambda: source.openings == 2)
            source.gate.set()
        assert task.result().status is Status.IDLE
        assert (await stage.history(chat))[-1].body.ending is Ending.COMPLETE


async def test_timeout_error_of_a_toolbox_is_no_nudge() -> None:
    class Slow(Refusing):
        @asynccontextmanager
        async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
            raise TimeoutError
            yield Functions()

    async with staged(tools=Slow()) as stage:
        chat = await stage.turn()
        assert (chat.status, stage.counters.bugs) == (Status.FAILED, 1)
