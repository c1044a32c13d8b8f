"""Questions of the model and answers of a person: what is readable, and what fits."""

from typing import Any

import pytest

from holdfast.domain.errors import AnswerNotValid
from holdfast.domain.questions import (
    ANSWER_CHARS_MAX,
    DETAIL_CHARS_MAX,
    LABEL_CHARS_MAX,
    OPTIONS_MAX,
    QUESTION_CHARS_MAX,
    QUESTIONS_MAX,
    Option,
    Question,
    QuestionsNotReadable,
    questions_of,
    result_of,
)

A, B = {"label": "A", "detail": " First. "}, {"label": " B "}
WHICH: dict[str, Any] = {"question": " Which? ", "options": [A, B]}
ONE = Question("Which?", (Option("A", "First."), Option("B")))
SEVERAL = Question("All?", (Option("A"), Option("B"), Option("C")), multiple=True)
OPEN = Question("Why?")


READABLE: list[tuple[Any, tuple[Question, ...]]] = [
    ([WHICH], (ONE,)),
    ((WHICH,), (ONE,)),
    ([{"question": "Why?"}], (OPEN,)),
    ([{"question": "Why?", "options": None, "multiple": None}], (OPEN,)),
    ([{"question": "Why?", "options": []}, WHICH], (OPEN, ONE)),
    (
        [{"question": "All?", "options": [{"label": n} for n in "ABC"], "multiple": True}],
        (SEVERAL,),
    ),
]


@pytest.mark.parametrize(("given", "read"), READABLE)
def test_questions_are_read_from_the_arguments_of_the_call(
    given: Any, read: tuple[Question, ...]
) -> None:
    assert questions_of({"questions": given, "more": 1}) == read


UNREADABLE: list[tuple[Any, str]] = [
    (None, "questions is no list of 1 to 4."),
    ("Which?", "questions is no list of 1 to 4."),
    ([], "questions is no list of 1 to 4."),
    ([WHICH] * (QUESTIONS_MAX + 1), "questions is no list of 1 to 4."),
    (["Which?"], "questions[0] is not an object."),
    ([WHICH, {}], "questions[1].question is no text of 1 to 1000 characters."),
    ([{"question": " "}], "questions[0].question is no text of 1 to 1000 characters."),
    (
        [{"question": "x" * (QUESTION_CHARS_MAX + 1)}],
        "questions[0].question is no text of 1 to 1000 characters.",
    ),
    ([{**WHICH, "options": [A]}], "questions[0].options is no list of 2 to 4."),
    ([{**WHICH, "options": "AB"}], "questions[0].options is no list of 2 to 4."),
    (
        [{**WHICH, "options": [{"label": str(n)} for n in range(OPTIONS_MAX + 1)]}],
        "questions[0].options is no list of 2 to 4.",
    ),
    ([{**WHICH, "options": [A, "B"]}], "questions[0].options[1] is not an object."),
    (
        [{**WHICH, "options": [A, {"label": 1}]}],
        "questions[0].options[1].label is no text of 1 to 100 characters.",
    ),
    (
        [{**WHICH, "options": [A, {"label": "x" * (LABEL_CHARS_MAX + 1)}]}],
        "questions[0].options[1].label is no text of 1 to 100 characters.",
    ),
    (
        [{**WHICH, "options": [A, {**B, "detail": 1}]}],
        "questions[0].options[1].detail is no text of 500 characters.",
    ),
    (
        [{**WHICH, "options": [A, {**B, "detail": "x" * (DETAIL_CHARS_MAX + 1)}]}],
        "questions[0].options[1].detail is no text of 500 characters.",
    ),
    ([{**WHICH, "options": [B, {"label": "B"}]}], "questions[0].options has one label twice."),
    ([{**WHICH, "multiple": "yes"}], "questions[0].multiple is not true or false."),
]


@pytest.mark.parametrize(("given", "fault"), UNREADABLE)
def test_questions_that_nobody_can_show_are_refused(given: Any, fault: str) -> None:
    with pytest.raises(QuestionsNotReadable) as refused:
        questions_of({"questions": given})
    assert str(refused.value) == fault


FITTING: list[tuple[tuple[Question, ...], Any, list[Any]]] = [
    ((OPEN,), " Because. ", [{"question": "Why?", "text": "Because."}]),
    ((ONE,), "Neither.", [{"question": "Which?", "text": "Neither."}]),
    (
        (ONE,),
        {"answers": [{"chosen": ["B"], "text": None}]},
        [{"question": "Which?", "chosen": ["B"]}],
    ),
    (
        (ONE,),
        {"answers": ({"chosen": ("B",), "text": "But later."},)},
        [{"question": "Which?", "chosen": ["B"], "text": "But later."}],
    ),
    (
        (SEVERAL, OPEN),
        {"answers": [{"chosen": ["C", "A", "C"]}, {"text": "So."}]},
        [{"question": "All?", "chosen": ["A", "C"]}, {"question": "Why?", "text": "So."}],
    ),
]


@pytest.mark.parametrize(("questions", "output", "answers"), FITTING)
def test_model_reads_each_question_with_its_answer(
    questions: tuple[Question, ...], output: Any, answers: list[Any]
) -> None:
    assert result_of(questions, output) == {"answers": answers}


UNFITTING: list[tuple[Any, str]] = [
    (1, "Give one answer to each question: there are 1."),
    ({}, "Give one answer to each question: there are 1."),
    ({"answers": "A"}, "Give one answer to each question: there are 1."),
    ({"answers": []}, "Give one answer to each question: there are 1."),
    ({"answers": [{"text": "a"}] * 2}, "Give one answer to each question: there are 1."),
    ("  ", "Answer 1 is empty."),
    ({"answers": ["A"]}, "Answer 1 is empty."),
    ({"answers": [{"chosen": [], "text": ""}]}, "Answer 1 is empty."),
    ({"answers": [{"text": 1}]}, "Answer 1 needs a list `chosen` or a text `text`."),
    ({"answers": [{"chosen": "A"}]}, "Answer 1 needs a list `chosen` or a text `text`."),
    ({"answers": [{"chosen": ["a"]}]}, "Answer 1 chooses what is no option of its question."),
    ({"answers": [{"chosen": [["A"]]}]}, "Answer 1 chooses what is no option of its question."),
    ({"answers": [{"chosen": ["A", "B"]}]}, "Answer 1 may choose one option only."),
    ("x" * (ANSWER_CHARS_MAX + 1), "Answer 1 is longer than 4000 characters."),
]


@pytest.mark.parametrize(("output", "why"), UNFITTING)
def test_answer_that_does_not_fit_is_refused_and_says_why(output: Any, why: str) -> None:
    with pytest.raises(AnswerNotValid) as refused:
        result_of((ONE,), output)
    assert refused.value.sentence == why
