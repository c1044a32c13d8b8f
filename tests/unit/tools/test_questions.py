"""`ask_user`: what a model writes becomes questions, or an error at once; nothing is run."""

from typing import Any

import pytest

from holdfast.domain.chat import Status
from holdfast.domain.ids import CallId
from holdfast.domain.parts import Need, ToolCall
from holdfast.domain.questions import ASK_USER, questions_of
from holdfast.ports.tools import Run
from holdfast.tools.questions import ASKING, NOT_RUN, question_tool
from tests.support.builders import a_chat

WHICH: dict[str, Any] = {
    "question": "Which?",
    "options": [{"label": "A", "detail": "First."}, {"label": "B"}],
}
WRITTEN: list[tuple[dict[str, Any], Any]] = [
    ({"questions": [WHICH]}, [WHICH]),
    ({"questions": '[{"question": "Why?"}]'}, [{"question": "Why?"}]),
    (
        {"questions": [{"question": "Which?", "options": ["A", {"label": "B"}]}]},
        [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}],
    ),
    (
        {"questions": [{"question": "Which?", "options": [{"label": "A", "detail": None}, "B"]}]},
        [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}],
    ),
    ({"questions": [{"question": "Why?", "options": None}]}, [{"question": "Why?"}]),
    (WHICH, [WHICH]),
    ({"question": "Why?"}, [{"question": "Why?"}]),
]


@pytest.mark.parametrize(("arguments", "questions"), WRITTEN)
def test_what_has_one_meaning_is_put_into_the_form_of_the_schema(
    arguments: dict[str, Any], questions: Any
) -> None:
    declared = ASKING.normalised(arguments)
    assert declared == {"questions": questions}
    assert ASKING.normalised(declared) == declared
    assert ASKING.fault is not None
    assert ASKING.fault(declared) is None
    assert questions_of(declared)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({}, "questions is no list of 1 to 4."),
        (
            {"questions": [{**WHICH, "options": [None, "A"]}]},
            "questions[0].options[0] is not an object.",
        ),
        ({"questions": 1}, "questions is no list of 1 to 4."),
        ({"questions": ["Why?"]}, "questions[0] is not an object."),
        (
            {"questions": [{**WHICH, "options": "A or B"}]},
            "questions[0].options is no list of 2 to 4.",
        ),
    ],
)
def test_model_is_told_the_fault_and_the_form(arguments: dict[str, Any], fault: str) -> None:
    assert ASKING.fault is not None
    words = ASKING.fault(ASKING.normalised(arguments))
    assert words is not None
    assert words.startswith(f'Error: nothing was asked. {fault} Expected: {{"questions": [')


async def test_it_waits_for_a_person_and_is_never_run() -> None:
    assert ASKING.needs is Need.ANSWER
    assert not ASKING.foreign, "the user said it"
    assert not ASKING.sends_out(), "it goes to the user alone"
    call = ToolCall(CallId("c1"), ASK_USER, {"questions": [WHICH]})
    run = Run(chat=a_chat(Status.RUNNING), call=call, key="2.c1", emit=lambda _text: None)
    output = await question_tool().run(run)
    assert (output.value, output.failed) == (NOT_RUN, True)
