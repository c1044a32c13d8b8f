"""Where a reader is: which commits it has seen, and how much of what is being said right now.

    version.attempt.seq            all of the commit `version`
    version.attempt.seq.place      its bundle up to the event at `place`, and all commits before it

`attempt.seq` are the live parts seen, of the episode (history version as of `version`, attempt). If
the history has changed since `version`, those parts have become a message or nothing: void.
"""

import re
from dataclasses import dataclass
from typing import Final

from holdfast.domain.ids import Version

_NUMBER: Final = "(0|[1-9][0-9]{0,%d})"
_TEXT: Final = re.compile(
    rf"{_NUMBER % 17}\.{_NUMBER % 8}\.{_NUMBER % 8}(?:\.{_NUMBER % 8})?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Cursor:
    version: Version
    attempt: int
    seq: int
    place: int | None = None

    @property
    def text(self) -> str:
        seen = f"{self.version}.{self.attempt}.{self.seq}"
        return seen if self.place is None else f"{seen}.{self.place}"

    @classmethod
    def parse(cls, text: str) -> "Cursor | None":
        """None for what we never wrote: its reader begins anew, which is never wrong (R8)."""
        found = _TEXT.fullmatch(text)
        if found is None:
            return None
        version, attempt, seq, place = found.groups()
        if version == "0":
            return None
        return cls(
            Version(int(version)), int(attempt), int(seq), None if place is None else int(place)
        )
