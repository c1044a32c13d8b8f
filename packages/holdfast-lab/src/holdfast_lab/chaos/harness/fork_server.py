"""Forks actors from a process that has imported everything: a start costs milliseconds.

    python -m holdfast_lab.chaos.harness.fork_server

Reads one JSON object per line and answers with the pid of the actor that plays it.
"""

import os
import signal
import sys
from typing import Any

import orjson

from holdfast_lab.chaos.harness import process as actor


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no process waits for its children
    for line in sys.stdin.buffer:
        part: dict[str, Any] = orjson.loads(line)
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            try:
                actor.play(part)
            except BaseException as error:  # noqa: BLE001 - a fork must not fall back into this loop
                sys.stderr.write(f"actor {part['name']}: {error!r}\n")
                os._exit(1)
            os._exit(0)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
