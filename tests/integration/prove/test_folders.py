"""Folders in which nothing runs any more."""

import signal
import subprocess
import sys
from pathlib import Path

from holdfast_lab.chaos.stage.folders import running_in, short_folder

DEAF = """
import signal, sys, time
signal.signal(signal.SIGQUIT, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(600)
"""
"""As every child of a background job is, if its shell is no terminal's."""


def deaf(folder: Path) -> subprocess.Popen[bytes]:
    started = subprocess.Popen([sys.executable, "-c", DEAF, folder], stdout=subprocess.PIPE)
    assert started.stdout is not None
    assert started.stdout.readline() == b"ready\n"
    return started


def test_what_ignores_to_quit_is_not_left_behind() -> None:
    with short_folder() as folder:
        started = deaf(folder)
        assert running_in(folder) == [started.pid]
    try:
        assert started.wait(timeout=60) == -signal.SIGKILL
    finally:
        started.kill()
        started.communicate()
