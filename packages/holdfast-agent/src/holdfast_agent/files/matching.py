r"""Where in a text the lines are that a change means, and what they become. Pure.

A change fits in one of two ways, tried in this order:

1. *Exactly*: `old` stands in the text as it is. How lines end does not count (`\n` is `\r\n`, too).
2. *Apart from blanks*, only if it stands nowhere exactly, and only whole lines: as many lines in a
   row as `old` has, each equal to its line of `old` after blanks (spaces and tabs) at both ends are
   dropped and blanks in a row made one. All lines must be indented by the same difference: what
   `old` has in front of its first line that is not blank, the text has something else in front of,
   and the rest of every indentation is equal. `new` is then indented as the text is.

Unless every place is asked for there must be exactly one, overlapping places counted; between two
nothing is guessed. Line endings stay as they are: lines of `new` get the ending of the line where
the change begins.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from holdfast_agent.wire import Change

PLACES_TOLD_MAX: Final = 5
_BLANKS: Final = re.compile(r"[ \t]+")
_CRLF: Final = re.compile(r"\r\n")


class DoesNotFit(Exception):
    """The words say what is wrong with a change, and what to do."""


class TooMuch(Exception):
    """What would come of a change is too large."""


@dataclass(frozen=True, slots=True)
class Place:
    """From `begin` to `end` of the text with plain line feeds stands what becomes `new`."""

    begin: int
    end: int
    new: str


def changed(text: str, change: Change, chars_max: int) -> tuple[str, int]:
    """The text after the change, and how many places were changed."""
    view = _View.of(text)
    old, new = _plain(change.old), _plain(change.new)
    if old == new:
        raise DoesNotFit("`old` and `new` are the same, so there is nothing to change.")
    places = _exact(view.text, old, new) or _apart_from_blanks(view.text, old, new)
    if not places:
        raise DoesNotFit(_not_there(view.text, old))
    if change.every:
        places = _without_overlaps(places)
    elif len(places) > 1:
        raise DoesNotFit(_several(view.text, places))
    if len(text) + sum(2 * len(place.new) for place in places) > chars_max:
        raise TooMuch
    return view.with_changes(places), len(places)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


@dataclass(frozen=True, slots=True)
class _View:
    """A text with plain line feeds, and the way back to how its lines really end."""

    original: str
    text: str
    crlfs: Sequence[int]
    """Where in `text` the line feeds are that have a carriage return before them."""

    @classmethod
    def of(cls, original: str) -> "_View":
        found = [match.start() for match in _CRLF.finditer(original)]
        return cls(original, _plain(original), [at - count for count, at in enumerate(found)])

    def with_changes(self, places: Sequence[Place]) -> str:
        pieces: list[str] = []
        done = 0
        for place in places:
            pieces.append(self.original[done : self._back(place.begin)])
            pieces.append(place.new.replace("\n", self._ending(place.begin)))
            done = self._back(place.end)
        return "".join([*pieces, self.original[done:]])

    def _back(self, at: int) -> int:
        return at + bisect_left(self.crlfs, at)

    def _ending(self, at: int) -> str:
        """Of the line that `at` is in; of the line before, if it is the last and has none."""
        feed = self.text.find("\n", at)
        if feed < 0:
            feed = self.text.rfind("\n", 0, at)
        place = bisect_left(self.crlfs, feed)
        return "\r\n" if self.crlfs[place : place + 1] == [feed] and feed >= 0 else "\n"


def _exact(text: str, old: str, new: str) -> list[Place]:
    places: list[Place] = []
    at = text.find(old)
    while at >= 0:
        places.append(Place(at, at + len(old), new))
        at = text.find(old, at + 1)
    return places


def _without_overlaps(places: Sequence[Place]) -> list[Place]:
    kept: list[Place] = []
    for place in places:
        if not kept or place.begin >= kept[-1].end:
            kept.append(place)
    return kept


def _apart_from_blanks(text: str, old: str, new: str) -> list[Place]:
    wanted = old.removesuffix("\n").split("\n")
    alike = [_alike(line) for line in wanted]
    if not any(alike):
        return []
    lines = text.split("\n")
    found = [_alike(line) for line in lines]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    anchor = next(number for number, line in enumerate(alike) if line)
    places: list[Place] = []
    for at in range(len(lines) - len(wanted) + 1):
        here = slice(at, at + len(wanted))
        if found[at + anchor] != alike[anchor] or found[here] != alike:
            continue
        indented = _indented(wanted, lines[here], new)
        if indented is not None:
            places.append(_whole_lines(text, old, starts[at], starts[here.stop], indented))
    return places


def _whole_lines(text: str, old: str, begin: int, after: int, new: str) -> Place:
    """Up to the end of the last line, or beyond it if `old` goes on there."""
    if not old.endswith("\n"):
        return Place(begin, after - 1, new)
    if after > len(text):  # the text's last line, which has no end: nor shall the new one
        return Place(begin, len(text), new.removesuffix("\n"))
    return Place(begin, after, new)


def _alike(line: str) -> str:
    return _BLANKS.sub(" ", line).strip(" ")


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indented(wanted: Sequence[str], lines: Sequence[str], new: str) -> str | None:
    """`new` with the indentation of the text; None if the two are not indented alike."""
    pairs = [
        (_indentation(asked), _indentation(there))
        for asked, there in zip(wanted, lines, strict=True)
        if asked.strip(" \t")
    ]
    asked, there = pairs[0]
    for of_asked, of_there in pairs:
        if not of_asked.startswith(asked) or not of_there.startswith(there):
            return None
        if of_asked[len(asked) :] != of_there[len(there) :]:
            return None
    if asked == there:
        return new
    moved: list[str] = []
    for line in new.split("\n"):
        if line.strip(" \t") and not line.startswith(asked):
            return None
        moved.append(there + line[len(asked) :] if line.strip(" \t") else line)
    return "\n".join(moved)


def _line_number(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _several(text: str, places: Sequence[Place]) -> str:
    told = [str(_line_number(text, place.begin)) for place in places[:PLACES_TOLD_MAX]]
    rest = len(places) - len(told)
    more = f" and {rest} more" if rest else ""
    return (
        f"`old` fits in {len(places)} places (lines {', '.join(told)}{more}). Give more of the"
        " lines around the one that is meant, or ask for every place."
    )


def _not_there(text: str, old: str) -> str:
    first = next((_alike(line) for line in old.split("\n") if _alike(line)), "")
    for number, line in enumerate(text.split("\n"), start=1):
        if first and _alike(line) == first:
            return (
                f"`old` is not in the file. Its first line is like line {number}, but the lines"
                " there, or how they are indented, are different. Read them again."
            )
    return "`old` is not in the file, nor anything like it. Read the file again."
