"""Two system calls that the standard library does not have: openat2 and renameat2.

`openat2` resolves a whole path in the kernel under rules that hold for every step of it, also while
a program exchanges folders for links. A check before the open cannot do that: the path may be
another one by then (reliability.md, F8).
"""

import ctypes
import errno
import os
import platform
from collections.abc import Mapping
from typing import Final

RESOLVE_NO_MAGICLINKS: Final = 0x02
RESOLVE_NO_SYMLINKS: Final = 0x04
RESOLVE_BENEATH: Final = 0x08
RENAME_NOREPLACE: Final = 1
RENAME_EXCHANGE: Final = 2

_OPENAT2: Final = 437  # one number on every architecture that we know
_RENAMEAT2: Final[Mapping[str, int]] = {
    "x86_64": 316,
    "aarch64": 276,
    "riscv64": 276,
    "ppc64le": 357,
    "s390x": 347,
}
TRIES_MAX: Final = 1000
"""The kernel fails with EAGAIN on `..` while any file is being renamed: try again."""
_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def openat2(folder: int, path: bytes, flags: int, resolve: int) -> int:
    """A new descriptor, closed on exec. Raises OSError: EXDEV where the path leads out."""
    assert b"\0" not in path, "a path would end there, unseen"
    how = _How(flags | os.O_CLOEXEC, 0, resolve)
    for _ in range(TRIES_MAX):
        descriptor = _LIBC.syscall(
            ctypes.c_long(_OPENAT2),
            ctypes.c_int(folder),
            ctypes.c_char_p(path),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if descriptor >= 0:
            return descriptor
        if ctypes.get_errno() not in (errno.EAGAIN, errno.EINTR):
            break
    code = ctypes.get_errno()
    raise OSError(code, os.strerror(code), path)


def renameat2(folder: int, old: bytes, new: bytes, flags: int) -> None:
    """Within one folder. Raises OSError: EINVAL where the file system cannot do it."""
    number = _RENAMEAT2.get(platform.machine())
    if number is None:
        raise OSError(errno.EINVAL, "renameat2 has no number here", new)
    done = _LIBC.syscall(
        ctypes.c_long(number),
        ctypes.c_int(folder),
        ctypes.c_char_p(old),
        ctypes.c_int(folder),
        ctypes.c_char_p(new),
        ctypes.c_uint(flags),
    )
    if done < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), new)
