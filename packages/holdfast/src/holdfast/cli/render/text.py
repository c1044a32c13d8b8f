"""Small text: what may reach a terminal, what fits on a line, and the marks in front of lines."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

import orjson
from rich.cells import cell_len, set_cell_size

# All but tab and newline. A model must not move the cursor, rename the window or set the clipboard.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
JSON_BYTES_MAX: Final = 4096
GAP: Final = "  "
LAST_COLUMN_MIN: Final = 12


@dataclass(frozen=True, slots=True)
class Marks:
    call: str = "·"
    done: str = "✓"
    failed: str = "✗"
    gives: str = "→"
    said: str = "›"
    more: str = "…"
    rule: str = "—"


ASCII: Final = Marks(
    call="*", done="ok", failed="FAILED", gives="->", said=">", more="...", rule="--"
)
UNICODE: Final = Marks()


def safe(text: str) -> str:
    """Text without control characters: a carriage return or an escape becomes nothing."""
    return _CONTROL.sub("", text)


def clip(text: str, width: int, more: str = "…") -> str:
    """The text on one line of at most this many columns."""
    line = " ".join(safe(text).split())
    return line if cell_len(line) <= width else first_line(line, width, more)


def first_line(text: str, width: int, more: str = "…") -> str:
    """Like `clip`, but what it gives for the beginning of a text begins what it gives for more."""
    line, room = " ".join(safe(text).split()), max(1, width - cell_len(more))
    return line if cell_len(line) <= room else set_cell_size(line, room).rstrip() + more


def aligned(
    head: Sequence[str], rows: Sequence[Sequence[str]], width: int, more: str = "…"
) -> list[str]:
    """A table: every column as wide as it needs to be, and the last as wide as there is room."""
    table = [[" ".join(safe(cell).split()) for cell in row] for row in (head, *rows)]
    widths = [max(map(cell_len, column)) for column in list(zip(*table, strict=True))[:-1]]
    room = max(LAST_COLUMN_MIN, width - 1 - sum(widths) - len(GAP) * len(widths))
    return [
        GAP.join(
            [
                *(set_cell_size(cell, wide) for cell, wide in zip(row, widths, strict=False)),
                clip(row[-1], room, more),
            ]
        ).rstrip()
        for row in table
    ]


def compact(value: object) -> str:
    """A value on one line: text as it is, images by their type, the rest as JSON."""
    if isinstance(value, str):
        return value
    if blocks := _blocks(value):
        return " ".join(blocks)
    return orjson.dumps(value).decode()[:JSON_BYTES_MAX]


def _blocks(value: object) -> list[str]:
    """The typed blocks of `{"content": [{"type": "text", …}]}`; none of another value."""
    content = cast("dict[str, object]", value).get("content") if isinstance(value, dict) else None
    if not isinstance(content, list):
        return []
    told: list[str] = []
    for block in cast("list[object]", content):
        match block:
            case {"type": "text", "text": str(text)}:
                told.append(text)
            case {"type": "image"}:
                told.append("[image]")
            case _:
                return []
    return told


def seconds(number: float) -> str:
    return f"{number:.0f} s" if number >= 10 else f"{number:.1f} s"
