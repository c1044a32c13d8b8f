"""The process that finds and searches: one question, answers line by line, then an end.

It is a process of its own because a pattern, a glob or a `.gitignore` can make a matcher run for
ever, and nothing but a kill stops that. It gets descriptors, never paths of the agent's, has a
bounded memory, and imports nothing from the workspace (`python -I`, in `/`).
"""

import os
import resource
import sys
import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import asdict, dataclass
from heapq import nsmallest
from itertools import groupby, islice
from typing import Any, Final, Literal

import orjson
from wcmatch import glob

from holdfast_agent.files import paths
from holdfast_agent.files.dialect import BadPattern
from holdfast_agent.files.engines import (
    BATCH_FILES_MAX,
    FILE_BYTES_MAX,
    Engine,
    Hit,
    Ripgrep,
    Standard,
    Wanted,
)
from holdfast_agent.files.naming import has_git_step, has_hidden_step
from holdfast_agent.files.text import BINARY_LOOK_BYTES, looks_binary, readable, whole_runes
from holdfast_agent.files.walking import Seen, Walk, open_file, rules_above

MEMORY_BYTES_MAX: Final = 1 << 30
BOM_CHAR: Final = "\ufeff"
CUT: Final = "[…]"
CONTINUED: Final = bytes(range(0x80, 0xC0))
"""Bytes that begin no rune."""
SHOWN_CHARS_MAX: Final = 300
"""Of a line: around the match, or from the beginning of a line beside it."""
BEFORE_CHARS: Final = 100
"""Of them before the match, if the line goes on for long behind it."""
WINDOW_BYTES: Final = 4 * SHOWN_CHARS_MAX
COUNTED_MAX: Final = 10_000
"""Matches of one file are counted up to here."""
PER_FILE_MAX: Final = 50
"""Matches of one file, if several files are searched."""
AROUND_BYTES_MAX: Final = 32 * 1024
GLOB: Final = glob.GLOBSTAR | glob.BRACE | glob.DOTGLOB | glob.FORCEUNIX | glob.CASE
QUERY_BYTES_MAX: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    kind: Literal["find", "search", "count"]
    pattern: str
    root: int
    start: int
    """The folder where to look, or the one file to look into."""
    top: str
    """The path of `start` from the root."""
    one_file: bool = False
    glob: str | None = None
    literal: bool = False
    ignore_case: bool = False
    ignored: bool = False
    context: int = 0
    limit: int = 100
    bytes_max: int = 1 << 20
    """Of the lines of all rows; there is one row at least."""
    walk_s: float = 15.0
    """Finding tells what it has found by then."""
    ripgrep: str | None = None


@dataclass(frozen=True, slots=True)
class End:
    more: bool
    notes: tuple[str, ...] = ()


Row = dict[str, Any]


def look(query: Query) -> Generator[Row]:
    """Rows of what was found, then one with `end`; or one with `bad`, what is wrong with the
    pattern."""
    search = _Search(query)
    rows = search.names() if query.kind == "find" else search.found()
    left = query.bytes_max
    try:
        for row in islice(rows, query.limit):
            size = _size(row)
            if size > left < query.bytes_max:
                search.more = True
                break
            left -= size
            yield row
        else:
            search.more |= next(rows, None) is not None
    except BadPattern as bad:
        yield {"bad": str(bad)[:2000]}
    else:
        yield {"end": asdict(End(search.more, tuple(search.notes)))}


def _size(row: Row) -> int:
    lines = (*row.get("before", ()), row.get("text", ""), *row.get("after", ()))
    return sum(len(line.encode()) for line in lines)


