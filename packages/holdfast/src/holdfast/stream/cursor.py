"""Where a reader is: which commits it has seen, and how much of what is being said right now.

    version.attempt.seq            all of the commit `version`
    version.attempt.seq.place      its bundle up to the event at `place`, and all commits before it

`attempt.seq` are the live parts seen, of the episode (history version as of `version`, attempt). If
the history has changed since `version`, those parts have become a message or nothing: void.

A database that lost commits counts the same versions again. So a cursor also holds the stamp of the
history as of `version`, where it is known: ten digits between a 0 and the attempt. No number of the
form without a stamp begins so, and clients that read the version and the place find both where they
were.

    version.0<stamp><attempt>.seq[.place]
"""

import re
from dataclasses import dataclass
from typing import Final

from holdfast.domain.chat import Chat
from holdfast.domain.ids import NO_STAMP, Version, VersionStamp

_NUMBER: Final = "(0|[1-9][0-9]{0,%d})"
_TEXT: Final = re.compile(
    rf"{_NUMBER % 17}\.(?:0([0-9]{{10}}))?{_NUMBER % 8}\.{_NUMBER % 8}(?:\.{_NUMBER % 8})?",
    re.ASCII,
)
_STAMP_MAX: Final = 2**32 - 1


def shortened(stamp: VersionStamp) -> int:
    """As much of a stamp as a cursor holds; 0: not known."""
    return stamp & _STAMP_MAX


@dataclass(frozen=True, slots=True)
class Cursor:
    version: Version
    attempt: int
    seq: int
    place: int | None = None
    stamp: int = 0
    """Of the history as of `version`, shortened. 0: not known, as in cursors of older versions of
    the software."""

    @property
    def text(self) -> str:
        stamp = f"0{self.stamp:010}" if self.stamp else ""
        seen = f"{self.version}.{stamp}{self.attempt}.{self.seq}"
        return seen if self.place is None else f"{seen}.{self.place}"

    @classmethod
    def of(cls, version: Version, history_stamp: VersionStamp) -> "Cursor":
        """All commits up to this version, and nothing that is being said."""
        return cls(version, 0, 0, stamp=shortened(history_stamp))

    @classmethod
    def parse(cls, text: str) -> "Cursor | None":
        """None for what we never wrote: its reader begins anew, which is never wrong (R8)."""
        found = _TEXT.fullmatch(text)
        if found is None:
            return None
        version, stamp, attempt, seq, place = found.groups()
        if version == "0" or (stamp is not None and not 0 < int(stamp) <= _STAMP_MAX):
            return None
        return cls(
            Version(int(version)),
            int(attempt),
            int(seq),
            None if place is None else int(place),
            int(stamp or 0),
        )

    def may_be_of(self, history_stamp: VersionStamp) -> bool:
        """Whether its reader saw the history with this stamp, as far as both are known (L146)."""
        stamp = shortened(history_stamp)
        return NO_STAMP in (self.stamp, stamp) or self.stamp == stamp

    def is_known_to(self, chat: Chat) -> bool:
        """Whether a feed with these facts may have written it; else its reader begins anew (R8)."""
        if self.version > chat.version:
            return False
        if chat.history_version > self.version:
            return True  # as far as the facts tell; what is read of the history tells the rest
        return self.attempt <= chat.attempt and self.may_be_of(chat.history_stamp)
