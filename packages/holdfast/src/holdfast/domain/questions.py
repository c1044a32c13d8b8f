"""Questions that the model puts to the user with `ask_user`, and what the user says to them.

Both are JSON in the history: the arguments of the call, and the output of its result. What cannot
be read is refused on either side, so that no chat waits for an answer to what no client can show.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.domain.errors import AnswerNotValid
from holdfast.domain.parts import JsonObject, JsonValue

ASK_USER: Final = "ask_user"
QUESTIONS_MAX: Final = 4
OPTIONS_MIN: Final = 2
OPTIONS_MAX: Final = 4
QUESTION_CHARS_MAX: Final = 1000
LABEL_CHARS_MAX: Final = 100
DETAIL_CHARS_MAX: Final = 500
ANSWER_CHARS_MAX: Final = 4000


class QuestionsNotReadable(ValueError):
    """What is wrong with the arguments of `ask_user`: the words are for the model."""


@dataclass(frozen=True, slots=True)
class Option:
    label: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    options: tuple[Option, ...] = ()
    multiple: bool = False
    """Whether more than one option may be chosen."""


def questions_of(arguments: JsonObject) -> tuple[Question, ...]:
    """Raises `QuestionsNotReadable`."""
    given = _list(arguments.get("questions"), "questions", 1, QUESTIONS_MAX)
    return tuple(_question(each, f"questions[{n}]") for n, each in enumerate(given))


def result_of(questions: Sequence[Question], output: JsonValue) -> JsonObject:
    """What the model reads: each question with what was chosen and said. Raises `AnswerNotValid`.

    `output` is `{"answers": [{"chosen": [label], "text": own words}]}`, with one answer for each
    question, in their order. A text alone is the answer to the only question.
    """
    if isinstance(output, str):
        output = {"answers": [{"text": output}]}
    answers = output.get("answers") if isinstance(output, Mapping) else None
    if not isinstance(answers, list | tuple) or len(answers) != len(questions):
        raise AnswerNotValid(f"give one answer to each question: there are {len(questions)}")
    said = [_answer(q, a, n + 1) for n, (q, a) in enumerate(zip(questions, answers, strict=True))]
    return {"answers": said}


def _question(value: JsonValue, place: str) -> Question:
    if not isinstance(value, Mapping):
        raise QuestionsNotReadable(f"{place} is not an object.")
    options = tuple(
        _option(each, f"{place}.options[{n}]")
        for n, each in enumerate(_options(value.get("options"), f"{place}.options"))
    )
    if len({option.label for option in options}) < len(options):
        raise QuestionsNotReadable(f"{place}.options has one label twice.")
    multiple = value.get("multiple") or False
    if not isinstance(multiple, bool):
        raise QuestionsNotReadable(f"{place}.multiple is not true or false.")
    text = _text(value.get("question"), f"{place}.question", QUESTION_CHARS_MAX)
    return Question(text, options, multiple)


def _options(value: JsonValue, place: str) -> Sequence[JsonValue]:
    """None or an empty list: the user answers in own words only."""
    return _list(value, place, OPTIONS_MIN, OPTIONS_MAX) if value else ()


def _option(value: JsonValue, place: str) -> Option:
    if not isinstance(value, Mapping):
        raise QuestionsNotReadable(f"{place} is not an object.")
    detail = value.get("detail") or ""
    if not isinstance(detail, str) or len(detail) > DETAIL_CHARS_MAX:
        raise QuestionsNotReadable(f"{place}.detail is no text of {DETAIL_CHARS_MAX} characters.")
    return Option(_text(value.get("label"), f"{place}.label", LABEL_CHARS_MAX), detail.strip())


def _list(value: JsonValue, place: str, least: int, most: int) -> Sequence[JsonValue]:
    if not isinstance(value, list | tuple) or not least <= len(value) <= most:
        raise QuestionsNotReadable(f"{place} is no list of {least} to {most}.")
    return value


def _text(value: JsonValue, place: str, chars_max: int) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not 0 < len(text) <= chars_max:
        raise QuestionsNotReadable(f"{place} is no text of 1 to {chars_max} characters.")
    return text


def _answer(question: Question, value: JsonValue, number: int) -> JsonObject:
    given: JsonObject = value if isinstance(value, Mapping) else {}
    text, chosen = given.get("text") or "", given.get("chosen") or ()
    if not isinstance(text, str) or not isinstance(chosen, list | tuple):
        raise AnswerNotValid(f"answer {number} needs a list `chosen` or a text `text`")
    if len(text.strip()) > ANSWER_CHARS_MAX:
        raise AnswerNotValid(f"answer {number} is longer than {ANSWER_CHARS_MAX} characters")
    labels = [option.label for option in question.options]
    if not all(label in labels for label in chosen):
        raise AnswerNotValid(f"answer {number} chooses what is no option of its question")
    if len(chosen) > 1 and not question.multiple:
        raise AnswerNotValid(f"answer {number} may choose one option only")
    if not chosen and not text.strip():
        raise AnswerNotValid(f"answer {number} is empty")
    said: dict[str, JsonValue] = {"question": question.text}
    if chosen:
        said["chosen"] = [label for label in labels if label in chosen]
    if text.strip():
        said["text"] = text.strip()
    return said
