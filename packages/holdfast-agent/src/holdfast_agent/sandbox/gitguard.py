"""A command can commit, but not plant what git would run outside: hooks and configuration.

They are bound read only over themselves, and `.git` is bound, too, as a mount point can be neither
moved aside nor made anew. Bubblewrap follows links when it binds, so no process may be able to
exchange a file for a link between our look and its mount. A guarded command cannot: what it would
have to exchange is a mount point to it. So the guard is set while all running commands have the
same one, or there are none. Where an unguarded one runs (it made the repository just now), the
guard would keep nothing from it that it does not have: the next command is unguarded, too.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TypeAlias

Identity: TypeAlias = tuple[tuple[str, int, int], ...]
"""Name, device and inode of each file that is guarded; empty: nothing is."""
_NAMES = (".git", ".git/hooks", ".git/config", ".git/config.worktree")


@dataclass(slots=True)
class GitGuard:
    root: Path
    inside: str
    _running: dict[str, Identity] = field(default_factory=dict[str, Identity])

    def begins(self, key: str) -> Iterator[str]:
        """Arguments for bubblewrap, after those that bind the workspace."""
        found = self._look()
        if any(other != found for other in self._running.values()):
            found = ()
        self._running[key] = found
        for name, _, _ in found:
            bind = "--bind" if name == ".git" else "--ro-bind"
            yield from (bind, str(self.root / name), f"{self.inside}/{name}")

    def ended(self, key: str) -> None:
        self._running.pop(key, None)

    def _look(self) -> Identity:
        git = self.root / ".git"
        try:
            if not S_ISDIR(git.lstat().st_mode) or not S_ISREG((git / "config").lstat().st_mode):
                return ()
            if not self._running:  # a running command could replace what we make by a link
                self._complete(git)
            return tuple(self._identities())
        except OSError:
            return ()

    def _complete(self, git: Path) -> None:
        """What is not there could be made by the command; so it is made, empty, before."""
        if not os.path.lexists(git / "hooks"):
            (git / "hooks").mkdir()
        extended = "worktreeconfig" in (git / "config").read_text(errors="replace").lower()
        if extended and not os.path.lexists(git / "config.worktree"):
            (git / "config.worktree").touch(exist_ok=False)

    def _identities(self) -> Iterator[tuple[str, int, int]]:
        for name in _NAMES:
            try:
                found = (self.root / name).lstat()
            except FileNotFoundError:
                continue
            if S_ISDIR(found.st_mode) or S_ISREG(found.st_mode):
                yield (name, found.st_dev, found.st_ino)
