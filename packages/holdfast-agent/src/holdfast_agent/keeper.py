"""Stands above a command where the kernel gives no namespace: adopts what it leaves, and ends it.

    python -I -S keeper.py argv…

A program of its own, on the standard library alone, for it is started with every command. It adopts
every orphan of the tree, so that nothing gets out of sight. When the command ends it kills the
rest; so it does when its line to the agent (descriptor 2) closes, for then the agent is dead.
"""

import ctypes
import os
import select
import signal
import sys
from collections.abc import Iterator
from typing import Final

PR_SET_CHILD_SUBREAPER: Final = 36
BY_SIGNAL: Final = 128
CANNOT_RUN: Final = 127
LINE: Final = 2
BURY_MS: Final = 2


def main(argv: list[str]) -> int:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    command = os.fork()
    if command == 0:
        _become(argv)
    pidfd = os.pidfd_open(command)
    # We must not hold the command's pipe, or its reader would never see the end.
    os.close(0)
    os.close(1)
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    poll.register(LINE, select.POLLIN | select.POLLHUP)
    status: int | None = None
    while status is None:
        cut = any(fd == LINE for fd, _event in poll.poll(1000))
        if cut:
            break
        status = _bury(command)
    while _kill_all():
        status = _or(status, _bury(command))
        select.poll().poll(BURY_MS)
    status = _or(status, _bury(command))
    return _code(status)


def _become(argv: list[str]) -> None:
    os.dup2(1, LINE)
    # Python ignores it, and what is ignored stays so: `yes | head` would never end.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execv(argv[0], argv)  # noqa: S606 - all that it is for
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(CANNOT_RUN)


def _or(first: int | None, second: int | None) -> int | None:
    return second if first is None else first


def _bury(command: int) -> int | None:
    """Every child that has ended; the command's status, if it was among them."""
    status = None
    while True:
        try:
            pid, how = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == command:
            status = how


def _kill_all() -> int:
    """How many of our descendants were there to be killed."""
    parents = dict(_parents())
    ours = {os.getpid()}
    while found := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= found
    ours.discard(os.getpid())
    for pid in ours:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return len(ours)


def _parents() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                stat = file.read()
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield int(name), int(stat[stat.rindex(b")") + 2 :].split()[1])


def _code(status: int | None) -> int:
    if status is None:
        return BY_SIGNAL + signal.SIGKILL
    if os.WIFSIGNALED(status):
        return BY_SIGNAL + os.WTERMSIG(status)
    return os.WEXITSTATUS(status)


if __name__ == "__main__":
    # Not `sys.exit`: it would flush what is closed by now.
    os._exit(main(sys.argv[1:]))
