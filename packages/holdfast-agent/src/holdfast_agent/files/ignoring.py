"""What `.gitignore` files say: the nearest one that says anything about a path decides.

Those of the workspace's folder, of the folders down to where is looked, and of each folder below
count, also where there is no `.git`. Nothing else does: neither a user's own list nor `.git/info`.
"""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pathspec import GitIgnoreSpec

from holdfast_agent.files.kernel import (
    RESOLVE_BENEATH,
    RESOLVE_NO_MAGICLINKS,
    RESOLVE_NO_SYMLINKS,
    openat2,
)

GITIGNORE: Final = b".gitignore"
GITIGNORE_BYTES_MAX: Final = 64 * 1024
_RESOLVE: Final = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS


@dataclass(frozen=True, slots=True)
class Rules:
    """One file's: for the paths that begin with `base`, which is empty or ends with a slash."""

    base: str
    spec: GitIgnoreSpec


def rules_in(folder: int, base: str) -> tuple[Rules, ...]:
    """`folder` is a descriptor; none or one."""
    try:
        descriptor = openat2(folder, GITIGNORE, os.O_RDONLY | os.O_NONBLOCK, _RESOLVE)
    except OSError:
        return ()
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ()
        text = os.read(descriptor, GITIGNORE_BYTES_MAX).decode(errors="surrogateescape")
    finally:
        os.close(descriptor)
    lines = [line for line in text.splitlines() if _understood(line)]
    return (Rules(base, GitIgnoreSpec.from_lines(lines)),) if lines else ()


def _understood(line: str) -> bool:
    """One line that is no pattern does not spoil the others."""
    try:
        return bool(GitIgnoreSpec.from_lines([line]).patterns) and not line.startswith("#")
    except ValueError:
        return False


def ignored(rules: Sequence[Rules], path: str) -> bool:
    """`path` from the root; a folder's ends with a slash."""
    for each in reversed(rules):
        decided = each.spec.check_file(path[len(each.base) :]).include
        if decided is not None:
            return decided
    return False
