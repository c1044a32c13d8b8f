"""CPU time of a PostgreSQL server (the postmaster and its children), a process or the machine."""

import os
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def server_cpu_s(data: Path) -> float:
    """Seconds of CPU that the server of this data directory has used, in all its processes.

    A process that has ended is counted by its parent, so nothing is lost when a client leaves.
    """
    postmaster = int((data / "postmaster.pid").read_text().split("\n", 1)[0])
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue  # it has just ended
        parent, user, system, ended_user, ended_system = (
            int(fields[index]) for index in (1, 11, 12, 13, 14)
        )
        if int(stat.parent.name) == postmaster:
            ticks += user + system + ended_user + ended_system
        elif parent == postmaster:
            ticks += user + system
    return ticks / TICKS_PER_S


def process_cpu_s(pid: int) -> float:
    """Seconds of CPU that one process has used, in all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def machine_ticks() -> tuple[int, int]:
    """Of all cores since the machine was started: how many were idle, how many there were."""
    ticks = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)
