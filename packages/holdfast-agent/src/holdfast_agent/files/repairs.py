r"""Known ways in which models write a text that is not the one in the file. Pure.

Each is a fixed rewriting, never a measure of likeness: quotes, dashes and spaces that a keyboard
has in place of typographic ones; the line numbers that a tool put in front of every line; and a
line feed or tab that was escaped twice.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from holdfast_agent.files import diffs

ENDINGS: Final = "line endings"
INDENTATION: Final = "indentation"
BLANKS: Final = "spaces"
TYPOGRAPHY: Final = "typographic characters"
NUMBERS: Final = "line numbers in old_string"
ESCAPES: Final = r"literal \n or \t in old_string"

_TYPOGRAPHIC: Final = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u2032\uff07", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\uff02", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f", " "),
    **dict.fromkeys("\u205f\u3000", " "),
}
_PLAIN: Final = str.maketrans(_TYPOGRAPHIC)
"""One character for one: a place in the plain text is a place in the text."""
_NUMBER: Final = re.compile(r" *(\d+)[\t\u2192]")
_ESCAPE: Final = re.compile(r"\\([\\nt\"'])")
_ESCAPED: Final = {"n": "\n", "t": "\t"}


def typographic(text: str) -> str:
    return text.translate(_PLAIN)


def kept(old: str, new: str, there: str) -> str:
    """`new`, but what it has in common with `old` stays as it is `there`; `there` and `old` are of
    the same length and differ in typographic characters alone."""
    olds, news, lines = diffs.lines_of(old), diffs.lines_of(new), diffs.lines_of(there)
    pieces: list[str] = []
    at = 0
    for swap in diffs.swaps(olds, news):
        pieces += lines[at : swap.old_from]
        was, is_now, real = (
            "".join(each)
            for each in (
                olds[swap.old_from : swap.old_to],
                news[swap.new_from : swap.new_to],
                lines[swap.old_from : swap.old_to],
            )
        )
        pieces.append(_inner(was, is_now, real))
        at = swap.old_to
    return "".join([*pieces, *lines[at:]])


def _inner(old: str, new: str, there: str) -> str:
    same = min(len(old), len(new))
    front = next((at for at in range(same) if old[at] != new[at]), same)
    rest = same - front
    back = next((at for at in range(rest) if old[-1 - at] != new[-1 - at]), rest)
    return there[:front] + new[front : len(new) - back] + there[len(there) - back :]


def unnumbered(old: str, new: str) -> tuple[str, str] | None:
    """Without the line numbers, if all lines of `old` have them, in a row, and all or none of the
    lines of `new`."""
    lines = _numbers(old)
    if lines is None:
        return None
    numbers = [number for number, _ in lines]
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return None
    end = "\n" if old.endswith("\n") else ""
    plain_old = "\n".join(line for _, line in lines) + end
    if not plain_old.strip():
        return None
    if not any(_NUMBER.match(line) for line in new.split("\n")):
        return plain_old, new
    news = _numbers(new)
    if news is None:
        return None
    return plain_old, "\n".join(line for _, line in news) + ("\n" if new.endswith("\n") else "")


def _numbers(text: str) -> list[tuple[int, str]] | None:
    found: list[tuple[int, str]] = []
    for line in text.removesuffix("\n").split("\n"):
        match = _NUMBER.match(line)
        if match is None:
            return None
        found.append((int(match[1]), line[match.end() :]))
    return found


def unescaped(old: str, new: str) -> tuple[str, str] | None:
    """With line feeds and tabs where they are escaped, if `old` has none that are not: then the
    whole argument was escaped twice. `new` must have been escaped the same way."""
    if "\n" in old or not re.search(r"\\[nt]", old):
        return None
    if "\n" in new and _ESCAPE.search(new):
        return None
    plain_old, plain_new = _plain_escapes(old), _plain_escapes(new)
    return None if plain_old == plain_new else (plain_old, plain_new)


def _plain_escapes(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), text)


def blanks(asked: Sequence[str], there: Sequence[str]) -> tuple[str, ...]:
    """In which blanks the lines differ."""
    pairs = [(a, t) for a, t in zip(asked, there, strict=True) if a != t]
    named: list[str] = []
    if any(a.strip(" \t") and _front(a) != _front(t) for a, t in pairs):
        named.append(INDENTATION)
    if any(a.lstrip(" \t") != t.lstrip(" \t") or not a.strip(" \t") for a, t in pairs):
        named.append(BLANKS)
    return tuple(named)


def _front(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


REWRITES: Final[tuple[tuple[str, Callable[[str, str], tuple[str, str] | None]], ...]] = (
    (NUMBERS, unnumbered),
    (ESCAPES, unescaped),
)
