"""What lists call a chat: the first words of its first message, until there is a better title."""

import unicodedata
from enum import StrEnum
from typing import Final

from holdfast.domain.messages import MessageBody
from holdfast.domain.parts import Text

WORDS_MAX: Final = 6
CHARS_MAX: Final = 80
LOOKED_AT: Final = 64 * 1024
"""Characters of a message that are looked at for its first words."""
_MARKUP: Final = "#>*-`"


class TitleSource(StrEnum):
    """Who wrote a title. What a user wrote is never replaced by the server."""

    USER = "user"
    MODEL = "model"
    FIRST_WORDS = "first_words"


def first_words(body: MessageBody) -> str | None:
    """A title from what a message begins with; None: it says nothing."""
    words: list[str] = []
    for part in body.parts:
        if isinstance(part, Text):
            words += one_line(part.text[:LOOKED_AT]).split()
        if len(words) > WORDS_MAX:
            break
    while words and not words[0].strip(_MARKUP):
        del words[0]  # the mark of a heading, of a list or of a quotation
    title = " ".join(words[:WORDS_MAX])
    if len(title) > CHARS_MAX:
        return f"{title[: CHARS_MAX - 1].rstrip()}…"
    if len(words) > WORDS_MAX and title:
        return f"{title[: CHARS_MAX - 1]}…"
    return title or None


def one_line(text: str) -> str:
    """Without line breaks and control characters."""
    spaced = "".join(" " if unicodedata.category(each) == "Cc" else each for each in text)
    return " ".join(spaced.split())
