"""`update_plan`: the model shows its plan. The server keeps nothing beside the call itself: readers
show the last call of a turn."""

from enum import StrEnum
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from holdfast.domain.parts import JsonObject
from holdfast.ports.tools import Effect, Run, ToolOutput, ToolSpec, looks, never
from holdfast.tools.toolbox import Function

STEPS_MAX: Final = 50
TEXT_CHARS_MAX: Final = 500
NOTE_CHARS_MAX: Final = 2000
UPDATED: Final = "Plan updated."
WRONG: Final = (
    'Error: not run. {fault} Expected: {{"steps": [{{"text": "Run the tests", "status": '
    '"in_progress"}}], "note": "..."}}. A status is one of: {statuses}.'
)


class StepStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    DROPPED = "dropped"


class PlanStep(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    text: str = Field(min_length=1, max_length=TEXT_CHARS_MAX)
    status: StepStatus


class PlanArguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    steps: tuple[PlanStep, ...] = Field(min_length=1, max_length=STEPS_MAX)
    note: str | None = Field(default=None, max_length=NOTE_CHARS_MAX)


STATUSES: Final = tuple(status.value for status in StepStatus)
_STEP_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "What is done, in a few words."},
        "status": {
            "type": "string",
            "enum": list(STATUSES),
            "description": "`dropped`: it is no longer needed.",
        },
    },
    "required": ["text", "status"],
}
UPDATE_PLAN: Final = ToolSpec(
    name="update_plan",
    description=(
        "Show the user your plan and its progress. Send the whole list each time. Use it for work"
        " of three or more steps; exactly one step is in progress; mark a step completed only after"
        " you checked it."
    ),
    schema={
        "type": "object",
        "properties": {
            "steps": {
                "type": "array",
                "items": _STEP_SCHEMA,
                "minItems": 1,
                "maxItems": STEPS_MAX,
                "description": "All steps, in order.",
            },
            "note": {"type": "string", "description": "Why the plan changed."},
        },
        "required": ["steps"],
    },
    effect=Effect.REPEATABLE,
    deadline_s=5.0,
    foreign=False,
    sends_out=never,
    in_plan_mode=looks,
)


def plan_tool() -> Function:
    async def update(run: Run) -> ToolOutput:
        try:
            PlanArguments.model_validate(dict(run.call.arguments))
        except ValidationError as error:
            return ToolOutput(
                WRONG.format(fault=_fault(error), statuses=", ".join(STATUSES)), failed=True
            )
        return ToolOutput(UPDATED)

    return Function(UPDATE_PLAN, update)


def _fault(error: ValidationError) -> str:
    """Where the first fault is: the expected form says the rest."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"])
    missing = first["type"] == "missing"
    return f"{place.lstrip('.')} {'is missing' if missing else 'is not valid'}."
