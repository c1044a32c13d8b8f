"""Where repositories lie in a workspace, and which configurations git would read there.

Nearest first, and not for ever: a tree may have more folders than a command should wait for. Links
are not walked through; where a `.git` is a link or names another folder, that one is looked at, as
far as it lies in the workspace.
"""

import os
from collections import deque
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from holdfast_agent.faults import Refused
from holdfast_agent.files.beneath import Beneath, Place, read_all
from holdfast_agent.files.listing import inner_folder
from holdfast_agent.files.naming import GIT

FOLDERS_MAX: Final = 400
"""Some 16 microseconds each, before every command."""
DEPTH_MAX: Final = 12
POINTER_BYTES_MAX: Final = 8192
CONFIGS: Final = ("config", "config.worktree")
_MARKS: Final = frozenset({"HEAD", "config", "objects"})
"""What a folder of git's own has; one that is called otherwise (bare, a submodule's) has them."""
_INNER: Final = frozenset({"modules", "worktrees"})
"""Below a folder of git's own only these have further ones."""


def config_paths(beneath: Beneath) -> Iterator[str]:
    """Paths of configurations, whether they are there or not; some twice."""
    for folder in _git_folders(beneath):
        for name in CONFIGS:
            yield f"{folder}/{name}"


def _git_folders(beneath: Beneath) -> Iterator[str]:
    for folder in _walked(beneath):
        yield folder
        for pointer in ("", "/commondir"):
            if (named := _pointed(beneath, f"{folder}{pointer}")) is not None:
                yield named


def _walked(beneath: Beneath) -> Iterator[str]:
    """Folders of git's own, by how deep they lie."""
    todo, seen = deque([("", 0)]), 0
    try:
        with beneath.folder(Place(".")) as start:
            while todo and seen < FOLDERS_MAX:
                path, depth = todo.popleft()
                seen += 1
                names, inner = _names(start, path)
                is_git = names >= _MARKS
                if is_git:
                    yield path or "."
                if GIT in names:
                    yield _joined(path, GIT)
                if depth < DEPTH_MAX:
                    further = inner & _INNER if is_git else inner
                    todo.extend((_joined(path, name), depth + 1) for name in sorted(further))
    except Refused:
        return


def _names(start: int, path: str) -> tuple[set[str], set[str]]:
    """All of them, and those of folders."""
    names: set[str] = set()
    folders: set[str] = set()
    try:
        with inner_folder(start, path or ".") as folder, os.scandir(folder) as entries:
            for entry in entries:
                names.add(entry.name)
                if entry.is_dir(follow_symlinks=False):
                    folders.add(entry.name)
    except OSError:  # gone again, or closed to us
        return set(), set()
    return names, folders


def _joined(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


def _pointed(beneath: Beneath, path: str) -> str | None:
    """The folder that a `.git` or `commondir` file names."""
    place = Place(path)
    try:
        with beneath.file(place) as file:
            said = os.fsdecode(read_all(file, place, POINTER_BYTES_MAX))
    except (Refused, OSError):
        return None
    said = said.removeprefix("gitdir:").strip()
    if not said or "\0" in said:
        return None
    try:
        # Relative to where the file lies; an absolute one as commands see it.
        whole = said if said.startswith("/") else str(PurePosixPath(path).parent / said)
        return beneath.place(whole).path
    except Refused:
        return None
