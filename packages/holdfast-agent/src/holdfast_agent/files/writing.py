"""Write a file so that every reader sees the whole old one or the whole new one.

The new file is made beside the old one, in the same folder, and takes its place in one step. Where
the file system can, the two are *exchanged*: then the old one is at hand, can be held against what
was read before, and put back if another program has changed it meanwhile. A process that keeps the
old file open and writes to it later writes to what is gone; nothing can be done about that.

The last step of the path is never a link: what would be replaced is the link. Mode and owner stay;
the setuid and setgid bits do not.
"""

import errno
import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, Literal

from holdfast_agent.faults import Refused
from holdfast_agent.files import diffs
from holdfast_agent.files.beneath import (
    Beneath,
    OpenFile,
    Place,
    opened,
    read_all,
    servable,
    taken,
)
from holdfast_agent.files.gitplaces import refuse_git, refuse_head
from holdfast_agent.files.kernel import RENAME_EXCHANGE, RENAME_NOREPLACE, renameat2
from holdfast_agent.files.refusals import refused_for
from holdfast_agent.files.text import looks_binary, readable
from holdfast_agent.wire import FaultCode, WriteFile, Written

WRITE_BYTES_MAX: Final = 16 << 20
DIFF_BYTES_MAX: Final = 4 << 20
"""A file larger than that is replaced without a diff."""
TRIES_MAX: Final = 5
BESIDE: Final = ".holdfast-new-"
"""How the names of files begin that are not yet in their place."""
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_SPOT: Final = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


class Moved(Exception):
    """What was to be replaced is not what was read: nothing was written."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a file is to be: a folder, held open, and a name in it."""

    folder: int
    name: bytes
    place: Place
    guards_git: bool = True


def write(beneath: Beneath, asked: WriteFile) -> Written:
    beneath = beneath.by(asked.links)
    place = beneath.place(asked.path)
    data = asked.text.encode()
    if len(data) > WRITE_BYTES_MAX:
        message = f"{len(data):,} bytes are too many: {WRITE_BYTES_MAX:,} at most at once."
        raise Refused(FaultCode.TOO_LARGE, message)
    with spot(beneath, place, parents="made" if asked.how != "replace" else "there") as here:
        for _ in range(TRIES_MAX):
            try:
                return _write_once(here, asked, data)
            except Moved:  # the diff would be another one, or the file is there only now
                continue
    message = (
        f"`{place.shown}` is being changed by another program. Nothing was written; try again."
    )
    raise Refused(FaultCode.CONFLICT, message)


def _write_once(here: Spot, asked: WriteFile, data: bytes) -> Written:
    shown = here.place.shown
    with existing(here) as file:
        if file is None and asked.how == "replace":
            message = f"There is no `{shown}` to replace. Use mode create or any."
            raise Refused(FaultCode.NOT_FOUND, message)
        if file is not None and asked.how == "create":
            message = f"`{shown}` exists already. Use mode replace or any, or another path."
            raise Refused(FaultCode.CONFLICT, message)
        small = file is not None and file.stat.st_size <= DIFF_BYTES_MAX
        old = read_all(file, here.place, WRITE_BYTES_MAX) if file and small else None
        with staged(here, data, file.stat if file else None) as new:
            new.swap(file, old)
    return Written(
        path=shown,
        bytes_written=len(data),
        lines=len(diffs.lines_of(asked.text)),
        created=file is None,
        diff="" if file and old is None else _diff(shown, old, data),
    )


def _diff(shown: str, old: bytes | None, new: bytes) -> str:
    if len(new) > DIFF_BYTES_MAX:
        return ""
    if any(looks_binary(each) for each in (old or b"", new)):
        return ""
    return diffs.unified(shown, None if old is None else readable(old), readable(new))


@contextmanager
def spot(beneath: Beneath, place: Place, *, parents: Literal["made", "there"]) -> Generator[Spot]:
    """`parents`: folders on the way that are missing are made, or must be there."""
    folder, _, name = place.path.rpartition("/")
    if name in (".", ".."):
        raise Refused(FaultCode.BAD_REQUEST, f"`{place.shown}` is a folder, not a file.")
    above = Place(folder or ".")
    if parents == "made":
        _make_folders(beneath, above)
    with beneath.folder(above) as descriptor:
        if beneath.guards_git:
            with beneath.root() as root, refused_for(place.shown):
                refuse_git(root, descriptor, name, place.shown)
        yield Spot(descriptor, os.fsencode(name), place, beneath.guards_git)


def _make_folders(beneath: Beneath, folder: Place) -> None:
    steps = folder.path.split("/")
    for count in range(1, len(steps) + 1):
        path = Place("/".join(steps[:count]))
        with beneath.root() as root, refused_for(path.shown):
            try:
                os.close(opened(root, path.encoded, os.O_PATH, beneath.resolve))
            except FileNotFoundError:
                above = os.fsencode("/".join(steps[: count - 1]) or ".")
                flags = os.O_PATH | os.O_DIRECTORY
                descriptor = opened(root, above, flags, beneath.resolve)
                try:
                    if beneath.guards_git:
                        refuse_git(root, descriptor, steps[count - 1], path.shown)
                    with suppress(FileExistsError):  # another program made it, or it is a dead link
                        os.mkdir(os.fsencode(steps[count - 1]), dir_fd=descriptor)
                finally:
                    os.close(descriptor)


