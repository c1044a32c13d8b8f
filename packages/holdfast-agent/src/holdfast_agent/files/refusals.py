"""What is said when files are not served: the operating system's words made into advice."""

import errno
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final

from holdfast_agent.faults import Refused
from holdfast_agent.wire import FaultCode

NO_OPENAT2: Final = (
    "Files are not served: this kernel does not let the agent use openat2 (Linux 5.6 or newer, and"
    " a container runtime that allows it). Without it a path could lead out of the workspace."
    " Use commands to read and write files, or run the agent on a newer system."
)
_SAID: Final[Mapping[int, tuple[FaultCode, str]]] = {
    errno.ENOENT: (
        FaultCode.NOT_FOUND,
        "There is no {path} in the workspace.",
    ),
    errno.ENOTDIR: (
        FaultCode.NOT_FOUND,
        "There is no {path}: it, or a parent of it, is not a directory.",
    ),
    errno.EXDEV: (
        FaultCode.OUTSIDE,
        "{path} leads out of the workspace (by `..`, or by a link that is absolute or leaves it)."
        " Only what lies inside is served.",
    ),
    errno.ELOOP: (
        FaultCode.OUTSIDE,
        "{path} goes through links that are not followed. Give the path of the real file.",
    ),
    errno.EACCES: (FaultCode.FAILED, "The system does not allow that for {path}: {reason}."),
    errno.EPERM: (FaultCode.FAILED, "The system does not allow that for {path}: {reason}."),
    errno.EROFS: (FaultCode.FAILED, "{path} lies on a file system that cannot be written."),
    errno.ENAMETOOLONG: (FaultCode.BAD_REQUEST, "The path {path} is too long for the system."),
    errno.ENOSPC: (
        FaultCode.FAILED,
        "The disk is full: {path} was not written. Delete what is not needed and try again.",
    ),
    errno.EDQUOT: (
        FaultCode.FAILED,
        "The disk quota is used up: {path} was not written. Delete what is not needed.",
    ),
    errno.EAGAIN: (FaultCode.FAILED, "{path} is held by another process. Try again."),
    errno.ENOSYS: (FaultCode.FAILED, NO_OPENAT2),
}


def refusal(error: OSError, path: str) -> Refused:
    """`path` as it is shown."""
    unknown = (FaultCode.FAILED, "{path}: {reason}.")
    code, sentence = _SAID.get(error.errno or 0, unknown)
    reason = error.strerror or type(error).__name__
    return Refused(code, sentence.format(path=f"`{path[:500]}`", reason=reason))


@contextmanager
def refused_for(path: str) -> Generator[None]:
    """What the operating system says no to inside is refused in our words."""
    try:
        yield
    except OSError as error:
        raise refusal(error, path) from error
