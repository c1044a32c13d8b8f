"""Where a file tool writes nothing: what git would run or obey outside the workspace.

A person uses git on the same folder, outside: `git status` there runs what `.git/config` names, and
`git commit` runs `.git/hooks`. So nothing beneath a folder of git's own is written, no file that
names one (`.git` of a worktree or a submodule), and no `HEAD`, which makes a folder one. A folder
is judged by its open descriptor: whatever links the path went through, the kernel says where it
lies. Commands change a repository by git itself; `sandbox/gitguard.py` keeps hooks and
configuration from them.
"""

import os
import re
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Final

from holdfast_agent.faults import Refused
from holdfast_agent.files.naming import GIT
from holdfast_agent.wire import FaultCode

REFUSED: Final = (
    "`{path}` belongs to a git repository: it could run code for the next person who uses git here."
    " File tools do not write there. Nothing was written. Use git commands for commits and"
    " branches; hooks and configuration are changed by a person."
)
_MARKS: Final = ("HEAD", "objects")
_HEAD_BYTES: Final = re.compile(rb"\s*(?:ref:|[0-9a-f]{40})")
_IGNORED: Final = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
"""Characters that some file systems leave out of a name: git takes such a name for `.git`, too."""


def refuse_git(root: int, folder: int, name: str, shown: str) -> None:
    """Raise `Refused` if `name` in the open folder is git's. `root`: of the workspace, open."""
    below = _below(root, folder)
    if is_git_name(name) or any(is_git_name(step) for step in below.parts):
        raise Refused(FaultCode.OUTSIDE, REFUSED.format(path=shown))
    for count in range(len(below.parts) + 1):
        if _is_repository(root, PurePosixPath(*below.parts[:count])):
            raise Refused(FaultCode.OUTSIDE, REFUSED.format(path=shown))


def refuse_head(name: str, data: bytes, shown: str) -> None:
    """A folder becomes a repository by the `HEAD` in it, under whatever name."""
    if name.casefold() == "head" and _HEAD_BYTES.match(data):
        raise Refused(FaultCode.OUTSIDE, REFUSED.format(path=shown))


def is_git_name(name: str) -> bool:
    """As git compares: without case, and as the file systems of other machines read it."""
    plain = _IGNORED.sub("", name).casefold().rstrip(". ")
    return plain in {GIT, "git~1"}


def _below(root: int, folder: int) -> PurePosixPath:
    """Where the folder lies in the workspace now."""
    top, here = (os.readlink(f"/proc/self/fd/{each}") for each in (root, folder))
    if here == top:
        return PurePosixPath()
    return PurePosixPath(here.removeprefix(top.rstrip("/") + "/"))


def _is_repository(root: int, path: PurePosixPath) -> bool:
    """A folder of git's own that is called otherwise: bare, or beside its work tree."""
    with suppress(OSError):
        for mark in _MARKS:
            os.stat(path / mark, dir_fd=root, follow_symlinks=False)
        return True
    return False