@contextmanager
def existing(here: Spot) -> Generator[OpenFile | None]:
    """The file that is there, if there is one; anything else that may be there is refused."""
    descriptor = None
    with refused_for(here.place.shown), suppress(FileNotFoundError):
        descriptor = os.open(here.name, _SPOT, dir_fd=here.folder)
    if descriptor is None:
        yield None
        return
    if stat.S_ISLNK(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Refused(FaultCode.BAD_REQUEST, _is_link(here))
    with taken(descriptor, here.place) as file:
        yield file


def _is_link(here: Spot) -> str:
    message = f"`{here.place.shown}` is a link, and links are not written through."
    with suppress(OSError):
        target = Place(os.fsdecode(os.readlink(here.name, dir_fd=here.folder)))
        message += f" It points to `{target.shown[:500]}`: give the path of that."
    return message


@dataclass(slots=True)
class Staged:
    """A new file that lies beside its place, and after the swap the old one, until the end."""

    here: Spot
    beside: bytes
    swapped: bool = False
    exchanged: bool = False
    removed: bool = False

    def swap(self, file: OpenFile | None, old: bytes | None) -> None:
        """Take the place of `file`, whose content is `old` if that matters. Raises `Moved`."""
        if file is None:
            self._take_free_place()
            return
        try:
            renameat2(self.here.folder, self.beside, self.here.name, RENAME_EXCHANGE)
        except FileNotFoundError:
            raise Moved from None
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            self._replace(file, old)
            return
        self.swapped = self.exchanged = True
        if not self._same(self.beside, file, old):
            self.back()
            raise Moved

    def remove(self, file: OpenFile, old: bytes) -> None:
        """Take `file` away, whose content is `old`. Raises `Moved`. The staged file is replaced by
        it: `back` restores it."""
        folder = self.here.folder
        try:
            os.rename(self.here.name, self.beside, src_dir_fd=folder, dst_dir_fd=folder)
        except FileNotFoundError:
            raise Moved from None
        self.removed = True
        if not self._same(self.beside, file, old):
            self.back()
            raise Moved

    def back(self) -> None:
        """As it was before the swap or the removal."""
        if self.removed:
            folder = self.here.folder
            with suppress(FileExistsError):  # another program made one meanwhile
                try:
                    renameat2(folder, self.beside, self.here.name, RENAME_NOREPLACE)
                except OSError as error:
                    if error.errno != errno.EINVAL:
                        raise
                    os.link(self.beside, self.here.name, src_dir_fd=folder, dst_dir_fd=folder)
            self.removed = False
            return
        if self.exchanged:
            renameat2(self.here.folder, self.beside, self.here.name, RENAME_EXCHANGE)
        elif self.swapped:
            os.unlink(self.here.name, dir_fd=self.here.folder)
        self.swapped = self.exchanged = False

    def _take_free_place(self) -> None:
        try:
            renameat2(self.here.folder, self.beside, self.here.name, RENAME_NOREPLACE)
        except FileExistsError:
            raise Moved from None
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            folder = self.here.folder
            try:  # a second name is made only where there is none, on every file system
                os.link(self.beside, self.here.name, src_dir_fd=folder, dst_dir_fd=folder)
            except FileExistsError:
                raise Moved from None
        self.swapped = True

    def _replace(self, file: OpenFile, old: bytes | None) -> None:
        """Without an exchange: look, then replace. Who writes between the two is overwritten."""
        folder = self.here.folder
        if not self._same(self.here.name, file, old):
            raise Moved
        os.rename(self.beside, self.here.name, src_dir_fd=folder, dst_dir_fd=folder)

    def _same(self, name: bytes, file: OpenFile, old: bytes | None) -> bool:
        """Whether the file of this name is the one that was read, and still says the same."""
        try:
            descriptor = os.open(name, _SPOT, dir_fd=self.here.folder)
        except OSError:
            return False
        try:
            servable(os.fstat(descriptor), self.here.place.shown)
        except Refused:
            os.close(descriptor)
            return False
        with taken(descriptor, self.here.place) as now:
            if old is None:
                return now.identity == file.identity
            try:
                return read_all(now, self.here.place, len(old)) == old
            except Refused:  # it has grown
                return False


@contextmanager
def staged(here: Spot, data: bytes, like: os.stat_result | None) -> Generator[Staged]:
    """In the end whatever lies beside the place is gone: the new file if it was not swapped in."""
    if here.guards_git:
        refuse_head(os.fsdecode(here.name), data, here.place.shown)
    name = f"{BESIDE}{secrets.token_hex(8)}".encode()
    with refused_for(here.place.shown):
        descriptor = os.open(name, _NEW, 0o666 if like is None else 0o600, dir_fd=here.folder)
        try:
            try:
                _fill(descriptor, data, like)
            finally:
                os.close(descriptor)
            yield Staged(here, name)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=here.folder)


def _fill(descriptor: int, data: bytes, like: os.stat_result | None) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    if like is not None:
        with suppress(PermissionError):  # only root can give files away
            os.fchown(descriptor, like.st_uid, like.st_gid)
        os.fchmod(descriptor, like.st_mode & 0o777)
    os.fsync(descriptor)  # a crash after the rename would else leave an empty file
