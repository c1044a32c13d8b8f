#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
cat >main.py <<'END'
"""The program."""

from harbour import arrive, leave
from tides import height

HOOKS = {"storm": "close_gates"}


def main():
    arrive("Nerea", height(6))
    leave("Nerea")


main()
END
cat >harbour.py <<'END'
"""The harbour."""

import main_hooks


def arrive(ship, depth):
    if depth < draught(ship):
        main_hooks.call("storm")
    print(ship, "arrives")


def leave(ship):
    print(ship, "leaves")


def draught(ship):
    return len(ship) / 10


def dues(ship):
    """What `leave` charges."""
    return 5 * draught(ship)
END
cat >tides.py <<'END'
"""Tides."""


def height(hour):
    return 3 - phase(hour)


def phase(hour):
    return abs(hour % 12 - 6) / 6
END
cat >main_hooks.py <<'END'
"""Functions that are called by their name."""


def call(name):
    globals()[{"storm": "close_gates"}[name]]()


def close_gates():
    print("the gates are closed")
END

export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org
export GIT_AUTHOR_DATE="2026-01-05T10:00:00Z" GIT_COMMITTER_DATE="2026-01-05T10:00:00Z"
git init -q -b main
git add -A
git commit -q -m "Begin."
