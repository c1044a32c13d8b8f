r"""Where in a text the lines are that an edit means, and what they become. Pure.

An edit fits in one of these ways, tried in this order; the first that finds a place counts:

1. *Exactly*: `old` is in the text as it is. How lines end does not count (`\n` is `\r\n`, too).
2. *Apart from blanks*, whole lines only: as many lines in a row as `old` has, each equal to its
   line of `old` after blanks (spaces and tabs) at both ends are dropped and blanks in a row made
   one. All lines must be indented by the same difference: what `old` has in front of its first line
   that is not blank, the text has something else in front of, and the rest of every indentation is
   equal. `new` is then indented as the text is.
3. With *typographic characters* as their plain ones, *line numbers* removed, or a *literal* `\n` as
   a line feed (`repairs`); then 1 and 2 again. These need exactly one place, whatever is asked.

There is no search for similar text: an edit in the wrong place costs more than a refused one.
Unless every place is asked for there must be exactly one, overlapping places counted. Lines that
`old` and `new` have in common stay as the text has them; other lines of `new` get the line ending
of the line where the edit begins.
"""

import re
from bisect import bisect_left
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast_agent.files import diffs, repairs, similar
from holdfast_agent.wire import Change

PLACES_TOLD_MAX: Final = 10
_BLANKS: Final = re.compile(r"[ \t]+")
_CRLF: Final = re.compile(r"\r\n")


class DoesNotFit(Exception):
    """What is wrong with an edit, and what to do: `problem`, where the name of the file may follow,
    `rest` of that sentence, and more in `below`. `missing`: what it replaces is not in the file."""

    def __init__(
        self, problem: str, rest: str = ".", below: str = "", *, missing: bool = False
    ) -> None:
        super().__init__(" ".join([problem + rest, below]).strip())
        self.problem = problem
        self.rest = rest
        self.below = below
        self.missing = missing


class TooMuch(Exception):
    """What would come of a change is too large."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A text after an edit. `lines`: where in it the new text begins. `grown`: by how many lines
    the text grew at each of them. `repairs`: in what the text and `old` differed. `end`: where the
    last place ends, in the text with plain line feeds."""

    text: str
    lines: tuple[int, ...]
    grown: int
    repairs: tuple[str, ...] = ()
    end: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """From `begin` to `end` of the text with plain line feeds is what becomes `new`."""

    begin: int
    end: int
    new: str
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Try:
    """One way in which an edit may fit. `alone`: only in exactly one place."""

    places: Sequence[Place]
    repair: str = ""
    alone: bool = False


def changed(text: str, change: Change, chars_max: int, start: int = 0) -> Fit:
    """The text after the edit. `start`: an edit of a patch is looked for from there first."""
    view = _View.of(text)
    old, new = _plain(change.old), _plain(change.new)
    if old == new:
        old_name, new_name = names(change)
        raise DoesNotFit(f"{old_name} and {new_name} are the same", "; nothing to do.")
    found = _found(view.text, change, old, new, start)
    places = found.places
    if change.every and not found.alone:
        places = _without_overlaps(places)
    elif len(places) > 1:
        raise _several(view.text, change, places)
    if len(text) + sum(2 * len(place.new) for place in places) > chars_max:
        raise TooMuch
    return view.with_changes(places, change.old, found.repair)


def is_there(text: str, change: Change) -> bool:
    """Whether the text to replace is in a text in any of the ways."""
    view = _View.of(text)
    tries = _tries(view.text, change, _plain(change.old), _plain(change.new))
    return any(each.places for each in tries)


def _found(text: str, change: Change, old: str, new: str, start: int) -> Try:
    if change.whole_lines:
        bounds = _bounds(text, change, start)
        if not old:
            return Try([_inserted(text, change, bounds, new)])
        for each in _tries(text, change, old, new):
            if chosen := _chosen(text, each.places, change, bounds):
                return Try(chosen, each.repair, alone=True)
    else:
        for each in _tries(text, change, old, new):
            if each.places:
                return each
    raise _missing(text, change, old, new)


