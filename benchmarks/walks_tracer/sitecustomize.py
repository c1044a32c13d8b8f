"""Notes which functions of the server are called: SIGUSR1 begins, SIGUSR2 writes them to a file.

Python imports this at the start of a process that has the folder in its `PYTHONPATH`.
"""

import json
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Final

FILE: Final = os.environ.get("HOLDFAST_WALKS_FILE")
PACKAGES: Final = ("holdfast", "holdfast_client", "holdfast_agent")
SOURCE: Final = "/src/"
_calls: dict[tuple[str, str], None] = {}


def _note(frame: FrameType, event: str, _argument: object) -> None:
    if event != "call":
        return
    code = frame.f_code
    _, found, path = code.co_filename.rpartition(SOURCE)
    if found and path.partition("/")[0] in PACKAGES:
        _calls.setdefault((path, code.co_qualname))


def _begin(*_: object) -> None:
    _calls.clear()
    sys.setprofile(_note)


def _write(*_: object) -> None:
    sys.setprofile(None)
    assert FILE is not None
    whole = Path(FILE).with_suffix(".part")
    whole.write_text(json.dumps(list(_calls)))
    whole.rename(FILE)


if FILE is not None:
    signal.signal(signal.SIGUSR1, _begin)
    signal.signal(signal.SIGUSR2, _write)
