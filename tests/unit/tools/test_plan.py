"""`update_plan`: a plan is checked and acknowledged, and nothing of it is kept."""

from typing import Any

import pytest

from holdfast.domain.chat import Status
from holdfast.domain.ids import CallId
from holdfast.domain.parts import ToolCall
from holdfast.ports.tools import Effect, Run, ToolOutput
from holdfast.tools.plan import STEPS_MAX, UPDATE_PLAN, UPDATED, plan_tool
from tests.support.builders import a_chat

STEP: dict[str, Any] = {"text": "Run the tests", "status": "in_progress"}


async def updated(**arguments: Any) -> ToolOutput:
    call = ToolCall(CallId("c1"), UPDATE_PLAN.name, arguments)
    run = Run(chat=a_chat(Status.RUNNING), call=call, key="2.c1", emit=lambda _text: None)
    return await plan_tool().run(run)


@pytest.mark.parametrize(
    "arguments",
    [
        {"steps": [STEP]},
        {"steps": [STEP, {"text": "Report", "status": "pending"}], "note": "A test failed."},
        {"steps": [{**STEP, "status": "completed"}, {**STEP, "status": "dropped"}]},
        {"steps": [STEP], "note": None},
    ],
)
async def test_plan_is_acknowledged(arguments: dict[str, Any]) -> None:
    assert await updated(**arguments) == ToolOutput(UPDATED)
    assert UPDATE_PLAN.effect is Effect.REPEATABLE


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({}, "steps is missing."),
        ({"steps": []}, "steps is not valid."),
        ({"steps": [STEP, {"text": "Report"}]}, "steps[1].status is missing."),
        ({"steps": [{**STEP, "status": "done"}]}, "steps[0].status is not valid."),
        ({"steps": [STEP] * (STEPS_MAX + 1)}, "steps is not valid."),
    ],
)
async def test_wrong_plan_is_refused_with_the_fault_and_an_example(
    arguments: dict[str, Any], fault: str
) -> None:
    output = await updated(**arguments)
    assert output.failed
    assert str(output.value).startswith(f"Error: not run. {fault} Expected: ")
    assert "pending, in_progress, completed, dropped" in str(output.value)
