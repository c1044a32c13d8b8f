"""Isolation of tool sources, in virtual time."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace

import anyio
import pytest
from typing_extensions import override

from holdfast.domain.chat import OpenCall, Status
from holdfast.domain.ids import CallId, Epoch, Seq
from holdfast.ports.tools import Toolbox, ToolContext, Tools, ToolSpec
from holdfast.tools.isolated import Isolated, SourceCounters, SourceNotOpen
from holdfast.tools.toolbox import Combined, Functions
from tests.requirements import requirement
from tests.support.builders import a_chat
from tests.support.stage import Effects
from tests.support.virtual import virtual_runner as virtual_runner

CONTEXT = ToolContext(a_chat(Status.RUNNING))
WORDS = (
    "These tools are not available now: far, because faraway {why}. Do not call them. If the task"
    " needs them, tell the user."
)


class Opening(Functions):
    """A source with the tool `far` that awaits something before it is open."""

    def __init__(self, before: Callable[[], Awaitable[object]]) -> None:
        super().__init__(Effects().tool("far"))
        self._before = before
        self.events: list[str] = []

    @asynccontextmanager
    async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
        self.events.append("opening")
        try:
            await self._before()
            self.events.append("open")
            yield self
        finally:
            self.events.append("closed")


async def refuse() -> None:
    raise ConnectionError("postgres://user:secret@host")


async def hang() -> None:
    await asyncio.Event().wait()


async def time_out_by_itself() -> None:
    raise TimeoutError


async def raise_cancelled() -> None:
    raise asyncio.CancelledError


def isolated(source: Tools, counters: SourceCounters | None = None) -> Isolated:
    return Isolated({"faraway": source}, counters or SourceCounters(), timeout_s=5.0)


def side_by_side(*sources: Tools, counters: SourceCounters | None = None) -> Isolated:
    named = {f"source {number}": source for number, source in enumerate(sources)}
    return Isolated(named, counters or SourceCounters(), timeout_s=5.0)


async def swallow() -> None:
    """Hang, and go on hanging after the first cancellation."""
    with suppress(asyncio.CancelledError):
        await hang()
    await hang()


@pytest.mark.parametrize(
    ("before", "why", "after_s"),
    [
        (refuse, "failed to open (ConnectionError)", 0.0),
        (hang, "did not open within 5 s", 5.0),
        (time_out_by_itself, "failed to open (TimeoutError)", 0.0),
        (raise_cancelled, "failed to open (CancelledError)", 0.0),
    ],
)
async def test_source_that_does_not_open_is_left_out_named_logged_and_counted_once(
    before: Callable[[], Awaitable[object]],
    why: str,
    after_s: float,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    counters, near, source = SourceCounters(), Effects(), Opening(before)
    tools = Combined(isolated(source, counters), isolated(Functions(near.tool("near")), counters))
    began_s = asyncio.get_running_loop().time()
    async with tools.open(CONTEXT) as toolbox:
        assert asyncio.get_running_loop().time() - began_s == after_s
        assert set(toolbox.specs) == {"near"}
        assert await toolbox.sections() == [WORDS.format(why=why)]
        assert source.events == ["opening", "closed"]
    assert counters.left_out == 1
    (line,) = caplog.records
    assert f"faraway {why}" in line.getMessage()
    assert line.exc_info is not None
    assert "secret" not in line.getMessage()


async def test_sources_that_open_say_nothing_and_are_closed_in_reverse() -> None:
    counters, source = SourceCounters(), Opening(lambda: asyncio.sleep(4.9))
    async with isolated(source, counters).open(CONTEXT) as toolbox:
        assert toolbox.specs == source.specs
        assert toolbox.place is source.place
        assert await toolbox.sections() == []
        assert source.events == ["opening", "open"]
    assert source.events[-1] == "closed"
    assert counters.left_out == 0


async def test_timeout_ends_when_the_source_is_open() -> None:
    async with isolated(Opening(lambda: asyncio.sleep(1))).open(CONTEXT):
        await asyncio.sleep(60)


async def test_cancellation_while_opening_passes_through_and_is_not_counted() -> None:
    counters, source = SourceCounters(), Opening(hang)

    async def opening() -> None:
        async with isolated(source, counters).open(CONTEXT):
            raise AssertionError("it never opens")

    async with asyncio.TaskGroup() as group:
        task = group.create_task(opening())
        await asyncio.sleep(1)
        task.cancel()
    assert task.cancelled()
    assert counters.left_out == 0
    assert source.events == ["opening", "closed"]


class Faulty(Opening):
    """A source that opens, and then fails or hangs where it is told to."""

    def __init__(
        self,
        *,
        closing: Callable[[], Awaitable[object]] | None = None,
        telling: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        super().__init__(lambda: asyncio.sleep(0))
        self._closing, self._telling = closing, telling

    @asynccontextmanager
    async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
        try:
            yield self
        finally:
            if self._closing is not None:
                await self._closing()

    @override
    async def sections(self) -> Sequence[str]:
        if self._telling is not None:
            await self._telling()
        return ("a section",)


@pytest.mark.parametrize("closing", [refuse, hang, raise_cancelled])
async def test_source_that_fails_to_close_is_logged_and_changes_no_result(
    closing: Callable[[], Awaitable[object]], caplog: pytest.LogCaptureFixture
) -> None:
    async with asyncio.timeout(6):
        async with isolated(Faulty(closing=closing)).open(CONTEXT) as toolbox:
            assert await toolbox.sections() == ["a section"]
    (line,) = caplog.records
    assert line.getMessage() == f"tools: source did not close: faraway, chat {CONTEXT.chat.chat_id}"


async def test_source_that_fails_to_close_does_not_hide_a_cancellation() -> None:
    """An interrupt while another source opens: the error of the first must not fail the turn."""
    tools = Combined(isolated(Faulty(closing=refuse)), isolated(Opening(hang)))

    async def opening() -> None:
        async with tools.open(CONTEXT):
            raise AssertionError("it never opens")

    async with asyncio.TaskGroup() as group:
        task = group.create_task(opening())
        await asyncio.sleep(1)
        task.cancel()
    assert task.cancelled()


async def test_source_that_answers_a_cancellation_with_an_error_is_cancelled_all_the_same() -> None:
    counters = SourceCounters()

    async def stubborn() -> None:
        try:
            await hang()
        except asyncio.CancelledError:
            raise ConnectionError from None

    async def opening() -> None:
        async with isolated(Opening(stubborn), counters).open(CONTEXT):
            raise AssertionError("it never opens")

    async with asyncio.TaskGroup() as group:
        task = group.create_task(opening())
        await asyncio.sleep(1)
        task.cancel()
    assert task.cancelled()
    assert counters.left_out == 0


async def test_cancellation_while_a_source_closes_passes_through() -> None:
    async def closing() -> None:
        async with isolated(Faulty(closing=hang)).open(CONTEXT):
            pass

    async with asyncio.TaskGroup() as group:
        task = group.create_task(closing())
        await asyncio.sleep(1)
        task.cancel()
    assert task.cancelled()


@pytest.mark.parametrize("telling", [refuse, hang, raise_cancelled])
async def test_sections_that_fail_or_hang_are_left_out_alone(
    telling: Callable[[], Awaitable[object]], caplog: pytest.LogCaptureFixture
) -> None:
    tools = Combined(isolated(Faulty(telling=telling)), isolated(Faulty()))
    async with tools.open(CONTEXT) as toolbox, asyncio.timeout(31):
        assert await toolbox.sections() == ["a section"]
    (line,) = caplog.records
    assert line.getMessage().startswith("tools: sections left out: faraway")


async def test_cancellation_while_sections_are_read_passes_through() -> None:
    async def reading() -> None:
        async with isolated(Faulty(telling=hang)).open(CONTEXT) as toolbox:
            await toolbox.sections()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(reading())
        await asyncio.sleep(1)
        task.cancel()
    assert task.cancelled()


class Dropping:
    """A source whose tools can be read so many times; then its connection is gone."""

    names = frozenset({"far"})

    def __init__(self, reads: int) -> None:
        self._reads = reads
        self._inside = Functions(Effects().tool("far"))
        self.is_open = False
        self.place = None
        self.sections, self.run, self.stop = (
            self._inside.sections,
            self._inside.run,
            self._inside.stop,
        )

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        self._reads -= 1
        if self._reads < 0:
            raise ConnectionError
        return self._inside.specs

    @asynccontextmanager
    async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
        self.is_open = True
        try:
            yield self
        finally:
            self.is_open = False


@pytest.mark.parametrize(("reads", "tools"), [(0, set[str]()), (1, {"far"})])
async def test_tools_of_a_source_are_read_once_and_it_is_closed(
    reads: int, tools: set[str]
) -> None:
    source, counters = Dropping(reads), SourceCounters()
    async with isolated(source, counters).open(CONTEXT) as toolbox:
        assert set(toolbox.specs) == tools
    assert (source.is_open, counters.left_out) == (False, 1 - reads)


async def test_source_without_declared_tools_is_named_itself() -> None:
    class Empty(Opening):
        def __init__(self) -> None:
            super().__init__(refuse)
            self.names = frozenset[str]()

    async with isolated(Empty()).open(CONTEXT) as toolbox:
        (words,) = await toolbox.sections()
    assert words.startswith("These tools are not available now: faraway, because")


@requirement("X2")
async def test_stop_of_a_call_whose_source_is_left_out_is_not_certain() -> None:
    tools = Combined(isolated(Opening(refuse)), Functions(Effects().tool("near")))
    call = OpenCall(call_id=CallId("c"), tool="far", seq=Seq(2), epoch=Epoch(1))
    async with AsyncExitStack() as stack:
        toolbox = await stack.enter_async_context(tools.open(CONTEXT))
        with pytest.raises(SourceNotOpen):
            await toolbox.stop(call)
        await toolbox.stop(replace(call, tool="near"))
        await toolbox.stop(replace(call, tool="unheard_of"))


def test_names_of_combined_sources_are_those_of_all() -> None:
    assert Combined(isolated(Opening(hang)), Functions(Effects().tool("near"))).names == {
        "far",
        "near",
    }


async def test_sources_that_hang_while_they_open_cost_one_bound_together() -> None:
    counters, loop = SourceCounters(), asyncio.get_running_loop()
    near = Functions(Effects().tool("near"))
    tools = side_by_side(Opening(hang), near, Opening(hang), counters=counters)
    began_s = loop.time()
    async with tools.open(CONTEXT) as toolbox:
        assert loop.time() - began_s == 5.0
        assert set(toolbox.specs) == {"near"}
    assert loop.time() - began_s == 5.0
    assert counters.left_out == 2


async def test_sources_that_hang_while_they_close_cost_one_bound_together() -> None:
    loop = asyncio.get_running_loop()
    async with side_by_side(Faulty(closing=hang), Faulty(closing=hang)).open(CONTEXT):
        began_s = loop.time()
    assert loop.time() - began_s == 5.0


async def test_source_that_swallows_its_cancellation_while_it_opens_is_left_behind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    counters, loop = SourceCounters(), asyncio.get_running_loop()
    began_s = loop.time()
    async with isolated(Opening(swallow), counters).open(CONTEXT) as toolbox:
        assert toolbox.specs == {}
    assert loop.time() - began_s == 5.0
    assert (counters.left_out, counters.left_behind) == (1, 0)
    await asyncio.sleep(5.1)
    assert counters.left_behind == 1
    line = caplog.records[-1].getMessage()
    assert line == "tools: task left behind, it ignores its cancellation: tools source faraway"


async def test_source_that_swallows_its_cancellation_while_it_closes_is_left_behind() -> None:
    counters, loop = SourceCounters(), asyncio.get_running_loop()
    async with isolated(Faulty(closing=swallow), counters).open(CONTEXT):
        began_s = loop.time()
    assert loop.time() - began_s == 5.0
    await asyncio.sleep(5.1)
    assert (counters.left_out, counters.left_behind) == (0, 1)


async def test_sections_that_swallow_their_cancellation_hold_no_turn() -> None:
    counters = SourceCounters()
    tools = isolated(Faulty(telling=swallow), counters)
    async with tools.open(CONTEXT) as toolbox, asyncio.timeout(31):
        assert await toolbox.sections() == []
    await asyncio.sleep(5.1)
    assert counters.left_behind == 1


async def test_source_that_opens_after_its_cancellation_is_closed() -> None:
    async def late() -> None:
        with suppress(asyncio.CancelledError):
            await hang()

    counters, source = SourceCounters(), Opening(late)
    async with isolated(source, counters).open(CONTEXT) as toolbox:
        assert toolbox.specs == {}
        await asyncio.sleep(0.1)
        assert source.events == ["opening", "open", "closed"]
    assert (counters.left_out, counters.left_behind) == (1, 0)


async def test_interrupted_opening_waits_for_no_source() -> None:
    """Neither for one that hangs in its clean-up, nor for one that is open already."""
    loop = asyncio.get_running_loop()

    async def opening() -> None:
        async with side_by_side(Opening(swallow), Faulty(closing=hang)).open(CONTEXT):
            raise AssertionError("it never opens")

    async with asyncio.TaskGroup() as group:
        task = group.create_task(opening())
        await asyncio.sleep(1)
        task.cancel()
        began_s = loop.time()
    assert task.cancelled()
    assert loop.time() == began_s


class Scoped(Functions):
    """A source with a cancel scope, as many libraries have: a task of its own that may fail."""

    def __init__(self, fails_after_s: float = 3600.0) -> None:
        super().__init__(Effects().tool("far"))
        self._fails_after_s = fails_after_s
        self.tasks: list[object] = []

    @asynccontextmanager
    async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
        self.tasks.append(asyncio.current_task())
        async with anyio.create_task_group() as group:
            group.start_soon(self._listen)
            yield self
            group.cancel_scope.cancel()
        self.tasks.append(asyncio.current_task())

    async def _listen(self) -> None:
        await asyncio.sleep(self._fails_after_s)
        raise ConnectionError("the other side is gone")


async def test_cancel_scopes_are_entered_and_left_by_one_task_in_any_order() -> None:
    first, second = Scoped(), Scoped()
    async with side_by_side(first, second).open(CONTEXT) as toolbox:
        assert set(toolbox.specs) == {"far"}
    for source in (first, second):
        entered, left = source.tasks
        assert entered is left
    assert first.tasks != second.tasks


async def test_cancel_scope_that_is_cancelled_ends_the_source_and_not_the_turn(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with isolated(Scoped(fails_after_s=1.0)).open(CONTEXT):
        await asyncio.sleep(2)
    (line,) = caplog.records
    expected = f"tools: source ended before its turn: faraway, chat {CONTEXT.chat.chat_id}"
    assert line.getMessage() == expected
