"""Workspace agents as real processes, whole ones and ones with a protection removed."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.waits import HANG_S

READY: Final = "The agent is ready at "


@dataclass
class Agent:
    process: subprocess.Popen[str]
    address: str
    folder: Path

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(HANG_S)

    def terminate(self) -> None:
        self.process.terminate()

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def naps(self) -> int:
        """How often it went to sleep by itself: once per thing that woke it."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])

    def rss_bytes(self) -> int:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


def arguments(folder: Path, *flags: str, listen: str | None = None) -> list[str]:
    (folder / "root").mkdir(parents=True, exist_ok=True)
    listen = listen or f"unix:{folder / 'agent.sock'}"
    places = ["--root", str(folder / "root"), "--state", str(folder / "state")]
    return [*places, "--listen", listen, "--sandbox", "external", *flags]


@contextmanager
def running_agent(
    folder: Path, *flags: str, listen: str | None = None, mutant: str = ""
) -> Generator[Agent]:
    """`mutant`: Python that is run in the agent before it starts, to break it."""
    code = f"{mutant}\nfrom holdfast_agent.command import main\nmain()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments(folder, *flags, listen=listen)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line.startswith(READY), f"{line!r}, exit code {process.poll()}"
        yield Agent(process, line.removeprefix(READY).strip(), folder)
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(HANG_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(HANG_S)
        process.stdout.close()


def refused_start(arguments: Sequence[str]) -> tuple[int, str]:
    """How an agent that must not start ends, and what it says."""
    ended = subprocess.run(
        [sys.executable, "-m", "holdfast_agent", *arguments],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    return ended.returncode, ended.stderr


def alive_with(marker: str) -> list[int]:
    """Processes whose command line or environment holds the marker, zombies left out."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            if marker.encode() in words:
                found.append(int(entry.name))
    return found