def _tries(text: str, change: Change, old: str, new: str) -> Generator[Try]:
    whole = change.whole_lines
    yield Try(_exact(text, old, new, whole=whole))
    yield Try(_apart_from_blanks(text, old, new))
    plain, plain_old = repairs.typographic(text), repairs.typographic(old)
    if (plain, plain_old) != (text, old):
        exact = [
            Place(at.begin, at.end, repairs.kept(old, new, text[at.begin : at.end]))
            for at in _exact(plain, plain_old, "", whole=whole)
        ]
        yield Try(exact, repairs.TYPOGRAPHY, alone=True)
        loose = _apart_from_blanks(plain, plain_old, new, there=text, asked=old)
        yield Try(loose, repairs.TYPOGRAPHY, alone=True)
    for name, rewrite in repairs.REWRITES:
        if rewritten := rewrite(old, new):
            yield Try(_exact(text, *rewritten, whole=whole), name, alone=True)
            yield Try(_apart_from_blanks(text, *rewritten), name, alone=True)


@dataclass(frozen=True, slots=True)
class _Bounds:
    start: int
    anchored: bool


def _bounds(text: str, change: Change, start: int) -> _Bounds:
    """Where the lines of a patch are looked for: from its anchors, else behind the hunk before."""
    if not change.anchors:
        return _Bounds(start, anchored=False)
    for number, anchor in enumerate(change.anchors):
        places = _anchors(text, anchor)
        later = [at for at in places if at >= start] or ([] if number else places)
        if not later:
            words = f'the line "{anchor.strip()}" after @@ was not found'
            below = similar.lines_like(text, anchor, "the line after @@")
            raise DoesNotFit(words, below=below, missing=True)
        if len(later) > 1 and number == 0 and len(change.anchors) == 1:
            lines = ", ".join(str(line_number(text, at)) for at in later[:PLACES_TOLD_MAX])
            words = f'the line "{anchor.strip()}" after @@ occurs {len(later)} times'
            advice = "add another @@ line above it, or context lines."
            if not change.old:
                raise DoesNotFit(words, f", at lines {lines}; {advice}")
            return _Bounds(start, anchored=False)  # the lines themselves must then be in one place
        start = later[0]
    return _Bounds(start, anchored=True)


def _anchors(text: str, anchor: str) -> list[int]:
    wanted = repairs.typographic(anchor).strip()
    places: list[int] = []
    at = 0
    for line in text.split("\n"):
        if repairs.typographic(line).strip() == wanted:
            places.append(at)
        at += len(line) + 1
    return places


def _inserted(text: str, change: Change, bounds: _Bounds, new: str) -> Place:
    """Lines without any to replace go below the anchor, else to the end of the text."""
    if not change.anchors:
        return Place(len(text), len(text), new if not text or text[-1] == "\n" else f"\n{new}")
    feed = text.find("\n", bounds.start)
    if feed < 0:
        return Place(len(text), len(text), "\n" + new.removesuffix("\n"))
    return Place(feed + 1, feed + 1, new)


def _chosen(text: str, places: Sequence[Place], change: Change, bounds: _Bounds) -> Sequence[Place]:
    if change.at_end:
        last = len(text.rstrip("\n"))
        places = [place for place in places if place.end >= last]
    later = [place for place in places if place.begin >= bounds.start]
    if bounds.anchored and later:
        return later[:1]
    return later or places


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

    def with_changes(self, places: Sequence[Place], old: str, repair: str) -> Fit:
        pieces: list[str] = []
        lines: list[int] = []
        done, shift, grown = 0, 0, 0
        endings = False
        for place in places:
            begin, end = self._back(place.begin), self._back(place.end)
            pieces.append(self.original[done:begin])
            pieces.append(place.new.replace("\n", self._ending(place.begin)))
            done = end
            lines.append(line_number(self.text, place.begin) + shift)
            grown = place.new.count("\n") - self.text.count("\n", place.begin, place.end)
            shift += grown
            here = self.original[begin:end]
            endings = endings or ("\n" in here and ("\r\n" in here) != ("\r\n" in old))
        text = "".join([*pieces, self.original[done:]])
        named = [repair] if repair else []
        named += [name for place in places for name in place.repairs]
        if endings:
            named.append(repairs.ENDINGS)
        end = places[-1].begin + len(places[-1].new) if places else 0
        return Fit(text, tuple(lines), grown, tuple(dict.fromkeys(named)), end)

    def _back(self, at: int) -> int:
        return at + bisect_left(self.crlfs, at)

    def _ending(self, at: int) -> str:
        """Of the line that `at` is in; of the line before, if it is the last and has none."""
        feed = self.text.find("\n", at)
        if feed < 0:
            feed = self.text.rfind("\n", 0, at)
        place = bisect_left(self.crlfs, feed)
        return "\r\n" if self.crlfs[place : place + 1] == [feed] and feed >= 0 else "\n"


