"""Figures that browser tests see on the way, for the benchmark that reports them.

With `HOLDFAST_UI_FIGURES=FILE` each is a line `{"key": value}` at the end of that file; of a key
the greatest counts. Lines and not one object, since tests run in several processes.
"""

import json
import os
from pathlib import Path
from typing import Final

VARIABLE: Final = "HOLDFAST_UI_FIGURES"


def note(key: str, value: float) -> None:
    if (file := os.environ.get(VARIABLE)) is not None:
        with Path(file).open("a") as lines:
            lines.write(json.dumps({key: value}) + "\n")


def greatest(file: Path) -> dict[str, float]:
    """Of each key, what was noted at most."""
    found: dict[str, float] = {}
    for line in file.read_text().splitlines():
        for key, value in json.loads(line).items():
            found[key] = max(value, found.get(key, value))
    return found
