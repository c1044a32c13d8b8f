"""CPU and memory of processes, as the kernel counts them: of one, of a PostgreSQL server, of the
machine. Where there is no /proc, nothing is known."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
PROC: Final = Path("/proc")
_PSS: Final = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)
_ANONYMOUS: Final = re.compile(r"^Anonymous:\s+(\d+) kB", re.MULTILINE)


def server_pids(data: Path) -> tuple[int, list[int]]:
    """The postmaster of this data directory, and its children."""
    postmaster = int((data / "postmaster.pid").read_text().split("\n", 1)[0])
    return postmaster, [pid for pid in _pids() if _fields(pid)[1:2] == [str(postmaster)]]


def server_cpu_s(data: Path) -> float:
    """Seconds of CPU that the server of this data directory has used, in all its processes.

    A process that has ended is counted by its parent, so nothing is lost when a client leaves.
    """
    postmaster, children = server_pids(data)
    ticks = sum(int(field) for field in _fields(postmaster)[11:15])
    ticks += sum(int(field) for pid in children for field in _fields(pid)[11:13])
    return ticks / TICKS_PER_S


def process_cpu_s(pid: int) -> float:
    """Seconds of CPU that one process has used, in all its threads; 0 once it has ended."""
    return sum(int(field) for field in _fields(pid)[11:13]) / TICKS_PER_S


def memory_bytes(pids: Iterable[int]) -> int:
    """Of all of them; what they share counts once."""
    return sum(_weighed(pid, _PSS) for pid in pids)


def own_bytes(pid: int) -> int:
    """What only this process has. Its share of libraries is left out: that rises whenever some
    other process that uses them ends, which in an hour looks like a leak."""
    return _weighed(pid, _ANONYMOUS)


def _weighed(pid: int, what: re.Pattern[str]) -> int:
    """0 once it has ended, or if it is not ours to see."""
    try:
        found = what.search((PROC / str(pid) / "smaps_rollup").read_text())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


def open_files(pid: int) -> int:
    """Sockets among them; 0 once it has ended."""
    try:
        return sum(1 for _ in (PROC / str(pid) / "fd").iterdir())
    except OSError:
        return 0


def machine_ticks() -> tuple[int, int]:
    """Of all cores since the machine was started: how many were idle, how many there were."""
    ticks = [int(field) for field in (PROC / "stat").read_text().split("\n", 1)[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def _pids() -> list[int]:
    return [int(path.name) for path in PROC.glob("[0-9]*")]


def _fields(pid: int) -> list[str]:
    """Of its stat, from the state on; none if it has just ended."""
    try:
        return (PROC / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return []
