"""Turns whose tool sources fail, hang, or are interrupted while they open."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from holdfast.domain.chat import Status
from holdfast.domain.commands import EditMessage, Interrupt, Retry, SendMessage
from holdfast.domain.errors import FormatUnknown
from holdfast.domain.ids import Seq
from holdfast.ports.tools import Effect, Toolbox, ToolContext
from holdfast.tools.isolated import Isolated, SourceCounters
from holdfast.tools.toolbox import Combined, Functions
from holdfast.turn.interrupts import Interrupts
from tests.requirements import requirement
from tests.support.builders import user
from tests.support.scripted import Failed, Hold, calls, says
from tests.support.stage import Effects, Stage, driving, staged, until


class Hanging:
    """A source that hangs when it is opened, until `gate` is set; maybe not the first time."""

    def __init__(self, toolbox: Functions | None = None, *, opens_first: bool = False) -> None:
        self.names = frozenset({"far"})
        self._toolbox = toolbox or Functions()
        self.gate = asyncio.Event()
        self.openings = 0
        self.hanging = 0
        self._opens_first = opens_first

    @asynccontextmanager
    async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
        self.openings += 1
        self.hanging += 1
        try:
            if not self._opens_first:
                await self.gate.wait()
        finally:
            self._opens_first = False
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
    tools = Isolated({"faraway": Refusing(), "near": near}, counters)
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
        tools = Isolated({"near": source}, SourceCounters()) if isolate else source
        async with staged(calls("near"), says("ok"), tools=Combined(tools)) as stage:
            await stage.turn()
            seen.append((system_of(stage), stage.store.calls))
    assert seen[0] == seen[1]


@requirement("L55")
async def test_interrupt_does_not_wait_for_a_source_that_hangs() -> None:
    counters, source = SourceCounters(), Hanging()
    tools = Combined(Isolated({"faraway": source}, counters, timeout_s=3600.0))
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
    tools = Combined(Isolated({"faraway": source}, SourceCounters(), timeout_s=3600.0))
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
    tools = Combined(Isolated({"faraway": source}, SourceCounters(), timeout_s=3600.0))
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


async def test_hint_while_a_source_opens_does_not_open_it_again() -> None:
    source = Hanging()
    tools = Combined(Isolated({"faraway": source}, SourceCounters(), timeout_s=3600.0))
    async with staged(says("ok"), says("more"), tools=tools) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: source.hanging == 1)
            for _ in range(3):
                nudges.doubt()
                await until(lambda: not nudges.pending)
            queued = await stage.world.do(chat.chat_id, SendMessage(user("and then?")))
            nudges.doubt()
            await until(lambda: not nudges.pending)
            assert queued.chat.version > chat.version
            assert (source.openings, source.hanging) == (1, 1)
            source.gate.set()
        assert task.result().status is Status.IDLE
        assert (await stage.said(chat)) == [
            *("user: hello", "assistant: ok", "user: and then?", "assistant: more"),
        ]
    assert source.openings == 2  # once for each of the two turns
    assert stage.counters.overtaken == 0


async def test_retry_by_a_person_while_a_source_opens_does_not_open_it_again() -> None:
    source = Hanging(opens_first=True)
    tools = Combined(Isolated({"faraway": source}, SourceCounters(), timeout_s=3600.0))
    async with staged([Failed(retry_after_s=600.0)], says("ok"), tools=tools) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, _):
            await until(lambda: stage.now(chat).backoff is not None)
            task.cancel()
        source.openings = 0
        taken = await stage.again(stage.now(chat))
        async with driving(stage, taken) as (task, nudges):
            await until(lambda: source.hanging == 1)
            await stage.interrupt(chat, nudges, Retry())
            await until(lambda: not nudges.pending)
            assert (source.openings, source.hanging) == (1, 1)
            source.gate.set()
        assert task.result().status is Status.IDLE
        assert asyncio.get_running_loop().time() < 600
    assert source.openings == 1


async def test_edit_while_a_source_opens_begins_anew() -> None:
    source = Hanging()
    tools = Combined(Isolated({"faraway": source}, SourceCounters(), timeout_s=3600.0))
    async with staged(says("ok"), tools=tools) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: source.hanging == 1)
            await stage.interrupt(chat, nudges, EditMessage(Seq(1), user("oh")))
            await until(lambda: source.openings == 2)
            source.gate.set()
        assert task.result().status is Status.IDLE
        assert await stage.said(chat) == ["user: oh", "assistant: ok"]


@requirement("X2")
async def test_interrupt_with_inherited_calls_waits_one_bound_for_all_sources_that_hang() -> None:
    effects, loop = Effects(gated=("far",)), asyncio.get_running_loop()
    near = Functions(effects.tool("far", Effect.KEYED))
    sources: list[Hanging] = [Hanging(opens_first=True) for _ in range(3)]
    tools = Isolated(
        {"near": near} | {f"far {n}": s for n, s in enumerate(sources)}, SourceCounters()
    )
    async with staged(calls("far"), tools=tools) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, _):
            await until(lambda: effects.running == 1)
            task.cancel()
        await stage.world.do(chat.chat_id, Interrupt())
        taken = await stage.again(stage.now(chat))
        began_s = loop.time()
        assert (await stage.drive(taken)).status is Status.IDLE
        assert loop.time() - began_s < 6.0


@requirement("L04")
async def test_interrupt_that_is_being_read_while_a_source_opens_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The source is open before the chat has been read again: the read is cancelled."""
    source, reading = Hanging(), asyncio.Event()
    tools = Combined(Isolated({"faraway": source}, SourceCounters(), timeout_s=3600.0))
    async with staged([Hold()], tools=tools) as stage:
        load = stage.store.load

        async def slow(*args: Any) -> Any:
            if not reading.is_set():
                reading.set()
                await asyncio.sleep(60)
            return await load(*args)

        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: source.hanging == 1)
            monkeypatch.setattr(stage.store, "load", slow)
            await stage.interrupt(chat, nudges)
            await reading.wait()
            source.gate.set()
        assert task.result().status is Status.IDLE
        assert stage.counters.interrupts == 1


