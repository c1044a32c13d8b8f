#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
mkdir export
cat >export/__init__.py <<'END'
"""Exporters, by name."""

EXPORTERS = {}


def exporter(name):
    def register(function):
        EXPORTERS[name] = function
        return function

    return register
END
cat >export/total.py <<'END'
"""The sum of all amounts."""

from export import exporter


@exporter("total")
def total(rows):
    return str(sum(amount for _, amount in rows))
END
cat >export/names.py <<'END'
"""The names alone."""

from export import exporter


@exporter("names")
def names(rows):
    return "\n".join(name for name, _ in rows)
END
cat >export/__main__.py <<'END'
"""python3 -m export --list | NAME FILE"""

import sys

import export.names
import export.total
from export import EXPORTERS


def main(words):
    if words == ["--list"]:
        print("\n".join(EXPORTERS))
        return
    name, file = words
    with open(file) as lines:
        rows = [line.rstrip("\n").rsplit(",", 1) for line in lines]
    print(EXPORTERS[name]([(name, int(amount)) for name, amount in rows]))


main(sys.argv[1:])
END
printf 'tea,3\nsalt|pepper,12\n' >sample.csv
