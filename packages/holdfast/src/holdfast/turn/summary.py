"""What a model is asked for a summary: the prompt as it is, or, where that is too long, a
transcript of it in pieces. Pure.

A piece is bounded by construction: outputs of tools are cut to head and tail first, then what the
model said, then what people said, until all pieces together fit into the calls that are left. Each
piece carries the summary of the pieces before it, and the last answer is the summary of all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from holdfast.domain.compaction import TOKEN_BYTES
from holdfast.domain.messages import MessageBody, Role, Visibility
from holdfast.domain.part_notes import note_of
from holdfast.domain.parts import Context, Part, Text, ToolResult

INSTRUCTION: Final = """\
The conversation so far will be replaced by your next message. Write a handover for yourself, in \
these sections:

1. Request: what the user wants, with the newest request word for word.
2. Constraints: every constraint and preference that the user has stated, word for word, one on \
each line, marked as the user's. Keep them apart from rules found in files. Carry over each one \
from an earlier summary.
3. Facts: paths, commands that work, identifiers, decisions with their reasons, errors met.
4. Done: what is finished, and how it was checked.
5. In progress: what was begun, how far it got, and running processes.
6. Remaining: what has not been begun.
7. Next: the very next action.

Be dense. Name what can be read again instead of copying it. Call no tools. Write nothing but \
these sections."""
KEEP: Final = "\n\nThe user asks that this summary keeps the following:\n\n{keep}"
PIECE: Final = (
    "This is part {number} of {pieces} of the transcript of a conversation that is too long to be "
    "read at once. Long outputs are shortened.\n\n{before}<transcript>\n{text}\n</transcript>\n\n"
)
BEFORE: Final = "Your summary of the parts before this one:\n\n<summary>\n{summary}\n</summary>\n\n"
CARRY_OVER: Final = (
    "\n\nKeep everything of the summary of the parts before this one that still holds."
)
STUB: Final = "\n[… {bytes} bytes of this are left out here]\n"
LEFT_OUT: Final = "[{number} earlier messages are left out]"
USER_WORDS: Final = "The user's own messages before the summary, word for word, oldest first"
"""The subject of the `Context` that a boundary carries beside its summary."""
USER_WORDS_CHARS_MAX: Final = 20_000

PIECES_MAX: Final = 8
"""Calls of a model for one summary."""
PIECE_SHARE: Final = 0.6
"""Of the context window, for the transcript and the summary before it."""
SUMMARY_SHARE: Final = 0.25
"""Of a piece, for the summary of the pieces before it."""
PIECE_BYTES_MIN: Final = 2_000
WHOLE_SHARE: Final = 0.85
"""Of the context window: a longer prompt leaves too little room for its summary."""
_ALL: Final = 1 << 62
_CUTS: Final = (
    (4_000, _ALL, _ALL),
    (1_000, 8_000, _ALL),
    (400, 2_000, 16_000),
    (160, 600, 4_000),
    (80, 200, 1_000),
    (40, 80, 300),
)
"""Bytes of each part: of tools, of the model, of people. The first row that fits is taken."""


@dataclass(frozen=True, slots=True)
class _Line:
    role: Role
    text: str


def instruction(keep: str | None, *, carries_over: bool = False) -> str:
    told = INSTRUCTION + (CARRY_OVER if carries_over else "")
    return told + (KEEP.format(keep=keep) if keep else "")


def user_says(text: str) -> MessageBody:
    return MessageBody(role=Role.USER, parts=(Text(text),), visibility=Visibility.MODEL)


def fits_whole(used_tokens: int, limit_tokens: int) -> bool:
    return used_tokens <= WHOLE_SHARE * limit_tokens


def piece_bytes(limit_tokens: int) -> int:
    """Of one piece, for a model with this context window."""
    return max(int(limit_tokens * PIECE_SHARE) * TOKEN_BYTES, PIECE_BYTES_MIN)


def piece_of(text: str, number: int, pieces: int, summary: str, budget: int) -> str:
    """The transcript's part of what the model is asked with one piece."""
    known = stub(summary, int(budget * SUMMARY_SHARE))
    before = BEFORE.format(summary=known) if known else ""
    return PIECE.format(number=number, pieces=pieces, before=before, text=text)


