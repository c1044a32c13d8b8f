"""The process that finds and searches: one question, answers line by line, then an end.

It is a process of its own because a pattern, a glob or a `.gitignore` can make a matcher run for
ever, and nothing but a kill stops that. It gets descriptors, never paths of the agent's, has a
bounded memory, and imports nothing from the workspace (`python -I`, in `/`).
"""

import os
import resource
import sys
from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Final, Literal

import orjson
from wcmatch import glob

from holdfast_agent.files import paths
from holdfast_agent.files.engines import (
    BATCH_FILES_MAX,
    FILE_BYTES_MAX,
    BadPattern,
    Engine,
    Hit,
    Ripgrep,
    Standard,
    Wanted,
)
from holdfast_agent.files.text import BINARY_LOOK_BYTES, BOM, looks_binary, readable, whole_runes
from holdfast_agent.files.walking import Walk, open_file, rules_above

MEMORY_BYTES_MAX: Final = 1 << 30
LINE_BYTES_MAX: Final = 2 * 1024
AROUND_BYTES_MAX: Final = 32 * 1024
GLOB: Final = glob.GLOBSTAR | glob.BRACE | glob.DOTGLOB | glob.FORCEUNIX | glob.CASE
QUERY_BYTES_MAX: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    kind: Literal["find", "search"]
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
    hidden: bool = False
    context: int = 0
    limit: int = 100
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
    rows = search.found() if query.kind == "search" else search.names()
    try:
        yield from islice(rows, query.limit)
        more = next(rows, None) is not None
    except BadPattern as bad:
        yield {"bad": str(bad)[:2000]}
    else:
        yield {"end": asdict(End(more, tuple(search.notes)))}


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
        raise BadPattern(str(error)) from error

    def matches(path: str) -> bool:
        return compiled.match(path if anchored else path.rpartition("/")[2]) is wanted

    return matches


class _Search:
    def __init__(self, query: Query) -> None:
        self._query = query
        self._walk = Walk(
            query.start,
            query.top,
            () if query.one_file else rules_above(query.root, query.top),
            query.hidden,
        )
        self.notes = self._walk.notes

    def names(self) -> Generator[Row]:
        matches = matcher(self._query.pattern)
        for seen in self._walk.files():
            if matches(seen.path):
                shown = paths.shown(paths.joined(self._query.top, seen.path))
                if len(shown) <= paths.SHOWN_CHARS_MAX:
                    yield {"path": shown}
                else:
                    self._note("Paths that are too long to be told are left out.")

    def found(self) -> Generator[Row]:
        query = self._query
        engine: Engine = Ripgrep(query.ripgrep) if query.ripgrep else Standard()
        wanted = Wanted(query.pattern, query.literal, query.ignore_case, query.limit + 1)
        files = iter(self._one_file() if query.one_file else self._files())
        while batch := dict(islice(files, BATCH_FILES_MAX)):
            try:
                for hit in engine.hits(wanted, tuple(batch)):
                    yield self._row(batch[hit.descriptor], hit)
            finally:
                for descriptor in batch:
                    os.close(descriptor)

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
                self._note("Paths that are too long to be told are left out.")
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
        before, text, after = lines_around(hit, self._query.context)
        return {"path": shown, "line": hit.line, "text": text, "before": before, "after": after}

    def _note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)


def lines_around(hit: Hit, context: int) -> tuple[list[str], str, list[str]]:
    """The lines before, the line itself, the lines after. Context that is far away is left out."""
    size = AROUND_BYTES_MAX if context else LINE_BYTES_MAX + 2
    window = os.pread(hit.descriptor, max(size, LINE_BYTES_MAX + 2), hit.offset)
    lines = window.split(b"\n")
    whole = len(lines) - 1  # behind the last line feed is nothing, or the beginning of a line
    if window and len(window) < size and lines[-1]:
        whole += 1
    text = cut(lines[0] if hit.offset else lines[0].removeprefix(BOM))
    after = [cut(line) for line in lines[1 : 1 + context][: max(0, whole - 1)]]
    begin = max(0, hit.offset - AROUND_BYTES_MAX) if context else hit.offset
    above = os.pread(hit.descriptor, hit.offset - begin, begin).split(b"\n")[:-1]
    if begin:
        above = above[1:]
    return [cut(line) for line in above[-context:]] if context else [], text, after


def cut(line: bytes) -> str:
    line = line.removesuffix(b"\r")
    if len(line) <= LINE_BYTES_MAX:
        return readable(line)
    return f"{readable(whole_runes(line[:LINE_BYTES_MAX]))}… [cut]"


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
