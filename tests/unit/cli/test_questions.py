"""A line that a person types is an option or own words."""

import pytest

from holdfast.cli.exit_codes import CommandEnd
from holdfast.cli.questions import (
    prompt_of,
    question_lines,
    questions_in,
    read_answer,
    read_answers,
)
from holdfast_client.models import Answer, Question, QuestionOption

OPTIONS = [QuestionOption(label="A, first", detail="Now."), QuestionOption(label="B")]
ONE = Question(question="Which?", options=OPTIONS)
SEVERAL = Question(question="Which?", options=OPTIONS, multiple=True)
OPEN = Question(question="Why\n\u202eso?")


@pytest.mark.parametrize(
    ("question", "said", "answer"),
    [
        (ONE, " 2 ", Answer(chosen=["B"])),
        (ONE, "B", Answer(chosen=["B"])),
        (ONE, "A, first", Answer(chosen=["A, first"])),
        (ONE, "1,2", Answer(text="1,2")),
        (ONE, "3", Answer(text="3")),
        (SEVERAL, "1, B", Answer(chosen=["A, first", "B"])),
        (SEVERAL, "1, C", Answer(text="1, C")),
        (OPEN, "1", Answer(text="1")),
    ],
)
def test_what_a_line_means(question: Question, said: str, answer: Answer) -> None:
    assert read_answer(question, said) == answer


def test_each_question_needs_an_answer() -> None:
    assert read_answers([ONE, OPEN], ["1", "So."]) == [
        Answer(chosen=["A, first"]),
        Answer(text="So."),
    ]
    with pytest.raises(CommandEnd, match="there are 2"):
        read_answers([ONE, OPEN], ["1"])


def test_a_question_is_shown_with_its_options_and_nothing_hidden() -> None:
    assert list(question_lines(ONE)) == ["Which?", "1. A, first: Now.", "2. B"]
    assert list(question_lines(OPEN)) == ["Why", "\\u{202e}so?"]
    assert [prompt_of(each) for each in (OPEN, ONE, SEVERAL)] == [
        "Answer: ",
        "Answer (number or own words): ",
        "Answer (numbers or own words): ",
    ]


def test_questions_of_a_call_are_shown_unless_they_are_long() -> None:
    assert list(questions_in({"questions": [{"question": "Why?"}]})) == ["Why?"]
    assert list(questions_in(None)) == []