def pieces_of(bodies: Sequence[MessageBody], budget: int, pieces_max: int) -> list[str]:
    """The transcript in at most `pieces_max` pieces, each of at most about `budget` bytes with the
    summary before it."""
    room = int(budget * (1 - SUMMARY_SHARE))
    lines = [line for body in bodies for line in _lines(body)]
    texts = [line.text for line in lines]
    for tools, model, people in _CUTS:
        pieces = _packed(texts, room)
        if len(pieces) <= pieces_max:
            return pieces
        of = {Role.TOOL: tools, Role.ASSISTANT: model}
        texts = [stub(line.text, of.get(line.role, people)) for line in lines]
    return _packed(_newest(texts, room * pieces_max), room)[-pieces_max:]


def stub(text: str, bytes_max: int) -> str:
    """Head and tail of a text that is longer than this."""
    data = text.encode(errors="replace")
    if len(data) <= bytes_max:
        return text
    half = bytes_max // 2
    head = data[:half].decode(errors="ignore")
    tail = data[len(data) - half :].decode(errors="ignore")
    return head + STUB.format(bytes=len(data) - 2 * half) + tail


def shortened(body: MessageBody, bytes_max: int) -> MessageBody:
    """The same message with its long texts and outputs cut to head and tail."""
    if body.role is Role.SYSTEM:
        return body
    return replace(body, parts=tuple(_shortened(part, bytes_max) for part in body.parts))


def _shortened(part: Part, bytes_max: int) -> Part:
    match part:
        case Text(text):
            return replace(part, text=stub(text, bytes_max), citations=())
        case ToolResult(output=output) if output is not None:
            return replace(part, output=stub(str(output), bytes_max), native=None)
        case _:
            return part


def user_words(bodies: Sequence[MessageBody], chars_max: int) -> Context | None:
    """What people said in this prompt, and what an earlier boundary carried of it: the newest of
    it, as far as it fits."""
    chars_max = min(chars_max, USER_WORDS_CHARS_MAX)
    said = [text for body in bodies for text in _words(body)]
    kept: list[str] = []
    for text in reversed(said):
        chars_max -= len(text) + 2
        if chars_max < 0:
            break
        kept.insert(0, text)
    return Context(USER_WORDS, "\n\n".join(kept)) if kept else None


def _words(body: MessageBody) -> Iterator[str]:
    match body.role:
        case Role.USER:
            yield "\n".join(part.text for part in body.parts if isinstance(part, Text))
        case Role.BOUNDARY:
            for part in body.parts:
                if isinstance(part, Context) and part.name == USER_WORDS:
                    yield from part.text.split("\n\n")
        case _:
            pass


def _lines(body: MessageBody) -> Iterator[_Line]:
    if body.role is Role.SYSTEM or body.visibility is Visibility.USER:
        return
    for part in body.parts:
        text = note_of(part)
        if text:
            heading = "summary" if body.role is Role.BOUNDARY else body.role.value
            yield _Line(body.role, f"[{heading}] {text}")


def _packed(texts: Sequence[str], room: int) -> list[str]:
    """Lines joined to pieces; a line that is longer than a piece goes on in the next one."""
    pieces: list[str] = []
    present: list[str] = []
    left = room
    for text in texts:
        for line in _parts_of(text, room):
            size = len(line.encode(errors="replace")) + 1
            if size > left and present:
                pieces.append("\n".join(present))
                present, left = [], room
            present.append(line)
            left -= size
    return [*pieces, "\n".join(present)] if present else pieces


def _parts_of(text: str, room: int) -> Iterator[str]:
    data = text.encode(errors="replace")
    for start in range(0, len(data), room - 1) or (0,):
        yield data[start : start + room - 1].decode(errors="ignore")


def _newest(texts: Sequence[str], bytes_max: int) -> list[str]:
    kept: list[str] = []
    for text in reversed(texts):
        bytes_max -= len(text.encode(errors="replace")) + 1
        if bytes_max < 0:
            break
        kept.insert(0, text)
    return [LEFT_OUT.format(number=len(texts) - len(kept)), *kept]
