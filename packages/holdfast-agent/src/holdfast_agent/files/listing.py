"""List a folder, shallow entries first when there are too many, told in the order of a tree."""

import os
import time
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from holdfast_agent.files import paths
from holdfast_agent.files.beneath import WITHOUT_LINKS, Beneath, opened
from holdfast_agent.files.naming import GIT, Named, named_in
from holdfast_agent.files.refusals import refused_for
from holdfast_agent.wire import Entry, Listed, ListFiles

LIST_S: Final = 10.0


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
    with beneath.folder(place) as start, refused_for(place.shown):
        tree = _Tree(start, asked)
        tree.fill()
    top = place.path
    entries = sorted(tree.entries, key=lambda entry: entry[0].split("/"))
    told = [(paths.shown(paths.joined(top, path)), named) for path, named in entries]
    fit = [(path, named) for path, named in told if len(path) <= paths.SHOWN_CHARS_MAX]
    if len(fit) < len(told):
        tree.note = "Paths that are too long to be told are left out."
    return Listed(
        entries=tuple(Entry(path=path, kind=each.kind, bytes=each.bytes) for path, each in fit),
        more=tree.more or len(fit) < len(told),
        note=tree.note,
    )


class _Tree:
    def __init__(self, start: int, asked: ListFiles) -> None:
        self._start = start
        self._asked = asked
        self._until = time.monotonic() + LIST_S
        self._folders = deque([(".", 1)])
        self.entries: list[tuple[str, Named]] = []
        self.more = False
        self.note = ""

    def fill(self) -> None:
        while self._folders and not self.more:
            path, depth = self._folders.popleft()
            try:
                with inner_folder(self._start, path) as folder:
                    named, many = named_in(folder, hidden=self._asked.hidden)
            except OSError:
                if path == ".":
                    raise
                self.note = "Folders that cannot be read, or are gone, are told without content."
                continue
            self.more = many
            self._add(path, depth, named)
            if time.monotonic() > self._until:
                self.more, self.note = True, f"Listing took longer than {LIST_S:.0f} s."

    def _add(self, folder: str, depth: int, named: list[Named]) -> None:
        for each in named:
            if len(self.entries) == self._asked.limit:
                self.more = True
                return
            path = paths.joined(folder, each.name)
            self.entries.append((path, each))
            if each.kind == "folder" and depth < self._asked.depth and each.name != GIT:
                self._folders.append((path, depth + 1))
