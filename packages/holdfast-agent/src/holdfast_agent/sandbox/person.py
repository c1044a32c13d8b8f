"""As whom commands run, seen from outside: an ordinary user, if there is any way to it."""

import ctypes
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

CAP_KILL: Final = 5
CAP_SETGID: Final = 6
CAP_SETUID: Final = 7


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
            # What lets an agent that is no root become this user must not go along.
            *("--inh-caps", "-all", "--ambient-caps", "-all"),
            "--",
        )

    @contextmanager
    def files(self) -> Generator[None]:
        """In this thread, open and make files as this user would."""
        if self.uid == os.geteuid():
            yield
            return
        libc = _libc()
        gid, uid = libc.setfsgid(self.gid), libc.setfsuid(self.uid)
        try:
            yield
        finally:
            libc.setfsuid(uid)
            libc.setfsgid(gid)

    @property
    def can_be(self) -> bool:
        """Whether the kernel lets us run commands as this user, and end them."""
        if (self.uid, self.gid) == (os.geteuid(), os.getegid()):
            return True
        status = Path("/proc/self/status").read_text()
        held = int(status.partition("CapEff:")[2].split()[0], 16)
        return all(held >> number & 1 for number in (CAP_KILL, CAP_SETGID, CAP_SETUID))


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def ourselves() -> Person:
    return Person(os.geteuid(), os.getegid())


def person_for(root: Path) -> Person:
    """Our own user; but an agent that is root runs commands as the folder's owner if that is a
    user."""
    if os.geteuid() != 0:
        return Person(os.geteuid(), os.getegid())
    owner = root.stat()
    return Person(owner.st_uid, owner.st_gid)


@contextmanager
def ourselves_again() -> Generator[None]:
    """Within `Person.files`: as the agent's own user."""
    libc = _libc()
    gid, uid = libc.setfsgid(os.getegid()), libc.setfsuid(os.geteuid())
    try:
        yield
    finally:
        libc.setfsgid(gid)
        libc.setfsuid(uid)
