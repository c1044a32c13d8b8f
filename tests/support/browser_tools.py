"""Tools for the page to show: one that takes its time, and one that asks a person."""

import asyncio
from dataclasses import replace

from holdfast.bootstrap import Adapters
from holdfast.domain.parts import Need
from holdfast.ports.tools import Run, ToolOutput, ToolSpec
from holdfast.tools.toolbox import Combined, Function, Functions

COUNT_UP = ToolSpec(
    name="count_up",
    description="Counts lines.",
    schema={"type": "object", "properties": {"lines": {"type": "integer"}}},
)
ASK_PERSON = ToolSpec(
    name="ask_person",
    description="Asks a person.",
    schema={"type": "object", "properties": {"question": {"type": "string"}}},
    needs=Need.ANSWER,
)
LINE_S = 0.05


async def _count_up(run: Run) -> ToolOutput:
    lines = [f"o{number:03}\n" for number in range(int(str(run.call.arguments["lines"])))]
    for line in lines:
        run.emit(line)
        await asyncio.sleep(LINE_S)  # Real time: a tool that takes its time, as its output shows
    return ToolOutput("".join(lines))


async def _never(_run: Run) -> ToolOutput:
    raise AssertionError("a person answers this")


def with_tools(adapters: Adapters) -> Adapters:
    own = Functions(Function(COUNT_UP, _count_up), Function(ASK_PERSON, _never))
    return replace(adapters, tools=Combined(own, adapters.tools))