def matcher(pattern: str) -> Callable[[str], bool]:
    """A glob without a slash is for names, at any depth; with one, for paths from the start. `!`
    in front turns it round."""
    wanted = not pattern.startswith("!")
    pattern = pattern.removeprefix("!").removeprefix("./")
    anchored = "/" in pattern.rstrip("/")
    pattern = pattern.removeprefix("/")
    if pattern.endswith("/"):
        pattern, anchored = f"{'' if anchored else '**/'}{pattern}**", True
    try:
        compiled = glob.compile(pattern, flags=GLOB)
    except Exception as error:  # the library's own, for too many braces, has no public name
        raise BadPattern(f"The glob is not valid: {str(error).rstrip('.')}.") from error

    def matches(path: str) -> bool:
        return compiled.match(path if anchored else path.rpartition("/")[2]) is wanted

    return matches


class _Search:
    def __init__(self, query: Query) -> None:
        self._query = query
        names = [query.top, query.glob or "", query.pattern if query.kind == "find" else ""]
        named = [name.lstrip("!") for name in names]
        self._walk = Walk(
            query.start,
            query.top,
            () if query.one_file or query.ignored else rules_above(query.root, query.top),
            hidden=query.kind != "find" or query.ignored or any(map(has_hidden_step, named)),
            git=any(map(has_git_step, named)),
            ignored=query.ignored,
        )
        self.notes = self._walk.notes
        self.more = False

    def names(self) -> Generator[Row]:
        """Newest first; of the same time, by name."""
        newest = nsmallest(self._query.limit + 1, self._named(), key=_newest)
        for seen in newest:
            yield {"path": paths.shown(paths.joined(self._query.top, seen.path))}

    def _named(self) -> Generator[Seen]:
        matches = matcher(self._query.pattern)
        until = time.monotonic() + self._query.walk_s
        for seen in self._walk.files():
            if matches(seen.path):
                shown = paths.shown(paths.joined(self._query.top, seen.path))
                if len(shown) <= paths.SHOWN_CHARS_MAX:
                    yield seen
                else:
                    self._note(paths.LONG)
            if time.monotonic() > until:
                self.more = True
                self._note(
                    f"Finding took longer than {self._query.walk_s:.0f} s, so not every file was"
                    " seen. Give a smaller path."
                )
                return

    def found(self) -> Generator[Row]:
        query = self._query
        engine: Engine = Ripgrep(query.ripgrep) if query.ripgrep else Standard()
        most = query.limit if query.one_file else min(PER_FILE_MAX, query.limit)
        counts = query.kind == "count"
        most = COUNTED_MAX if counts else most
        wanted = Wanted(query.pattern, query.literal, query.ignore_case, most + 1)
        files = iter(self._one_file() if query.one_file else self._files())
        while batch := dict(islice(files, BATCH_FILES_MAX)):
            try:
                hits = groupby(engine.hits(wanted, tuple(batch)), key=_descriptor)
                for descriptor, of_file in hits:
                    if counts:
                        yield _count(batch[descriptor], of_file)
                    else:
                        yield from self._rows(batch[descriptor], of_file, most)
            finally:
                for descriptor in batch:
                    os.close(descriptor)

    def _rows(self, shown: str, hits: Iterable[Hit], most: int) -> Generator[Row]:
        for number, hit in enumerate(hits):
            if number < most or self._query.one_file:
                yield self._row(shown, hit)
            else:
                self.more = True
                self._note(
                    f"Only the first {most} matches of each file are shown: to see the others,"
                    " search that file alone (path)."
                )

    def _one_file(self) -> Generator[tuple[int, str]]:
        if self._searchable(self._query.start):
            yield os.dup(self._query.start), paths.shown(self._query.top)

    def _files(self) -> Generator[tuple[int, str]]:
        """Descriptors and what to call them."""
        matches = matcher(self._query.glob) if self._query.glob else None
        for seen in self._walk.files():
            if seen.named.kind != "file" or (matches and not matches(seen.path)):
                continue
            shown = paths.shown(paths.joined(self._query.top, seen.path))
            if len(shown) > paths.SHOWN_CHARS_MAX:
                self._note(paths.LONG)
                continue
            descriptor = open_file(self._query.start, seen.path)
            if descriptor is None:
                self._note("Files that cannot be read, or have several names, are left out.")
            elif self._searchable(descriptor):
                yield descriptor, shown
            else:
                os.close(descriptor)

    def _searchable(self, descriptor: int) -> bool:
        if os.fstat(descriptor).st_size > FILE_BYTES_MAX:
            self._note(f"Files of more than {FILE_BYTES_MAX:,} bytes are left out.")
            return False
        return not looks_binary(os.pread(descriptor, BINARY_LOOK_BYTES, 0))

    def _row(self, shown: str, hit: Hit) -> Row:
        around = lines_around(hit, self._query.context)
        before, after = around if self._query.context else ([], [])
        text = around_match(hit)
        if any(CUT in line for line in (*before, text, *after)):
            self._note(
                f"Long lines are shortened to {SHOWN_CHARS_MAX} characters ({CUT}): to see a whole"
                " line, use read_file with its number as offset."
            )
        return {"path": shown, "line": hit.line, "text": text, "before": before, "after": after}

    def _note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)


