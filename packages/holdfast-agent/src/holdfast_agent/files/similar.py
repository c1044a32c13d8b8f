"""What a refused edit says: the nearest lines of the file, and where they differ. Pure."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

LINES_MAX: Final = 12
"""Shown of the nearest text."""
LINE_CHARS_MAX: Final = 300
COMPARED_LINES_MAX: Final = 100_000
COMPARED_CHARS_MAX: Final = 2_000
EXCERPT_CHARS: Final = 30
CANDIDATES: Final = 4
LIKENESS_MIN: Final = 0.5
SURE_CHARS_MIN: Final = 8
"""A shorter `new` that is in the file already says nothing about the edit."""
_PIECES: Final = re.compile(r"\w+|[^\w\s]")


def is_already_at(text: str, old: str, new: str) -> int | None:
    """The line of the only place in the file where `new` is, if that says something."""
    plain = new.strip()
    if len(plain) < SURE_CHARS_MIN or plain in old or text.count(new) != 1:
        return None
    return text.count("\n", 0, text.find(plain, text.find(new))) + 1


def lines_like(text: str, old: str, name: str) -> str:
    """The nearest lines of the file, and the first difference. `name`: what the caller knows `old`
    as."""
    lines, wanted = text.split("\n"), old.removesuffix("\n").split("\n")
    at, likeness = _nearest(lines[:COMPARED_LINES_MAX], wanted)
    if likeness < LIKENESS_MIN:
        return "No text in the file is similar. Read the file again."
    there = lines[at : at + len(wanted)]
    shown = [f"{at + n:>6}\t{_cut(line)}" for n, line in enumerate(there[:LINES_MAX], start=1)]
    if len(there) > LINES_MAX:
        shown.append(f"... {len(there) - LINES_MAX} more lines")
    span = f"line {at + 1}" if len(there) == 1 else f"lines {at + 1}-{at + len(there)}"
    percent = min(99, int(likeness * 100))
    head = f"Nearest text is {span} ({percent} % alike):"
    difference = _difference(there, wanted, at, name)
    return "\n".join([head, *shown, *difference])


def _nearest(lines: Sequence[str], wanted: Sequence[str]) -> tuple[int, float]:
    """Where as many lines as wanted are most like them. Words choose a few places, characters the
    nearest of these."""
    marks = sorted(range(len(wanted)), key=lambda n: len(wanted[n].strip()), reverse=True)[:5]
    pieces = [(n, frozenset(_PIECES.findall(wanted[n]))) for n in marks]
    pieces = [(n, words) for n, words in pieces if words]
    found = [frozenset(_PIECES.findall(line[:LINE_CHARS_MAX])) for line in lines]
    scores: list[tuple[float, int]] = []
    for at in range(max(1, len(lines) - len(wanted) + 1)):
        score = 0.0
        for number, words in pieces:
            there = found[at + number] if at + number < len(found) else frozenset[str]()
            if common := len(words & there):
                score += common / len(words | there)
        if score:
            scores.append((-score, at))
    best = (0, 0.0)
    text = "\n".join(wanted)[:COMPARED_CHARS_MAX]
    for _, at in sorted(scores)[:CANDIDATES]:
        there = "\n".join(lines[at : at + len(wanted)])[:COMPARED_CHARS_MAX]
        likeness = SequenceMatcher(None, there, text, autojunk=False).ratio()
        if likeness > best[1]:
            best = (at, likeness)
    return best


def _difference(there: Sequence[str], wanted: Sequence[str], at: int, name: str) -> list[str]:
    """The first line that differs in more than blanks, which are tolerated; else the first that
    differs in blanks."""
    for number, (has, asked) in enumerate(zip(there, wanted, strict=False)):
        if has.split() != asked.split():
            file_has, other_has = _excerpts(has.strip(), asked.strip())
            where = f"Difference in line {at + number + 1}"
            return [f"{where}: file has {file_has}, {name} has {other_has}."]
    if len(there) < len(wanted):
        return [f"Difference: the file ends after line {at + len(there)}."]
    for number, (has, asked) in enumerate(zip(there, wanted, strict=True)):
        if has != asked:
            where = f"Difference in line {at + number + 1}"
            if _front(has) != _front(asked):
                file_has, other_has = _indentation(has), _indentation(asked)
                return [f"{where}: file is indented with {file_has}, {name} with {other_has}."]
            file_has, other_has = _excerpts(has, asked)
            return [f"{where}: file has {file_has}, {name} has {other_has}."]
    return [f"Difference: only the line feed at the end, or another place than {name} may be."]


def _front(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indentation(line: str) -> str:
    front = _front(line)
    counts = [(front.count("\t"), "tab"), (front.count(" "), "space")]
    told = [f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts if count]
    return " and ".join(told) or "nothing"


def _excerpts(there: str, asked: str) -> tuple[str, str]:
    """The words around the first difference, with code points where the eye may not see it."""
    same = min(len(there), len(asked))
    front = next((n for n in range(same) if there[n] != asked[n]), same)
    begin = max(there.rfind(" ", 0, front) + 1, front - EXCERPT_CHARS)
    return _excerpt(there, begin, front), _excerpt(asked, begin, front)


def _excerpt(line: str, begin: int, at: int) -> str:
    if at >= len(line):
        return f'"{line[begin:]}" and then the end of the line' if line else "an empty line"
    stop = line.find(" ", at + 1)
    end = min(stop if stop >= 0 else len(line), at + EXCERPT_CHARS)
    sign = line[at]
    odd = not sign.isascii() or not sign.isprintable()
    point = f" (U+{ord(sign):04X})" if odd and not 0xDC80 <= ord(sign) <= 0xDCFF else ""
    return f'"{line[begin : max(end, at + 1)]}"'.replace("\t", "\\t") + point


def _cut(line: str) -> str:
    return line if len(line) <= LINE_CHARS_MAX else f"{line[:LINE_CHARS_MAX]}..."
