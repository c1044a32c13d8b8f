"""Compaction: ask the model where things stand, and mark the place in history."""

from collections.abc import Sequence
from typing import Final

from holdfast.domain.messages import MessageBody, Role, Visibility
from holdfast.domain.parts import Part, Text

INSTRUCTION: Final = """\
This chat is about to be continued without what was said so far: only your next message will be \
left of it. Write down everything that is needed to continue, in these sections:

1. Asked: what the user wants, with the last request word for word.
2. Done: what has been finished, with names, paths, numbers and decisions.
3. In progress: what was begun and how far it got.
4. Remaining: what has not been begun.
5. Next: the very next action.

Call no tools. Write nothing but these sections."""

ASK: Final = MessageBody(role=Role.USER, parts=(Text(INSTRUCTION),), visibility=Visibility.MODEL)


def boundary_text(parts: Sequence[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text)).strip()
