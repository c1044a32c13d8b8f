"""The whole output of long commands, as files of the workspace: `.holdfast/out/p7.log`.

The ring keeps the beginning and the end in memory. A command that writes more than `SAVED_FROM`
bytes gets a file, in which a model reads the middle. A file has at most `FILE_BYTES_MAX` bytes, and
there are at most `FILES_MAX` files with `ALL_BYTES_MAX` bytes: the oldest files of commands that
have ended are deleted first. git ignores the directory.

Commands can change the directory, so nothing in it is believed: no link is followed, and a file is
always a new one. If it cannot be written, the command runs all the same, without a file.
"""

import os
import re
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from holdfast_agent.faults import Refused
from holdfast_agent.files.beneath import WITHOUT_LINKS, opened
from holdfast_agent.sandbox.person import Person, ourselves

FOLDER: Final = (b".holdfast", b"out")
SAVED_FROM: Final = 16 * 1024
FILE_BYTES_MAX: Final = 16 * 1024 * 1024
FILES_MAX: Final = 64
ALL_BYTES_MAX: Final = 256 * 1024 * 1024
_NAME: Final = re.compile(r"p[0-9]+(-[0-9a-f]{6})?\.log")
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PLACE: Final = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


class SavedFile:
    """The file of one command. `descriptor`: closed here."""

    def __init__(self, name: str, descriptor: int, bytes_max: int) -> None:
        self.name = name
        self.size = 0
        self.is_open = True
        self._descriptor = descriptor
        self._bytes_max = bytes_max

    @property
    def path(self) -> str:
        return path_of(self.name)

    def write(self, data: bytes) -> None:
        """As much as there is room for; after an error nothing more."""
        rest = memoryview(data)[: self._bytes_max - self.size]
        try:
            while self.is_open and rest:
                written = os.write(self._descriptor, rest)
                self.size += written
                rest = rest[written:]
        except OSError:
            self.close()

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            os.close(self._descriptor)


class SavedOutputs:
    """All files of a workspace. `root`: its folder."""

    def __init__(
        self,
        root: Path,
        *,
        file_bytes_max: int = FILE_BYTES_MAX,
        files_max: int = FILES_MAX,
        all_bytes_max: int = ALL_BYTES_MAX,
        person: Person | None = None,
    ) -> None:
        assert file_bytes_max <= all_bytes_max
        self._root = root
        self._person = person or ourselves()
        self._file_bytes_max = file_bytes_max
        self._files_max = files_max
        self._all_bytes_max = all_bytes_max
        with self._person.files():
            self._closed = _sizes(root)
        """Size by name, the oldest first."""
        self._open: dict[str, SavedFile] = {}

    def has(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        return name in self._open or name in self._closed

    def create(self, process_id: str) -> SavedFile | None:
        """A new file; None if there is no room for it, or the workspace does not let us."""
        with self._person.files():
            return self._create_with_room(process_id)

    def _create_with_room(self, process_id: str) -> SavedFile | None:
        try:
            folder = _folder(self._root)
        except (OSError, Refused):
            return None
        try:
            if not self._make_room(folder):
                return None
            return self._create(folder, process_id)
        except OSError:
            return None
        finally:
            os.close(folder)

    def close(self, file: SavedFile) -> None:
        """Nothing will follow."""
        file.close()
        if self._open.pop(file.name, None) is not None:
            self._closed[file.name] = file.size

    def _create(self, folder: int, process_id: str) -> SavedFile:
        name = f"{process_id}.log"
        if name in self._open or name in self._closed or _exists(folder, name):
            name = f"{process_id}-{secrets.token_hex(3)}.log"  # another chat's, or a command's own
        descriptor = os.open(name, _NEW, 0o644, dir_fd=folder)
        file = self._open[name] = SavedFile(name, descriptor, self._file_bytes_max)
        return file

    def _make_room(self, folder: int) -> bool:
        """For one more file of full size. Those that are open may still grow to theirs."""
        left = self._all_bytes_max - (len(self._open) + 1) * self._file_bytes_max
        while self._closed and (
            sum(self._closed.values()) > left
            or len(self._closed) + len(self._open) >= self._files_max
        ):
            oldest = next(iter(self._closed))
            with suppress(FileNotFoundError):
                os.unlink(oldest, dir_fd=folder)
            del self._closed[oldest]
        return left >= 0 and len(self._open) < self._files_max


def path_of(name: str) -> str:
    return "/".join((*(part.decode() for part in FOLDER), name))


def _folder(root: Path) -> int:
    """Its descriptor; it is made if it is not there. Raises `OSError` or `Refused`."""
    descriptor = os.open(root, _PLACE)
    for name in FOLDER:
        above = descriptor
        try:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=above)
            descriptor = opened(above, name, _PLACE, WITHOUT_LINKS)
        finally:
            os.close(above)
    with suppress(OSError):  # it is there already
        ignoring = os.open(".gitignore", _NEW, 0o644, dir_fd=descriptor)
        try:
            os.write(ignoring, b"*\n")
        finally:
            os.close(ignoring)
    return descriptor


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _sizes(root: Path) -> dict[str, int]:
    """The files that an agent before us left."""
    try:
        with os.scandir(root.joinpath(*(part.decode() for part in FOLDER))) as found:
            files = [
                (entry.stat(follow_symlinks=False), entry.name)
                for entry in found
                if _NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
            ]
    except OSError:
        return {}
    return {name: stat.st_size for stat, name in sorted(files, key=lambda each: each[0].st_mtime)}
