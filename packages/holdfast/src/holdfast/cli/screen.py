"""Where output goes: answers to stdout (or a file), everything else to stderr.

Decides once what the terminal can do: colours, width, marks, and whether to write live.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO, TypeAlias

import orjson
from rich.console import Console
from rich.text import Text

from holdfast.cli.exit_codes import CommandEnd
from holdfast.cli.render.text import ASCII, UNICODE, Marks, aligned, safe

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import RenderableType

    from holdfast.cli.render.live import Ink, Style

Color: TypeAlias = Literal["auto", "always", "never"]


class Screen:
    def __init__(self, color: Color = "auto", to: Path | None = None) -> None:
        self._file = None if to is None else _opened(to)
        self.out = _console(color, self._file or sys.stdout)
        self.err = _console(color, sys.stderr)

    @property
    def live(self) -> bool:
        """Whether stdout is a terminal."""
        return self.out.file.isatty()

    @property
    def width(self) -> int:
        return (self.out if self.live else self.err).width

    @property
    def marks(self) -> Marks:
        plain = self.err.is_dumb_terminal or not self.err.encoding.startswith("utf")
        return ASCII if plain else UNICODE

    def ink(self, inks: "Iterable[Ink]") -> None:
        for each in inks:
            console = self.out if each.to == "answer" else self.err
            _write(console, each.text, each.style)

    def answer(self, text: str) -> None:
        """A line on stdout, as it is; on a terminal without control characters."""
        _write(self.out, (safe(text) if self.live else text) + "\n")

    def note(self, text: str, style: "Style" = "dim") -> None:
        _write(self.err, safe(text) + "\n", style)

    def styled(self, text: str, style: "Style") -> None:
        """On stdout, for what is itself the answer."""
        _write(self.out, safe(text) if self.live else text, style if self.live else "")

    def show(self, what: "RenderableType") -> None:
        self.out.print(what)
        self.out.file.flush()

    def json(self, value: object) -> None:
        """One JSON document."""
        pretty = orjson.OPT_INDENT_2 if self.live else 0
        _write(self.out, orjson.dumps(value, option=pretty).decode() + "\n")

    def model(self, answer: "BaseModel") -> None:
        """One answer of the API as a JSON document: with the fields that the API gave."""
        self.json(answer.model_dump(mode="json", by_alias=True, exclude_unset=True))

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Aligned and clipped for people; for pipes whole, by tabs and without a head."""
        if not self.live:
            for row in rows:
                self.answer("\t".join(" ".join(cell.split()) for cell in row))
            return
        first, *rest = aligned(head, rows, self.width, self.marks.more)
        self.styled(first + "\n", "dim")
        for line in rest:
            self.answer(line)

    def close(self) -> None:
        self.out.file.flush()
        if self._file is not None:
            self._file.close()


def _opened(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise CommandEnd(f"{path} cannot be written: {error.strerror}.") from None


def _console(color: Color, file: TextIO) -> Console:
    plain = partial(Console, file=file, highlight=False, markup=False, emoji=False)
    size = _dumb_size(file)
    if size is not None:
        # Rich takes every dumb terminal for 80 columns wide, unless it is told both.
        plain = partial(plain, width=size.columns, height=size.lines)
    if color == "always":
        return plain(color_system="standard", force_terminal=True, no_color=False)
    console = plain()
    if color == "never" or console.no_color:
        # Rich's own no_color keeps bold and dim; NO_COLOR means no escapes at all.
        return plain(color_system=None)
    return console


def _dumb_size(file: TextIO) -> os.terminal_size | None:
    if not Console(file=file).is_dumb_terminal:
        return None
    try:
        return os.get_terminal_size(file.fileno())
    except OSError:
        return None


def _write(console: Console, text: str, style: "Style" = "") -> None:
    """Exactly this text: Rich would wrap prose and expand tabs."""
    if style and console.color_system is not None:
        body = text.rstrip("\n")
        console.print(Text(body, style=style), end=text[len(body) :], soft_wrap=True)
    else:
        console.file.write(text)
    console.file.flush()
