"""`ask_user`: the model asks, the chat waits without a worker, and a person answers."""

from collections.abc import Mapping
from typing import Final

from holdfast.domain.parts import JsonObject, JsonValue, Need
from holdfast.domain.questions import (
    ASK_USER,
    OPTIONS_MAX,
    OPTIONS_MIN,
    QUESTIONS_MAX,
    QuestionsNotReadable,
    questions_of,
)
from holdfast.ports.tools import Effect, Run, ToolOutput, ToolSpec, looks, never
from holdfast.tools.toolbox import Function
from holdfast.tools.workspace.arguments import normalised

WRONG: Final = (
    'Error: nothing was asked. {fault} Expected: {{"questions": [{{"question": "Which database?",'
    ' "options": [{{"label": "PostgreSQL", "detail": "..."}}, {{"label": "SQLite"}}]}}]}}.'
)
NOT_RUN: Final = "Nothing was run: a person answers this call."
_OPTION: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "label": {"type": "string", "description": "The answer, in a few words."},
        "detail": {"type": "string", "description": "What it means or leads to."},
    },
    "required": ["label"],
}
_QUESTION: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "question": {"type": "string", "description": "The whole question."},
        "options": {
            "type": "array",
            "items": _OPTION,
            "minItems": OPTIONS_MIN,
            "maxItems": OPTIONS_MAX,
            "description": "Likely answers; the user may always answer in own words.",
        },
        "multiple": {
            "type": "boolean",
            "default": False,
            "description": "Whether more than one option may be chosen.",
        },
    },
    "required": ["question"],
}


def _fault(arguments: JsonObject) -> str | None:
    try:
        questions_of(arguments)
    except QuestionsNotReadable as fault:
        return WRONG.format(fault=fault)
    return None


def _normalised(schema: JsonObject, arguments: JsonObject) -> JsonObject:
    """An option that is only a text is its label; a single question may stand without a list."""
    given = normalised(schema, arguments)
    if isinstance(given.get("question"), str) and "questions" not in given:
        given = {"questions": [given]}
    questions = given.get("questions")
    if not isinstance(questions, list):
        return given
    return {
        **given,
        "questions": [_with_options(each) for each in questions],
    }


def _with_options(question: JsonValue) -> JsonValue:
    given = _without_nulls(question)
    options = given.get("options") if isinstance(given, Mapping) else None
    if not isinstance(given, Mapping) or not isinstance(options, list):
        return given
    labelled = [
        {"label": each} if isinstance(each, str) else _without_nulls(each) for each in options
    ]
    return {**given, "options": labelled}


def _without_nulls(value: JsonValue) -> JsonValue:
    if not isinstance(value, Mapping):
        return value
    return {name: each for name, each in value.items() if each is not None}


ASKING: Final = ToolSpec(
    name=ASK_USER,
    description=(
        "Ask the user and wait for the answer. Only for what the chat and the workspace cannot"
        " answer."
    ),
    schema={
        "type": "object",
        "properties": {
            "questions": {
                "type": "array",
                "items": _QUESTION,
                "minItems": 1,
                "maxItems": QUESTIONS_MAX,
                "description": "All questions at once.",
            }
        },
        "required": ["questions"],
    },
    effect=Effect.REPEATABLE,
    needs=Need.ANSWER,
    normalise=_normalised,
    fault=_fault,
    foreign=False,
    sends_out=never,
    in_plan_mode=looks,
)


def question_tool() -> Function:
    async def refuse(_run: Run) -> ToolOutput:
        return ToolOutput(NOT_RUN, failed=True)

    return Function(ASKING, refuse)