@requirement("L137")
async def test_chat_that_became_unreadable_while_a_source_opens_is_told_as_such(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = Hanging()
    tools = Combined(Isolated({"faraway": source}, SourceCounters(), timeout_s=3600.0))

    async def unreadable(*_args: object) -> None:
        raise FormatUnknown("message format 2")

    async with staged(tools=tools) as stage:
        chat = await stage.world.running(user())
        nudges = Interrupts(chat)
        task = asyncio.create_task(stage.drive(chat, nudges))
        await until(lambda: source.hanging == 1)
        monkeypatch.setattr(stage.store, "load", unreadable)
        nudges.doubt()
        with pytest.raises(FormatUnknown, match="format 2"):
            await task
        assert (source.hanging, stage.counters.bugs) == (0, 0)


async def test_timeout_error_of_a_toolbox_is_no_nudge() -> None:
    class Slow(Refusing):
        @asynccontextmanager
        async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
            raise TimeoutError
            yield Functions()

    async with staged(tools=Slow()) as stage:
        chat = await stage.turn()
        assert (chat.status, stage.counters.bugs) == (Status.FAILED, 1)


async def test_the_toolbox_is_opened_once_per_turn_and_closed_at_its_end() -> None:
    effects = Effects()
    log: list[str] = []

    class Logged(Functions):
        @asynccontextmanager
        async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
            log.append("open")
            try:
                yield self
            finally:
                log.append("close")

    tools = Combined(Logged(effects.tool("a")), Functions(effects.tool("b")))
    async with staged(calls("a"), calls("b"), says("ok"), tools=tools) as stage:
        await stage.turn()

        assert log == ["open", "close"]
        assert effects.done == ["a", "b"]


@requirement("L55")
@pytest.mark.parametrize("moment", ["open", "close"])
async def test_a_toolbox_that_breaks_leaves_a_defined_status(moment: str) -> None:
    class Broken:
        names = frozenset[str]()

        @asynccontextmanager
        async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
            if moment == "open":
                raise RuntimeError("no tools today")
            yield Functions()
            raise RuntimeError("the door is stuck")

    async with staged(*([says("ok")] if moment == "close" else []), tools=Broken()) as stage:
        chat = await stage.turn()

        assert chat.status is (Status.IDLE if moment == "close" else Status.FAILED)
        assert (stage.counters.tool_bugs, stage.counters.bugs) == (
            (1, 0) if moment == "close" else (0, 1)
        )
