"""A folder for servers of our own, and who runs in it."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def short_folder() -> Generator[Path]:
    """Where PostgreSQL's user may pass, and a socket's path fits; nothing runs there afterwards."""
    with tempfile.TemporaryDirectory(prefix="hf-") as folder:
        Path(folder).chmod(0o711)
        try:
            yield Path(folder)
        finally:
            for pid in running_in(Path(folder)):
                os.kill(pid, signal.SIGQUIT)  # PostgreSQL's own end at once


def running_in(folder: Path) -> list[int]:
    """The processes that were started with this folder on their command line."""
    all_of_it = ["ps", "-ewwo", "pid=,args="]  # -ww: however long a line is
    listed = subprocess.run(all_of_it, capture_output=True, text=True, check=True)
    lines = (line.split(maxsplit=1) for line in listed.stdout.splitlines())
    return [int(pid) for pid, *args in lines if args and str(folder) in args[0]]
