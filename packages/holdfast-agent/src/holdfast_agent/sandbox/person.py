"""As whom commands run, seen from outside: an ordinary user, if there is any way to it."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Person:
    uid: int
    gid: int

    @property
    def is_root(self) -> bool:
        return self.uid == 0

    def prefix(self) -> tuple[str, ...]:
        """What a launched program's words begin with: nothing where we are that user already."""
        if self.uid == os.geteuid():
            return ()
        return (
            shutil.which("setpriv") or "/usr/bin/setpriv",
            *("--reuid", str(self.uid), "--regid", str(self.gid), "--clear-groups"),
            "--",
        )


def person_for(root: Path) -> Person:
    """Our own user; but an agent that is root runs commands as the folder's owner if that is a
    user."""
    if os.geteuid() != 0:
        return Person(os.geteuid(), os.getegid())
    owner = root.stat()
    return Person(owner.st_uid, owner.st_gid)
