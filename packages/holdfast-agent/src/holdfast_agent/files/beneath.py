"""Open what lies in the workspace and nothing else.

Every open starts at the root's descriptor and is resolved by the kernel in one call, beneath it.
Links are followed as long as they stay inside; an absolute link counts as leaving, wherever it
points. A file is first opened as a mere place (`O_PATH`), which neither waits for the other end of
a FIFO nor wakes a device, and for reading only if it is a regular file with one name. A file with
several names (hard links) may also be a file outside the workspace, so it is not served.
"""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast_agent.faults import Refused
from holdfast_agent.files import paths
from holdfast_agent.files.kernel import (
    RESOLVE_BENEATH,
    RESOLVE_NO_MAGICLINKS,
    RESOLVE_NO_SYMLINKS,
    openat2,
)
from holdfast_agent.files.refusals import NO_OPENAT2, refused_for
from holdfast_agent.wire import FaultCode, Links

INSIDE: Final = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS
WITHOUT_LINKS: Final = INSIDE | RESOLVE_NO_SYMLINKS
_READ: Final = os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Place:
    """A path within the workspace."""

    path: str
    """From the root, as the operating system knows it; `.` is the root."""

    @property
    def shown(self) -> str:
        return paths.shown(self.path)

    @property
    def encoded(self) -> bytes:
        return os.fsencode(self.path)


@dataclass(frozen=True, slots=True)
class OpenFile:
    descriptor: int
    stat: os.stat_result

    @property
    def identity(self) -> tuple[int, int]:
        return self.stat.st_dev, self.stat.st_ino


class Beneath:
    """The workspace's folder: the only door to its files."""

    def __init__(self, root: Path, *, seen_as: str | None = None, guards_git: bool = True) -> None:
        self.guards_git = guards_git
        """Whether git's own folders are read only (`gitplaces.py`)."""
        self.resolve = INSIDE
        """How the kernel resolves a path."""
        self._root = root.absolute()
        self._names = tuple({seen_as or str(self._root): None, str(self._root): None})

    def by(self, links: Links) -> "Beneath":
        """The same folder, with links treated as they are to be."""
        if links == "followed":
            return self
        strict = copy(self)
        strict.resolve = WITHOUT_LINKS
        return strict

    def place(self, said: str) -> Place:
        """What is meant by `said`; whether it is there, the kernel says when it is opened."""
        try:
            place = Place(paths.relative(said, self._names))
        except paths.BadPath as bad:
            raise Refused(FaultCode.BAD_REQUEST, f"That is no path: {bad}.") from bad
        except paths.OutsidePath as outside:
            message = (
                f"`{paths.shown(str(outside))[:500]}` lies outside the workspace, whose folder is"
                f" `{self._names[0]}`. Give a path in it, absolute or relative to it."
            )
            raise Refused(FaultCode.OUTSIDE, message) from outside
        if len(place.shown) > paths.SHOWN_CHARS_MAX:
            raise Refused(FaultCode.BAD_REQUEST, "That path is too long.")
        return place

    @contextmanager
    def root(self) -> Generator[int]:
        """Opened anew each time: the folder may have been made anew."""
        with refused_for(str(self._root)):
            descriptor = os.open(self._root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def folder(self, place: Place) -> Generator[int]:
        """Only for use as the start of further opens."""
        with self.root() as root, refused_for(place.shown):
            descriptor = opened(root, place.encoded, os.O_PATH | os.O_DIRECTORY, self.resolve)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def file(self, place: Place) -> Generator[OpenFile]:
        """For reading."""
        with self.root() as root, refused_for(place.shown):
            spot = opened(root, place.encoded, os.O_PATH, self.resolve)
        with taken(spot, place) as file:
            yield file


def opened(folder: int, path: bytes, flags: int, resolve: int) -> int:
    """`openat2`, or `Refused` where the system has none: there is no second way to open a path."""
    try:
        return openat2(folder, path, flags, resolve)
    except OSError as error:
        # Old container runtimes answer EPERM to calls that they do not know. An O_PATH open needs
        # no permission on the file itself and never gives EPERM for it.
        unknown = error.errno == errno.EPERM and flags & os.O_PATH
        if error.errno == errno.ENOSYS or unknown:
            raise Refused(FaultCode.FAILED, NO_OPENAT2) from error
        raise


@contextmanager
def taken(spot: int, place: Place) -> Generator[OpenFile]:
    """The file at `spot`, an `O_PATH` descriptor that is closed here, opened for reading."""
    try:
        found = os.fstat(spot)
        servable(found, place.shown)
        with refused_for(place.shown):
            # Through the descriptor: it is the very file that was looked at, whatever its name
            # stands for by now. Not waiting: another process may hold a lease on it.
            descriptor = os.open(f"/proc/self/fd/{spot}", _READ)
    finally:
        os.close(spot)
    try:
        yield OpenFile(descriptor, found)
    finally:
        os.close(descriptor)


def servable(found: os.stat_result, shown: str) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise Refused(FaultCode.BAD_REQUEST, f"`{shown}` is a folder. List it instead.")
    if not stat.S_ISREG(found.st_mode):
        message = f"`{shown}` is {_kind(found.st_mode)}, not a file. Only plain files are served."
        raise Refused(FaultCode.BAD_REQUEST, message)
    if found.st_nlink > 1:
        message = (
            f"`{shown}` has {found.st_nlink} names (hard links), and one of them may lie outside"
            " the workspace. Use a command on it, or make a copy and use that."
        )
        raise Refused(FaultCode.OUTSIDE, message)


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a FIFO"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a link" if stat.S_ISLNK(mode) else "a device"


def read_all(file: OpenFile, place: Place, bytes_max: int) -> bytes:
    """All of it, or `Refused` if that is too much, also if it grew since it was opened."""
    got = bytearray()
    while part := os.read(file.descriptor, min(1 << 20, bytes_max + 1 - len(got))):
        got += part
        if len(got) > bytes_max:
            message = f"`{place.shown}` has more than {bytes_max:,} bytes. Use a command for it."
            raise Refused(FaultCode.TOO_LARGE, message)
    return bytes(got)
