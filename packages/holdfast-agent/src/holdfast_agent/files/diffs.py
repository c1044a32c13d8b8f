"""Unified diffs that come soon enough, whatever the two texts are.

The standard library's matcher may take minutes for two large texts. So what is equal at both ends
is set aside first, then lines that stand once in either text divide the rest, and only small pieces
in between are compared line by line; a large piece without such lines is told as replaced.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

DIFF_CHARS_MAX: Final = 64 * 1024
CELLS_MAX: Final = 200_000
"""Lines of one piece times lines of the other, up to which they are compared one by one."""
DEPTH_MAX: Final = 20
CONTEXT_LINES: Final = 3
NO_END: Final = "\n\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class Swap:
    """Lines `old_from` to `old_to` became lines `new_from` to `new_to`."""

    old_from: int
    old_to: int
    new_from: int
    new_to: int


def unified(path: str, old: str | None, new: str | None, new_path: str = "") -> str:
    """`path` as it is shown; `old` None: there was no file; `new` None: there is none any more.
    Empty if nothing changed."""
    if old == new and new_path in ("", path):
        return ""
    before, after = lines_of(old or ""), lines_of(new or "")
    told = [
        f"--- {'/dev/null' if old is None else f'a/{path}'}\n",
        f"+++ {'/dev/null' if new is None else f'b/{new_path or path}'}\n",
    ]
    size = 0
    for hunk in _hunks(swaps(before, after), len(before)):
        for line in _told(hunk, before, after):
            told.append(line)
            size += len(line)
            if size > DIFF_CHARS_MAX:
                told.append("… [cut: the rest of the diff is not shown]\n")
                return "".join(told)
    return "".join(told)


def lines_of(text: str) -> list[str]:
    """Only a line feed ends a line; each keeps its own."""
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def swaps(before: Sequence[str], after: Sequence[str]) -> list[Swap]:
    return list(_compare(before, after, Swap(0, len(before), 0, len(after))))


def _compare(
    before: Sequence[str], after: Sequence[str], area: Swap, depth: int = 0
) -> Generator[Swap]:
    area = _trimmed(before, after, area)
    olds, news = area.old_to - area.old_from, area.new_to - area.new_from
    if not olds and not news:
        return
    if not olds or not news:
        yield area
    elif olds * news <= CELLS_MAX:
        yield from _one_by_one(before, after, area)
    else:
        pieces = _divided(before, after, area) if depth < DEPTH_MAX else []
        if len(pieces) <= 1:
            yield area
        else:
            for piece in pieces:
                yield from _compare(before, after, piece, depth + 1)


def _trimmed(before: Sequence[str], after: Sequence[str], area: Swap) -> Swap:
    old_from, old_to, new_from, new_to = area.old_from, area.old_to, area.new_from, area.new_to
    while old_from < old_to and new_from < new_to and before[old_from] == after[new_from]:
        old_from, new_from = old_from + 1, new_from + 1
    while old_from < old_to and new_from < new_to and before[old_to - 1] == after[new_to - 1]:
        old_to, new_to = old_to - 1, new_to - 1
    return Swap(old_from, old_to, new_from, new_to)


def _one_by_one(before: Sequence[str], after: Sequence[str], area: Swap) -> Generator[Swap]:
    olds, news = before[area.old_from : area.old_to], after[area.new_from : area.new_to]
    matcher = SequenceMatcher(None, olds, news, autojunk=False)
    for kind, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if kind != "equal":
            yield Swap(
                area.old_from + old_from,
                area.old_from + old_to,
                area.new_from + new_from,
                area.new_from + new_to,
            )


def _divided(before: Sequence[str], after: Sequence[str], area: Swap) -> list[Swap]:
    """The area cut at lines that stand once in both, as many as keep their order."""
    olds = Counter(before[area.old_from : area.old_to])
    news = Counter(after[area.new_from : area.new_to])
    where = {after[at]: at for at in range(area.new_from, area.new_to) if news[after[at]] == 1}
    pairs = [
        (at, where[before[at]])
        for at in range(area.old_from, area.old_to)
        if olds[before[at]] == 1 and before[at] in where
    ]
    pieces: list[Swap] = []
    old_from, new_from = area.old_from, area.new_from
    for old_at, new_at in _rising(pairs):
        pieces.append(Swap(old_from, old_at, new_from, new_at))
        old_from, new_from = old_at + 1, new_at + 1
    return [*pieces, Swap(old_from, area.old_to, new_from, area.new_to)]


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """A longest run of pairs, of which the first numbers rise, in which the second rise too."""
    ends: list[int] = []
    last: list[int] = []
    previous: list[int] = []
    for index, (_, new_at) in enumerate(pairs):
        length = bisect_left(ends, new_at)
        previous.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [new_at]
        last[length : length + 1] = [index]
    run: list[tuple[int, int]] = []
    at = last[-1] if last else -1
    while at >= 0:
        run.append(pairs[at])
        at = previous[at]
    return run[::-1]


def _hunks(found: Sequence[Swap], olds: int) -> Generator[list[Swap]]:
    """Swaps whose surroundings touch are told together."""
    hunk: list[Swap] = []
    for swap in found:
        if hunk and swap.old_from - hunk[-1].old_to > 2 * CONTEXT_LINES:
            yield hunk
            hunk = []
        hunk.append(swap)
    assert not hunk or hunk[-1].old_to <= olds
    if hunk:
        yield hunk


def _told(hunk: Sequence[Swap], before: Sequence[str], after: Sequence[str]) -> Generator[str]:
    first, last = hunk[0], hunk[-1]
    lead = min(CONTEXT_LINES, first.old_from)
    old_from, new_from = first.old_from - lead, first.new_from - lead
    trail = min(CONTEXT_LINES, len(before) - last.old_to)
    olds, news = last.old_to + trail - old_from, last.new_to + trail - new_from
    yield f"@@ -{_range(old_from, olds)} +{_range(new_from, news)} @@\n"
    at = old_from
    for swap in hunk:
        yield from (_line(" ", line) for line in before[at : swap.old_from])
        yield from (_line("-", line) for line in before[swap.old_from : swap.old_to])
        yield from (_line("+", line) for line in after[swap.new_from : swap.new_to])
        at = swap.old_to
    yield from (_line(" ", line) for line in before[at : at + trail])


def _range(at: int, count: int) -> str:
    """Lines are counted from 1; an empty range names the line before it."""
    return f"{at + 1}" if count == 1 else f"{at + 1 if count else at},{count}"


def _line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}{NO_END}"