def lines_around(hit: Hit, context: int) -> tuple[list[str], list[str]]:
    """The lines before and after. Context that is far away is left out."""
    window = os.pread(hit.descriptor, AROUND_BYTES_MAX, hit.offset)
    lines = window.split(b"\n")
    whole = len(lines) - 1  # behind the last line feed is nothing, or the beginning of a line
    if window and len(window) < AROUND_BYTES_MAX and lines[-1]:
        whole += 1
    after = [cut(line) for line in lines[1 : 1 + context][: max(0, whole - 1)]]
    begin = max(0, hit.offset - AROUND_BYTES_MAX)
    above = os.pread(hit.descriptor, hit.offset - begin, begin).split(b"\n")[:-1]
    if begin:
        above = above[1:]
    return [cut(line) for line in above[-context:]], after


def around_match(hit: Hit) -> str:
    """The line, or a part of it around the beginning of the match."""
    begins = max(0, hit.column - WINDOW_BYTES)
    size = hit.column - begins + WINDOW_BYTES
    window = os.pread(hit.descriptor, size, hit.offset + begins)
    ends = window.find(b"\n", hit.column - begins)
    is_end = ends >= 0 or len(window) < size
    if ends >= 0:
        window = window[:ends].removesuffix(b"\r")
    left, right = window[: hit.column - begins], window[hit.column - begins :]
    before = readable(left.lstrip(CONTINUED) if begins else left)
    behind = readable(right if is_end else whole_runes(right))
    if hit.offset == 0 and begins == 0:
        before, behind = before.removeprefix(BOM_CHAR), behind.removeprefix(BOM_CHAR)
    if not begins and is_end and len(before) + len(behind) <= SHOWN_CHARS_MAX:
        return before + behind
    kept = min(len(before), max(BEFORE_CHARS, SHOWN_CHARS_MAX - len(behind)))
    head = CUT if begins or kept < len(before) else ""
    tail = CUT if not is_end or len(behind) > SHOWN_CHARS_MAX - kept else ""
    return f"{head}{before[len(before) - kept :]}{behind[: SHOWN_CHARS_MAX - kept]}{tail}"


def cut(line: bytes) -> str:
    line = line.removesuffix(b"\r")
    text = readable(whole_runes(line[:WINDOW_BYTES]) if len(line) > WINDOW_BYTES else line)
    return text if len(text) <= SHOWN_CHARS_MAX else f"{text[:SHOWN_CHARS_MAX]}{CUT}"


def _newest(seen: Seen) -> tuple[int, str]:
    return -seen.named.changed_ns, seen.path


def _count(shown: str, hits: Iterable[Hit]) -> Row:
    count = sum(1 for _ in hits)
    return {"path": shown, "count": min(count, COUNTED_MAX), "more": count > COUNTED_MAX}


def _descriptor(hit: Hit) -> int:
    return hit.descriptor


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    query = Query(**orjson.loads(sys.stdin.buffer.read(QUERY_BYTES_MAX)))
    out = sys.stdout.buffer
    for row in look(query):
        out.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
    out.flush()


if __name__ == "__main__":
    main()
