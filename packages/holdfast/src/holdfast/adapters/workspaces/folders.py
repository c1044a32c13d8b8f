"""Removing a folder with untrusted content: no link is followed, and no depth, mode or number of
files stops it."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
GONE: Final = ".gone"


def remove(parent: Path, name: str) -> None:
    """`parent/name` and all below it, in place of which there is nothing at once.

    Folders are moved up beside the others before they are emptied, so that one level of depth is
    all there ever is: no path grows too long, and no more than three are open at once.
    """
    assert name == Path(name).name, name
    pit = f"{GONE}-{name}"
    try:
        top = os.open(parent, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return  # nothing was ever made there
    try:
        _make(pit, top)
        pit_fd = os.open(pit, _FOLDER, dir_fd=top)
        try:
            _throw(name, top, _free_number(pit_fd, 0), pit_fd)
            _empty(pit_fd)
        finally:
            os.close(pit_fd)
        os.rmdir(pit, dir_fd=top)
    except FileNotFoundError:
        pass  # another process removes the same folder
    finally:
        os.close(top)


def _make(name: str, at: int) -> None:
    with suppress(FileExistsError):  # an earlier try that did not end
        os.mkdir(name, 0o700, dir_fd=at)


def _empty(pit: int) -> None:
    number = 0
    while names := os.listdir(pit):
        for name in names:
            if not _is_folder(name, pit):
                os.unlink(name, dir_fd=pit)
                continue
            inner = _open_anyway(name, pit)
            try:
                for below in os.listdir(inner):
                    if _is_folder(below, inner):
                        number = _free_number(pit, number)
                        _throw(below, inner, number, pit)
                    else:
                        os.unlink(below, dir_fd=inner)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=pit)


def _throw(name: str, source: int, number: int, pit: int) -> None:
    try:
        os.close(_open_anyway(name, source))  # a folder that may not be written cannot be moved
    except NotADirectoryError:
        pass
    except FileNotFoundError:
        return
    os.rename(name, str(number), src_dir_fd=source, dst_dir_fd=pit)


def _free_number(pit: int, number: int) -> int:
    while True:
        number += 1
        try:
            os.stat(str(number), dir_fd=pit, follow_symlinks=False)
        except FileNotFoundError:
            return number


def _is_folder(name: str, at: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode)


def _open_anyway(name: str, at: int) -> int:
    """Open a folder whatever its mode. The mode is set through what was opened, not by name: behind
    a name there could be a link by now."""
    handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
    try:
        if stat.S_IMODE(os.fstat(handle).st_mode) & 0o700 != 0o700:
            os.chmod(f"/proc/self/fd/{handle}", 0o700)
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=handle)
    finally:
        os.close(handle)
