"""Files as a model reads them: numbered lines, listings and matches.

Every text keeps below the limit of its call. It ends at a whole line, match or entry, and says how
to continue. The generic cut in the middle of a text is for tools that do not know their limit.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.domain.parts import JsonObject
from holdfast.tools.workspace.texts import shown, size
from holdfast_agent.wire import (
    Entry,
    FileCount,
    Found,
    Image,
    Lines,
    Listed,
    Match,
    Matches,
)

PATH_CHARS_MAX: Final = 200
"""Of a path in a header: the model has just written it."""
NO_ENTRIES: Final = "The directory is empty."
NO_FILES: Final = "No files match."
NO_MATCHES: Final = "No matches."
SKIPPED_NAMES: Final = (
    "Hidden files and files named by .gitignore were skipped: to include them, set ignored=true."
)
SKIPPED_FILES: Final = "Files named by .gitignore were skipped: to include them, set ignored=true."
SMALLER: Final = "Give the path of a directory in it, or a smaller depth"
NARROWER: Final = "Narrow the pattern or path"
NO_IMAGES: Final = "[This model does not take images. Use a command to look into the file.]"


@dataclass(frozen=True, slots=True)
class FileText:
    text: str
    is_cut: bool


# Reading


def lines_text(found: Lines, *, lines_max: int, bytes_max: int) -> FileText:
    """A header, then numbered lines: as many whole ones as fit."""
    if found.lines_total == 0:
        return FileText(f"{_short(found.path)} is empty.", is_cut=False)
    lines = found.text.split("\n")
    if not lines[-1]:
        lines.pop()
    facts = ["CRLF line endings"] if any(line.endswith("\r") for line in lines) else []
    # The longest header there can be is set aside: its numbers are not known yet.
    longest = _header(found, found.lines_total, [*facts, "size limit", _continued(found.last_line)])
    left = bytes_max - len(longest.encode())
    rows: list[str] = []
    for number, line in enumerate(lines, start=found.first_line):
        row = f"\n{number:6}\t{line.removesuffix(chr(13))}"
        if not rows:
            row = _cut_row(row, left)
        left -= _bytes(row)
        if left < 0 and rows:
            break
        rows.append(row)
    last = found.first_line + len(rows) - 1
    has_more = found.more or last < found.last_line
    if has_more:
        facts += ["size limit"] if len(rows) < lines_max else []
        facts.append(_continued(last))
    return FileText(_header(found, last, facts) + "".join(rows), is_cut=has_more)


def _header(found: Lines, last: int, facts: Sequence[str]) -> str:
    total = f"{found.lines_total}" if found.counted else f"more than {found.lines_total}"
    said = f" ({'; '.join(facts)})" if facts else ""
    return f"{_short(found.path)} lines {found.first_line}-{last} of {total}{said}"


def _continued(last: int) -> str:
    return f"continue with offset={last + 1}"


def _cut_row(row: str, bytes_max: int) -> str:
    """A line that is longer than the whole result is the only line of it."""
    if _bytes(row) <= bytes_max:
        return row
    mark = f"… [{_bytes(row):,} bytes in this line: use a command such as cut -c]"
    kept = row.encode()[: max(0, bytes_max - _bytes(mark))]
    return kept.decode(errors="ignore") + mark


def _short(path: str) -> str:
    name = shown(path)
    return name if len(name) <= PATH_CHARS_MAX else f"…{name[-PATH_CHARS_MAX:]}"


def image_value(found: Lines, image: Image) -> JsonObject:
    """`caption` is for a model that takes no images."""
    described = f"{_short(found.path)}: {image.media_type}, {found.bytes_total:,} bytes"
    picture: JsonObject = {
        "type": "image",
        "data": image.base64,
        "mimeType": image.media_type,
        "caption": NO_IMAGES,
    }
    return {"content": [{"type": "text", "text": described}, picture]}


# Listing, finding and searching


def entries_text(found: Listed, *, limit: int, bytes_max: int) -> FileText:
    groups = [[_entry(entry)] for entry in found.entries]
    return _Listing("entries", NO_ENTRIES, SMALLER, found, limit, bytes_max).text(groups)


def _entry(entry: Entry) -> str:
    name = shown(entry.path)
    match entry.kind:
        case "folder":
            facts = ["ignored"] if entry.ignored else []
            facts += [f"{entry.entries:,} entries"] if entry.entries is not None else []
            return f"{name}/ ({', '.join(facts)})" if facts else f"{name}/"
        case "file":
            return f"{name} ({size(entry.bytes or 0)})"
        case _:
            return f"{name} ({entry.kind})"


def paths_text(found: Found, skipped: str, *, limit: int, bytes_max: int) -> FileText:
    """`skipped`: what to say where nothing was found."""
    groups = [[shown(path)] for path in found.paths]
    none = f"{NO_FILES} {skipped}".strip()
    return _Listing("files", none, NARROWER, found, limit, bytes_max).text(groups)


def counts_text(found: Matches, skipped: str, *, limit: int, bytes_max: int) -> FileText:
    groups = [[f"{shown(file.path)}: {_count(file)}"] for file in found.files]
    none = f"{NO_MATCHES} {skipped}".strip()
    return _Listing("files", none, NARROWER, found, limit, bytes_max).text(groups)


def matches_text(found: Matches, skipped: str, *, limit: int, bytes_max: int) -> FileText:
    groups = list(_match_groups(found.matches))
    none = f"{NO_MATCHES} {skipped}".strip()
    return _Listing("matches", none, NARROWER, found, limit, bytes_max).text(groups)


def _count(file: FileCount) -> str:
    at_least = "or more " if file.more else ""
    return f"{file.count:,} {at_least}{'match' if file.count == 1 else 'matches'}"


def _match_groups(found: Sequence[Match]) -> Iterable[list[str]]:
    """The lines of each match. Lines between two matches that are near are told once."""
    told: tuple[str, int] = ("", 0)
    for at, match in enumerate(found):
        follower = found[at + 1] if at + 1 < len(found) else None
        next_line = follower.line if follower and follower.path == match.path else None
        path, first = shown(match.path), match.line - len(match.before)
        around = [(first + n, text) for n, text in enumerate(match.before)]
        behind = [(match.line + n, text) for n, text in enumerate(match.after, start=1)]
        begins = told[1] + 1 if told[0] == match.path else 0
        rows = [f"{path}-{n}- {text}" for n, text in around if n >= begins]
        if told[0] and (match.before or match.after):
            rows = rows if told[0] == match.path and first <= begins else ["--", *rows]
        rows.append(f"{path}:{match.line}: {match.text}")
        behind = [(n, text) for n, text in behind if next_line is None or n < next_line]
        rows += [f"{path}-{n}- {text}" for n, text in behind]
        told = match.path, behind[-1][0] if behind else match.line
        yield rows


@dataclass(frozen=True, slots=True)
class _Listing:
    """Groups of lines that belong together, and what is said below them."""

    things: str
    none: str
    advice: str
    found: Listed | Found | Matches
    limit: int
    bytes_max: int

    def text(self, groups: Sequence[list[str]]) -> FileText:
        note = f"\n[{self.found.note}]" if self.found.note else ""
        if not groups:
            return FileText(f"{self.none}{note}", is_cut=self.found.more)
        everything = [row for group in groups for row in group]
        whole = "\n".join(everything) + self._more(len(groups)) + note
        if _bytes(whole) <= self.bytes_max:
            return FileText(whole, is_cut=self.found.more)
        left = self.bytes_max - _bytes(self._full(len(groups), len(groups)) + note)
        told: list[str] = []
        for group in groups:
            left -= _bytes("\n".join(group)) + 1
            if left < 0:
                break
            told.append("\n".join(group))
        full = self._full(len(told), len(groups))
        return FileText(("\n".join(told) + full + note).lstrip("\n"), is_cut=True)

    def _full(self, count: int, total: int) -> str:
        of = f"more than {total}" if self.found.more else f"{total}"
        return f"\n[Size limit: {count} of {of} {self.things} shown. {self.advice}.]"

    def _more(self, count: int) -> str:
        if not self.found.more:
            return ""
        advice = f"{self.advice}, or raise limit" if count >= self.limit else self.advice
        return f"\n[{count} of more {self.things} shown. {advice}.]"


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
