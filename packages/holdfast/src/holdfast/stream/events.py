"""One event for one reader, as bytes: the same JSON over SSE and WebSocket.

The JSON was encoded once, by the process that committed or by the first reader here; what differs
from reader to reader is at most the cursor, so bytes are spliced and never decoded.
"""

from dataclasses import dataclass, field
from typing import Final

from holdfast.domain.events import EventKind
from holdfast.ports.bus import LivePart
from holdfast.stream.cursor import Cursor

_SSE_HEAD: Final = {kind: b"event: %b\n" % kind.encode() for kind in EventKind}
_JSON_HEAD: Final = {kind: b'{"event":"%b",' % kind.encode() for kind in EventKind}


@dataclass(slots=True)
class StreamEvent:
    """`cursor`: where the reader is after this one; None if it is where it was."""

    kind: EventKind
    cursor: Cursor | None
    data: bytes
    _sse: bytes | None = field(default=None, compare=False, repr=False)

    def sse(self) -> bytes:
        """Encoded once for all readers that share the event."""
        if self._sse is None:
            self._sse = self._as_sse()
        return self._sse

    def _as_sse(self) -> bytes:
        """JSON has no line breaks, so one `data` line is enough."""
        if self.cursor is None:
            return b"%bdata: %b\n\n" % (_SSE_HEAD[self.kind], self.data)
        identifier = self.cursor.text.encode()
        return b"%bid: %b\ndata: %b\n\n" % (_SSE_HEAD[self.kind], identifier, self.data)

    def json(self) -> bytes:
        """The envelope for WebSocket, and for files of events."""
        if self.cursor is None:
            return b'%b"data":%b}' % (_JSON_HEAD[self.kind], self.data)
        identifier = self.cursor.text.encode()
        return b'%b"id":"%b","data":%b}' % (_JSON_HEAD[self.kind], identifier, self.data)


LAGGED: Final = StreamEvent(EventKind.LAGGED, None, b"{}")
PING: Final = StreamEvent(EventKind.PING, None, b"{}")


def part_data(part: LivePart) -> bytes:
    """A live part as readers get it; its payload is a JSON array of deltas already."""
    return b'{"attempt":%d,"seq":%d,"deltas":%b}' % (part.episode.attempt, part.seq, part.payload)
