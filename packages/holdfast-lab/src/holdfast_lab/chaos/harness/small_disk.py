"""A filesystem that is small enough to be filled, without filling the machine's own."""

import ctypes
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast_lab.chaos.attack import CannotTry

BLOCK: Final = bytes(64 * 1024)
PAGE: Final = BLOCK[:4096]
MNT_DETACH: Final = 2


@dataclass(frozen=True)
class SmallDisk:
    folder: Path

    def fill(self) -> None:
        """To the last page."""
        with self._ballast.open("ab", buffering=0) as ballast:
            for piece in (BLOCK, PAGE):
                with suppress(OSError):  # there is no space left: that is the point
                    while ballast.write(piece) == len(piece):
                        pass

    def make_space(self) -> None:
        self._ballast.unlink(missing_ok=True)

    @property
    def _ballast(self) -> Path:
        return self.folder / "ballast"


@contextmanager
def small_disk(folder: Path, size_mb: int) -> Generator[SmallDisk]:
    """In this folder, for as long as it is needed. Raises `CannotTry` if we may not mount one."""
    folder.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"size={size_mb}m,mode=0711".encode()
    if libc.mount(b"holdfast", str(folder).encode(), b"tmpfs", 0, options) != 0:
        why = os.strerror(ctypes.get_errno())
        raise CannotTry(f"no filesystem of a size of its own can be mounted here: {why}")
    try:
        yield SmallDisk(folder)
    finally:
        # Detached: a process with an open file in it keeps that until it ends.
        libc.umount2(str(folder).encode(), MNT_DETACH)
