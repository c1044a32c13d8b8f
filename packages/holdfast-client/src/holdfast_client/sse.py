"""Server-sent events from bytes, however they were cut, and never more than a bound of them."""

from typing import Final

EVENT_BYTES_MAX: Final = 16 * 1024 * 1024
_BOM: Final = b"\xef\xbb\xbf"


class EventTooLarge(Exception):
    """More of one event than is held."""


class SseParser:
    """Feed it what was read; it gives the events that are complete.

    What is unfinished when the stream ends is dropped: an event counts once its blank line came.
    """

    __slots__ = (
        "_data",
        "_data_bytes",
        "_event_bytes_max",
        "_id",
        "_name",
        "_rest",
        "_rest_bytes",
        "_start",
    )

    def __init__(self, event_bytes_max: int = EVENT_BYTES_MAX) -> None:
        self._event_bytes_max = event_bytes_max
        self._name = ""
        self._id: str | None = None
        self._data: list[bytes] = []
        self._data_bytes = 0
        # The line under way, in pieces: joining only at its end keeps a huge event linear.
        self._rest: list[bytes] = []
        self._rest_bytes = 0
        self._start = True

    def feed(self, received: bytes) -> list[tuple[str, bytes, str | None]]:
        """The events that `received` completes, as (name, data, id): the id of its own, if any."""
        if b"\n" not in received:
            self._hold(received)
            return []
        if self._rest:
            received = b"".join((*self._rest, received))
        lines = received.split(b"\n")
        self._rest, self._rest_bytes = [], 0
        events: list[tuple[str, bytes, str | None]] = []
        tail = lines.pop()
        for line in lines:
            self._line(line, events)
        if tail:
            self._hold(tail)
        return events

    def _hold(self, piece: bytes) -> None:
        self._rest_bytes += len(piece)
        self._bounded()
        self._rest.append(piece)

    def _line(self, line: bytes, events: list[tuple[str, bytes, str | None]]) -> None:
        if self._start:
            self._start = False
            line = line.removeprefix(_BOM)
        if line[-1:] == b"\r":
            line = line[:-1]
        if not line:
            if self._data:
                events.append((self._name, b"\n".join(self._data), self._id))
                self._data, self._data_bytes = [], 0
            self._name = ""
            self._id = None
        elif line[:5] == b"data:":
            value = line[6:] if line[5:6] == b" " else line[5:]
            self._data_bytes += len(value)
            self._bounded()
            self._data.append(value)
        elif line[:6] == b"event:":
            self._name = line[6:].strip().decode("utf-8", "replace")
        elif line[:3] == b"id:":
            self._id = line[3:].strip().decode("utf-8", "replace")
        # Comments and retry times say nothing that we need.

    def _bounded(self) -> None:
        if self._rest_bytes + self._data_bytes > self._event_bytes_max:
            held = self._event_bytes_max
            self._rest, self._data = [], []
            raise EventTooLarge(f"an event of more than {held} bytes")
