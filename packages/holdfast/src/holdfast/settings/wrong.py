"""What is wrong with settings, in sentences that name the field and never quote what was given."""

from collections.abc import Iterator
from typing import Final

from pydantic import ValidationError

ENV_PREFIX: Final = "HOLDFAST_"


class WrongSettings(Exception):
    """What an operator must change, a line for each."""

    def __init__(self, *sentences: str) -> None:
        super().__init__("\n".join(sentences))
        self.sentences = sentences


def env_name(field: str) -> str:
    return f"{ENV_PREFIX}{field}".upper()


def sentences_of(error: ValidationError, prefix: str = ENV_PREFIX) -> Iterator[str]:
    """A line for each thing that is wrong, without what was given: it may be a secret."""
    for each in error.errors(include_url=False, include_input=False, include_context=False):
        first, *rest = (str(step) for step in each["loc"] or ("",))
        where = f"{prefix}{first}".upper() if prefix else _entry(first)
        path = "".join(f"[{step}]" if step.isdigit() else f".{step}" for step in rest)
        said = each["msg"].removeprefix("Value error, ")
        said = said if said[:2].isupper() else said[:1].lower() + said[1:]  # URL stays URL
        yield f"{where}{path}: {said}."


def _entry(first: str) -> str:
    """Of a list in a file, or of an object with lists."""
    return f"entry {first}" if first.isdigit() else first
