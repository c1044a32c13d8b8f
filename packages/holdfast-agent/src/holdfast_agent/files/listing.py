"""List a folder, shallow entries first when there are too many, told in the order of a tree.

Below the first level, a folder that is ignored or very large is one entry with its size.
"""

import os
import time
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from holdfast_agent.files import paths
from holdfast_agent.files.beneath import WITHOUT_LINKS, Beneath, opened
from holdfast_agent.files.ignoring import Rules, ignored, rules_in
from holdfast_agent.files.naming import GIT, Named, named_in
from holdfast_agent.files.nearest import nearest_named
from holdfast_agent.files.refusals import refused_for
from holdfast_agent.files.walking import rules_above
from holdfast_agent.wire import Entry, Listed, ListFiles

LIST_S: Final = 10.0
ENTRIES_MAX: Final = 100
"""Of a folder below the first level: one with more is not listed."""


@contextmanager
def inner_folder(start: int, path: str) -> Generator[int]:
    """A folder below `start`, for reading. No step of the path is a link, not even for a moment."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK
    descriptor = opened(start, os.fsencode(path), flags, WITHOUT_LINKS)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def list_files(beneath: Beneath, asked: ListFiles) -> Listed:
    place = beneath.place(asked.path)
    with nearest_named(beneath, place), beneath.folder(place) as start, refused_for(place.shown):
        tree = _Tree(start, place.path, asked)
        if asked.depth > 1:
            with beneath.root() as root:
                tree.fill(rules_above(root, place.path))
        else:
            tree.fill(())
    found = sorted(tree.entries.items(), key=lambda entry: entry[0].split("/"))
    told = [_entry(paths.shown(paths.joined(place.path, path)), seen) for path, seen in found]
    fit = tuple(entry for entry in told if len(entry.path) <= paths.SHOWN_CHARS_MAX)
    notes = [tree.note, paths.LONG if len(fit) < len(told) else ""]
    return Listed(
        entries=fit,
        more=tree.more or len(fit) < len(told),
        note=" ".join(note for note in notes if note),
    )


@dataclass(slots=True)
class _Seen:
    named: Named
    entries: int | None = None
    ignored: bool = False


def _entry(path: str, seen: _Seen) -> Entry:
    named = seen.named
    return Entry(
        path=path,
        kind=named.kind,
        bytes=named.bytes,
        entries=seen.entries,
        ignored=seen.ignored,
    )


class _Tree:
    def __init__(self, start: int, top: str, asked: ListFiles) -> None:
        self._start = start
        self._base = "" if top == "." else f"{top}/"
        self._asked = asked
        self._until = time.monotonic() + LIST_S
        self.entries: dict[str, _Seen] = {}
        self.more = False
        self.note = ""

    def fill(self, rules: tuple[Rules, ...]) -> None:
        folders = deque([(".", 1, rules)])
        while folders and not self.more:
            path, depth, rules = folders.popleft()
            base = self._base if path == "." else f"{self._base}{path}/"
            try:
                with inner_folder(self._start, path) as folder:
                    named, many = named_in(folder, hidden=True)
                    if depth < self._asked.depth:
                        rules = (*rules, *rules_in(folder, base))
            except OSError:
                if path == ".":
                    raise
                self.note = "Directories that cannot be read, or are gone, have no entries here."
                continue
            if path != "." and self._folded(path, len(named), rules):
                continue
            self.more = many
            for below in self._added(path, named):
                if depth < self._asked.depth:
                    folders.append((below, depth + 1, rules))
            if time.monotonic() > self._until:
                self.more, self.note = True, f"Listing took longer than {LIST_S:.0f} s."

    def _folded(self, path: str, count: int, rules: tuple[Rules, ...]) -> bool:
        seen = self.entries[path]
        seen.ignored = ignored(rules, f"{self._base}{path}/")
        if seen.ignored or count > ENTRIES_MAX:
            seen.entries = count
            return True
        return False

    def _added(self, folder: str, named: list[Named]) -> Generator[str]:
        """The folders among them."""
        for each in named:
            if len(self.entries) == self._asked.limit:
                self.more = True
                return
            path = paths.joined(folder, each.name)
            self.entries[path] = _Seen(each)
            if each.kind == "folder" and each.name != GIT:
                yield path
