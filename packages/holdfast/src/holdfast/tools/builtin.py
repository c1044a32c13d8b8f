"""The tools that need no workspace."""

from typing import Final

from holdfast.ports.clock import Clock
from holdfast.ports.tools import Effect, Run, ToolOutput, ToolSpec, looks, never
from holdfast.tools.plan import plan_tool
from holdfast.tools.questions import question_tool
from holdfast.tools.toolbox import Function, Functions

CLOCK: Final = ToolSpec(
    name="clock",
    description="Current date and time in UTC (ISO 8601).",
    schema={"type": "object", "properties": {}},
    effect=Effect.REPEATABLE,
    reads_only=True,
    deadline_s=5.0,
    foreign=False,
    sends_out=never,
    in_plan_mode=looks,
)


class Builtin(Functions):
    """All of them, in the order in which a model sees them. Names, reserved names and the reference
    follow from this list."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock_tool(clock), plan_tool(), question_tool())


def clock_tool(clock: Clock) -> Function:
    async def tell(_run: Run) -> ToolOutput:
        return ToolOutput(clock.now().isoformat(timespec="seconds"))

    return Function(CLOCK, tell)
