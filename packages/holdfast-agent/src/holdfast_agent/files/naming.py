"""What lies in one folder."""

import os
import stat
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

FOLDER_ENTRIES_MAX: Final = 100_000
GIT: Final = ".git"
"""Not walked into: it has thousands of files, and none that a search is about."""
Kind: TypeAlias = Literal["file", "folder", "link", "other"]


@dataclass(frozen=True, slots=True)
class Named:
    name: str
    kind: Kind
    bytes: int | None = None
    changed_ns: int = 0


def named_in(folder: int, *, hidden: bool) -> tuple[list[Named], bool]:
    """What lies in it, by name, and whether there is more than we care to know."""
    found: list[Named] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") and not hidden:
                continue
            if len(found) == FOLDER_ENTRIES_MAX:
                return sorted(found, key=_name), True
            found.append(_named(entry))
    return sorted(found, key=_name), False


def _name(named: Named) -> str:
    return named.name


def _named(entry: "os.DirEntry[str]") -> Named:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:  # gone again
        return Named(entry.name, "other")
    changed_ns = found.st_mtime_ns
    if stat.S_ISREG(found.st_mode):
        return Named(entry.name, "file", found.st_size, changed_ns)
    if stat.S_ISDIR(found.st_mode):
        return Named(entry.name, "folder", None, changed_ns)
    kind: Kind = "link" if stat.S_ISLNK(found.st_mode) else "other"
    return Named(entry.name, kind, None, changed_ns)


def has_hidden_step(path: str) -> bool:
    """Whether a path or a glob has a name that begins with a dot, other than `.` and `..`."""
    return any(step.startswith(".") and step not in (".", "..") for step in path.split("/"))


def has_git_step(path: str) -> bool:
    return GIT in path.split("/")
