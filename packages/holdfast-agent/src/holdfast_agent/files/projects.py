"""Instruction files of the projects in a workspace, and which branch is checked out.

The workspace's folder is a project, and so is each repository one level below it. Files further
down are only named: they are for work in their part of the tree. All of it is untrusted content: it
is bounded, opened beneath the workspace's folder, and git itself is never run.
"""

import os
import re
from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from holdfast_agent.faults import Refused
from holdfast_agent.files import paths
from holdfast_agent.files.beneath import Beneath, Place
from holdfast_agent.files.listing import inner_folder
from holdfast_agent.files.text import BOM, looks_binary, readable, whole_runes
from holdfast_agent.wire import Instruction, NestedFile

INSTRUCTION_FILES: Final = ("AGENTS.md", "CLAUDE.md", ".holdfast/instructions.md")
IMPORTING: Final = "CLAUDE.md"
NESTED: Final = "AGENTS.md"
INSTRUCTION_BYTES_MAX: Final = 32 * 1024
INSTRUCTIONS_MAX: Final = 30
IMPORTS_MAX: Final = 10
NESTED_MAX: Final = 50
FOLDERS_MAX: Final = 400
"""Folders that are looked into for nested files: a turn waits for them."""
DEPTH_MAX: Final = 6
BRANCH_BYTES_MAX: Final = 300
_SKIPPED: Final = frozenset({"node_modules", "vendor", "target", "dist", "build", "venv"})
_IMPORT: Final = re.compile(r"^[ \t]*@([^\s@`]+)[ \t]*\r?$", re.MULTILINE)
_BRANCH: Final = re.compile(r"ref: refs/heads/([^\x00-\x20\x7f]+)\n?")
_COMMIT: Final = re.compile(r"([0-9a-f]{7})[0-9a-f]{33,57}\n?")


@dataclass(frozen=True, slots=True)
class Content:
    text: str
    identity: tuple[int, int]
    bytes_total: int


def content(beneath: Beneath, path: str, bytes_max: int) -> Content | None:
    """None: it is not there, or nothing that can be read. A cut is marked."""
    try:
        with beneath.file(Place(path)) as file:
            data = os.pread(file.descriptor, bytes_max + 1, 0)
    except (Refused, OSError):
        return None
    if looks_binary(data):
        return None
    cut = len(data) > bytes_max
    text = readable(whole_runes(data[:bytes_max]) if cut else data).removeprefix(BOM.decode())
    if cut:
        rest = file.stat.st_size - bytes_max
        text += f"\n… [cut: about {rest:,} more bytes in `{path}`]\n"
    return Content(text, file.identity, file.stat.st_size)


def instructions(beneath: Beneath) -> Iterator[Instruction]:
    """Of each project in the order of their names, the workspace's folder first. A file with two
    names, or with the text of another one, is told once."""
    seen: set[tuple[int, int]] = set()
    told: set[str] = set()
    count = 0
    for folder in ("", *_repositories(beneath)):
        for name in INSTRUCTION_FILES:
            path = _joined(folder, name)
            found = content(beneath, path, INSTRUCTION_BYTES_MAX)
            if found is None or found.identity in seen or count == INSTRUCTIONS_MAX:
                continue
            seen.add(found.identity)
            text = found.text
            if name == IMPORTING:
                text = _with_imports(beneath, folder, text, seen)
            if text.strip() and text.strip() not in told:
                told.add(text.strip())
                count += 1
                yield Instruction(path=paths.shown(path), text=text, bytes=found.bytes_total)


def _with_imports(beneath: Beneath, folder: str, text: str, seen: set[tuple[int, int]]) -> str:
    """Each line `@file` is replaced by that file, once: an import of the imported file is left as
    it is. What was told already is not told again; what lies outside stays as it is written."""
    left = IMPORTS_MAX

    def imported(found: re.Match[str]) -> str:
        nonlocal left
        path = _within(folder, found[1])
        if left == 0 or path is None:
            return found[0]
        left -= 1
        file = content(beneath, path, INSTRUCTION_BYTES_MAX)
        if file is None:
            return found[0]
        if file.identity in seen:
            return ""
        seen.add(file.identity)
        return file.text.rstrip("\n")

    return _IMPORT.sub(imported, text)


def _within(folder: str, written: str) -> str | None:
    """The path from the root; None if the way there leaves the workspace."""
    if written.startswith(("/", "~")):
        return None
    steps: list[str] = [] if not folder else folder.split("/")
    for step in PurePosixPath(written).parts:
        if step == "..":
            if not steps:
                return None
            steps.pop()
        else:
            steps.append(step)
    return "/".join(steps) or None


def nested(beneath: Beneath) -> tuple[NestedFile, ...]:
    """Names and sizes of instruction files that `instructions` does not tell, nearest first."""
    projects = {"", *_repositories(beneath)}
    found: list[NestedFile] = []
    for path, names in _walked(beneath):
        if path not in projects and NESTED in names:
            size = _size(beneath, _joined(path, NESTED))
            if size:
                found.append(NestedFile(path=paths.shown(_joined(path, NESTED)), bytes=size))
                if len(found) == NESTED_MAX:
                    break
    return tuple(found)


def branch(beneath: Beneath) -> str | None:
    """The branch that is checked out in the workspace's folder, or `detached at` a commit; empty:
    a repository of which neither is known; None: no repository."""
    head = content(beneath, ".git/HEAD", BRANCH_BYTES_MAX)
    if head is None:
        return "" if ".git" in _names(beneath, "") else None
    if (named := _BRANCH.fullmatch(head.text)) is not None:
        return paths.shown(named[1])
    commit = _COMMIT.fullmatch(head.text)
    return "" if commit is None else f"detached at {commit[1]}"


def _repositories(beneath: Beneath) -> list[str]:
    """One level below the root."""
    folders = sorted(_folders(beneath, ""))[:FOLDERS_MAX]
    return [name for name in folders if ".git" in _names(beneath, name)]


def _walked(beneath: Beneath) -> Generator[tuple[str, frozenset[str]]]:
    todo, seen = deque([("", 0)]), 0
    while todo and seen < FOLDERS_MAX:
        path, depth = todo.popleft()
        seen += 1
        yield path, _names(beneath, path)
        if depth < DEPTH_MAX:
            inner = sorted(_folders(beneath, path))
            todo.extend((_joined(path, name), depth + 1) for name in inner)


def _size(beneath: Beneath, path: str) -> int:
    found = content(beneath, path, 1)
    return 0 if found is None else found.bytes_total


def _names(beneath: Beneath, path: str) -> frozenset[str]:
    return frozenset(name for name, _ in _entries(beneath, path))


def _folders(beneath: Beneath, path: str) -> Iterator[str]:
    """Links are not followed, so that no folder is seen twice."""
    return (
        name
        for name, is_folder in _entries(beneath, path)
        if is_folder and not name.startswith(".") and name not in _SKIPPED
    )


def _entries(beneath: Beneath, path: str) -> list[tuple[str, bool]]:
    try:
        with (
            beneath.folder(Place(".")) as start,
            inner_folder(start, path or ".") as folder,
            os.scandir(folder) as entries,
        ):
            return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    except (Refused, OSError):
        return []


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
