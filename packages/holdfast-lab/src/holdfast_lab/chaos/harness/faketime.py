"""Wall clocks of actors, set by us: libfaketime, loaded into their nursery.

Only the wall clock: on Linux no step of it and no drift ever moves the monotonic one, and an attack
with a clock that cannot be would break things that cannot break. PostgreSQL's own is left alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast_lab.chaos.attack import CannotTry

LIBRARY: Final = "libfaketimeMT.so.1"
FOLDERS: Final = ("/usr/lib", "/usr/local/lib", "/usr/lib64")
FILE: Final = "FAKETIME_TIMESTAMP_FILE"


def library() -> Path:
    for folder in FOLDERS:
        for found in sorted(Path(folder).glob(f"**/faketime/{LIBRARY}")):
            return found
    raise CannotTry("libfaketime is not installed")


@dataclass(frozen=True)
class WallClock:
    """A file that says how far off it is; its actors look there whenever they ask for the time."""

    path: Path

    def set(self, ahead_s: float) -> None:
        # In one step: a process that reads half a line has no clock at all.
        fresh = self.path.with_suffix(".new")
        fresh.write_text(f"{ahead_s:+.3f}\n")
        fresh.replace(self.path)


def environment(usual: WallClock) -> Mapping[str, str]:
    """For a nursery whose actors may have clocks of their own."""
    return {
        "LD_PRELOAD": str(library()),
        FILE: str(usual.path),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }
