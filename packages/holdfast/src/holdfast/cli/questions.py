"""Questions of `ask_user` on the command line: how they look, and what a line of a person means."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from holdfast.cli.exit_codes import CommandEnd, Exit

if TYPE_CHECKING:
    from holdfast_client.models import Answer, Question

ASK_USER: Final = "ask_user"


def question_lines(question: "Question") -> Iterator[str]:
    """The question and its numbered options, with nothing hidden in them."""
    from holdfast_client.visible import visible

    yield from (visible(line) for line in question.question.split("\n"))
    for number, option in enumerate(question.options, start=1):
        detail = f": {visible(option.detail)}" if option.detail else ""
        yield f"{number}. {visible(option.label)}{detail}"


def questions_in(arguments: "Mapping[str, Any] | None") -> Iterator[str]:
    """Lines of all questions of a call; none if its arguments are long: `respond` reads them."""
    from holdfast_client.models import Question

    for each in () if arguments is None else arguments["questions"]:
        yield from question_lines(Question.model_validate(each))


def prompt_of(question: "Question") -> str:
    if not question.options:
        return "Answer: "
    numbers = "numbers" if question.multiple else "number"
    return f"Answer ({numbers} or own words): "


def read_answer(question: "Question", said: str) -> "Answer":
    """Numbers or labels of options, with commas between them; anything else is own words."""
    from holdfast_client.models import Answer

    labels = [option.label for option in question.options]
    known = {str(number): label for number, label in enumerate(labels, start=1)}
    known |= {label: label for label in labels}
    whole = known.get(said.strip())
    if whole is not None:
        return Answer(chosen=[whole])
    named = [known.get(each.strip()) for each in said.split(",")]
    chosen = [label for label in named if label is not None]
    if question.multiple and len(chosen) == len(named):
        return Answer(chosen=chosen)
    return Answer(text=said)


def read_answers(questions: "Sequence[Question]", said: Sequence[str]) -> "list[Answer]":
    if len(said) != len(questions):
        words = f"Give --answer once for each question: there are {len(questions)}."
        raise CommandEnd(words, Exit.USAGE)
    return [read_answer(*each) for each in zip(questions, said, strict=True)]
