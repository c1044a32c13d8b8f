"""Process trees as the kernel shows them in /proc: who descends from whom, and signals to them.

A process id alone may belong to another process by the time it is used: every signal goes through a
pidfd that is opened first and compared with what was seen.

The agent adopts what loses its parent (`adopt_orphans`): whatever a launcher leaves behind when it
dies becomes a child of the agent. Such a *stranger* is told from the agent's own children by its
session: every command begins one of its own, and nothing ever gets back into the agent's. Helpers
that were there before the first command (`family`) may have one, too.
"""

import contextlib
import ctypes
import os
import signal
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PR_SET_CHILD_SUBREAPER: Final = 36
_PROC: Final = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    pid: int
    parent: int
    born: int
    """In ticks since boot: with the pid, a name that is never given twice."""
    alive: bool
    """Not a zombie, which only waits to be reaped."""


def adopt_orphans() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def see(pid: int) -> Seen | None:
    try:
        # Hundreds of these are read in a row while a loop stands still.
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            stat = file.read(4096)
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in brackets may itself hold brackets and spaces.
    fields = stat[stat.rindex(b")") + 2 :].split()
    # A dead main thread whose siblings live on looks like a zombie, but is none.
    alive = fields[0] not in b"ZX" or int(fields[17]) > 1
    return Seen(pid=pid, parent=int(fields[1]), born=int(fields[19]), alive=alive)


def all_processes() -> Iterator[Seen]:
    for name in os.listdir(_PROC):
        if name.isdecimal() and (seen := see(int(name))) is not None:
            yield seen


def descendants(root: int) -> list[list[Seen]]:
    """The living below `root`, by generation: its children first."""
    children: dict[int, list[Seen]] = {}
    for seen in all_processes():
        children.setdefault(seen.parent, []).append(seen)
    generations: list[list[Seen]] = []
    generation = children.pop(root, [])
    while generation:
        if living := [seen for seen in generation if seen.alive]:
            generations.append(living)
        generation = [child for seen in generation for child in children.pop(seen.pid, [])]
    return generations


def send(seen: Seen, number: signal.Signals) -> bool:
    """Whether it was still there to get it."""
    try:
        pidfd = os.pidfd_open(seen.pid)
    except ProcessLookupError:
        return False
    try:
        now = see(seen.pid)
        if now is None or now.born != seen.born:
            return False
        signal.pidfd_send_signal(pidfd, number)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(pidfd)
    return True


def family() -> frozenset[tuple[int, int]]:
    """Our children as they are now."""
    return frozenset((seen.pid, seen.born) for seen in map(see, _children()) if seen is not None)


def strangers(roots: Collection[int], family: Collection[tuple[int, int]]) -> Iterator[Seen]:
    """Children of ours that we did not start: neither a root nor family, nor in our session."""
    ours = os.getsid(0)
    for pid in _children() - set(roots):
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(pid) == ours:
                continue
            seen = see(pid)
            if seen is not None and (seen.pid, seen.born) not in family:
                yield seen


def _children() -> set[int]:
    if not (_PROC / f"self/task/{os.getpid()}/children").exists():
        # A kernel without CONFIG_PROC_CHILDREN: all processes whose parent we are.
        return {seen.pid for seen in all_processes() if seen.parent == os.getpid()}
    found: set[int] = set()
    # Twice: the kernel may skip one if another ends while the list is read.
    for _ in range(2):
        for task in os.listdir(_PROC / "self" / "task"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                found.update(map(int, (_PROC / f"self/task/{task}/children").read_bytes().split()))
    return found
