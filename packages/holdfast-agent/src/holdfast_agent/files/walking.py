"""Walk a tree as ripgrep would, but so that no step can be led astray.

Folders are opened from the descriptor where the walk began, by a path of which no part may be a
link, so exchanging one for a link while we walk gains nothing. (ripgrep opens by name, after having
looked: led astray it would read other people's files. It is used to match, not to walk.)
"""

import os
import stat
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Final

from holdfast_agent.files import paths
from holdfast_agent.files.ignoring import Rules, ignored, rules_in
from holdfast_agent.files.kernel import (
    RESOLVE_BENEATH,
    RESOLVE_NO_MAGICLINKS,
    RESOLVE_NO_SYMLINKS,
    openat2,
)
from holdfast_agent.files.naming import GIT, Named, named_in

DEPTH_MAX: Final = 64
WITHOUT_LINKS: Final = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class Seen:
    path: str
    """From the folder where the walk began."""
    named: Named


@dataclass(slots=True)
class Walk:
    """`start` is a descriptor; `top` its path from the root, of which `rules` hold already."""

    start: int
    top: str
    rules: tuple[Rules, ...]
    hidden: bool
    git: bool = False
    """Also what lies in `.git`, which is hidden."""
    ignored: bool = False
    """Also what rules name."""
    notes: list[str] = field(default_factory=list[str])

    def files(self) -> Generator[Seen]:
        """Everything that is not a folder, by name, each folder's before what comes after it."""
        yield from self._folder("", self.rules, 1)

    def _folder(self, path: str, rules: tuple[Rules, ...], depth: int) -> Generator[Seen]:
        base = "" if self.top == "." else f"{self.top}/"
        try:
            descriptor = openat2(self.start, os.fsencode(path) or b".", _FOLDER, WITHOUT_LINKS)
        except OSError:
            self._note("Directories that cannot be read are left out.")
            return
        try:
            named, many = named_in(descriptor, hidden=self.hidden)
            inside = f"{base}{path}/" if path else base
            rules = () if self.ignored else (*rules, *rules_in(descriptor, inside))
        finally:
            os.close(descriptor)
        if many:
            self._note("Of directories with more than 100,000 entries only a part is seen.")
        for each in named:
            is_folder = each.kind == "folder"
            below = paths.joined(path, each.name)
            if ignored(rules, f"{base}{below}/" if is_folder else f"{base}{below}"):
                continue
            if not is_folder:
                yield Seen(below, each)
            elif depth == DEPTH_MAX:
                self._note(f"Directories deeper than {DEPTH_MAX} levels are left out.")
            elif self.git or each.name != GIT:
                yield from self._folder(below, rules, depth + 1)

    def _note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)


def rules_above(root: int, top: str) -> tuple[Rules, ...]:
    """Of the folders from the root to above `top`; none if they would ignore `top` itself, for
    the caller asks for it by name, and none where the way there is not plain."""
    steps = [] if top == "." else top.split("/")
    if ".." in steps:
        return ()
    found: tuple[Rules, ...] = ()
    for count in range(len(steps)):
        base = "".join(f"{step}/" for step in steps[:count])
        if base and ignored(found, base):
            return ()
        try:
            descriptor = openat2(root, os.fsencode(base) or b".", os.O_PATH, WITHOUT_LINKS)
        except OSError:
            return ()
        found = (*found, *rules_in(descriptor, base))
        os.close(descriptor)
    return () if steps and ignored(found, f"{top}/") else found


def open_file(start: int, path: str) -> int | None:
    """For reading; None if it is not a plain file with one name, or is gone."""
    try:
        spot = openat2(start, os.fsencode(path), os.O_PATH | os.O_NOFOLLOW, WITHOUT_LINKS)
    except OSError:
        return None
    try:
        found = os.fstat(spot)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            return None
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        return os.open(f"/proc/self/fd/{spot}", flags)
    except OSError:
        return None
    finally:
        os.close(spot)
