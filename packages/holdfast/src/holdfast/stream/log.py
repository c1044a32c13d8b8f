"""What was told of a chat lately: one log for all its readers in this process, bounded.

A reader is a position in it. What all of them have taken is dropped at once, so a chat in silence
holds nothing; what one of them never takes is dropped when the log is full, and that one will find
itself behind the start (R5, L64). No reader is asked, and none waits.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from holdfast.domain.ids import Version
from holdfast.ports.bus import Episode, LivePart
from holdfast.stream.bundle import Bundle
from holdfast.stream.events import StreamEvent, part_data


@dataclass(frozen=True, slots=True)
class EncodedPart:
    """A live part, encoded for readers."""

    episode: Episode
    seq: int
    data: bytes

    @classmethod
    def of(cls, part: LivePart) -> "EncodedPart":
        return cls(part.episode, part.seq, part_data(part))

    @property
    def weight(self) -> int:
        return 120 + len(self.data)


@dataclass(frozen=True, slots=True)
class FeedPart:
    """A part, and the event made of it for a reader at this version."""

    said: EncodedPart
    version: Version
    stamp: int
    event: StreamEvent


Item: TypeAlias = Bundle | EncodedPart


@dataclass(slots=True)
class _Entry:
    item: Item
    weight: int
    unread: int


class Log:
    def __init__(self, length_max: int, bytes_max: int) -> None:
        self._length_max = length_max
        self._bytes_max = bytes_max
        self._entries: deque[_Entry] = deque()
        self._start = 0
        self._bytes = 0
        self.readers = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def end(self) -> int:
        return self._start + len(self._entries)

    @property
    def is_filling(self) -> bool:
        """A reader is behind: let those who do read take what there is before more comes."""
        return 2 * len(self._entries) >= self._length_max or 2 * self._bytes >= self._bytes_max

    def has_lost(self, position: int) -> bool:
        return position < self._start

    def has_room(self, items: Sequence[Item]) -> bool:
        """For these and one more, without dropping what a reader has yet to take."""
        weight = self._bytes + sum(item.weight for item in items)
        return len(self) + len(items) < self._length_max and weight <= self._bytes_max

    def append(self, item: Item) -> None:
        if self.readers == 0:
            return
        weight = item.weight
        self._entries.append(_Entry(item, weight, self.readers))
        self._bytes += weight
        # A long message does not count against what came before it: those who keep up are a few
        # entries behind, and none of them shall be told that it was slow.
        while len(self._entries) > 1 and (
            len(self._entries) > self._length_max or self._bytes - weight > self._bytes_max
        ):
            self._drop_first()

    def enter(self) -> int:
        """The position of a reader that knows everything up to now."""
        self.readers += 1
        return self.end

    def take(self, position: int) -> Item:
        entry = self._entries[position - self._start]
        entry.unread -= 1
        self._prune()
        return entry.item

    def leave(self, position: int) -> None:
        self.readers -= 1
        for entry in islice(self._entries, max(0, position - self._start), None):
            entry.unread -= 1
        self._prune()

    def _prune(self) -> None:
        while self._entries and self._entries[0].unread == 0:
            self._drop_first()

    def _drop_first(self) -> None:
        self._bytes -= self._entries.popleft().weight
        self._start += 1