def _exact(text: str, old: str, new: str, *, whole: bool = False) -> list[Place]:
    """`whole`: only where a line begins."""
    places: list[Place] = []
    at = text.find(old) if old else -1
    while at >= 0:
        if not whole or at == 0 or text[at - 1] == "\n":
            places.append(Place(at, at + len(old), new))
        at = text.find(old, at + 1)
    return places


def _without_overlaps(places: Sequence[Place]) -> list[Place]:
    kept: list[Place] = []
    for place in places:
        if not kept or place.begin >= kept[-1].end:
            kept.append(place)
    return kept


def _apart_from_blanks(
    text: str, old: str, new: str, *, there: str = "", asked: str = ""
) -> list[Place]:
    """`there` and `asked`: the text and `old` as they are, if `text` and `old` were made alike."""
    wanted = old.removesuffix("\n").split("\n")
    said = (asked or old).removesuffix("\n").split("\n")
    alike = [_alike(line) for line in wanted]
    if not any(alike):
        return []
    lines, real = text.split("\n"), (there or text).split("\n")
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
        moved = _indentations(wanted, lines[here])
        indented = None if moved is None else _indented(said, real[here], new, *moved)
        if indented is not None:
            place = _whole_lines(text, old, starts[at], starts[here.stop], indented)
            named = repairs.blanks(wanted, lines[here])
            places.append(Place(place.begin, place.end, place.new, named))
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


def _indentations(wanted: Sequence[str], lines: Sequence[str]) -> tuple[str, str] | None:
    """What is in front of the lines asked for and of those of the text; None if the rest of the
    indentations is not equal."""
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
    return asked, there


def _indented(
    wanted: Sequence[str], lines: Sequence[str], new: str, asked: str, there: str
) -> str | None:
    """`new` with the indentation of the text, and the text's own lines where it changes nothing;
    None if a line of `new` is indented less than what was asked for."""
    if not new:
        return new
    news, end = new.removesuffix("\n").split("\n"), "\n" if new.endswith("\n") else ""
    told: list[str] = []
    at = 0
    for swap in diffs.swaps(wanted, news):
        told += lines[at : swap.old_from]
        for line in news[swap.new_from : swap.new_to]:
            if not line.strip(" \t") or asked == there:
                told.append(line)
            elif line.startswith(asked):
                told.append(there + line[len(asked) :])
            else:
                return None
        at = swap.old_to
    return "\n".join([*told, *lines[at:]]) + end


def line_number(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def names(change: Change) -> tuple[str, str]:
    """What the caller knows the two texts as."""
    if change.whole_lines:
        return "the text to replace", "the new text"
    return "old_string", "new_string"


def _missing(text: str, change: Change, old: str, new: str) -> DoesNotFit:
    old_name, new_name = names(change)
    problem = f"{old_name} was not found"
    if line := similar.is_already_at(text, old, new):
        below = f"{new_name} is already at line {line}; nothing to do."
        return DoesNotFit(problem, below=below, missing=True)
    return DoesNotFit(problem, below=similar.lines_like(text, old, old_name), missing=True)


def _several(text: str, change: Change, places: Sequence[Place]) -> DoesNotFit:
    told = [str(line_number(text, place.begin)) for place in places[:PLACES_TOLD_MAX]]
    rest = len(places) - len(told)
    more = f" and {rest} more" if rest else ""
    advice = "add surrounding lines" + ("." if change.whole_lines else " or set replace_all.")
    lines = f", at lines {', '.join(told)}{more}; {advice}"
    return DoesNotFit(f"{names(change)[0]} occurs {len(places)} times", lines)
