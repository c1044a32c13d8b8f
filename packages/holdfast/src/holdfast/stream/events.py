"""One event for one reader, as bytes: the same JSON over SSE and WebSocket.

    {"type": …, "cursor": …, "version": …, "final": …, "data": {…}}

The data was encoded once, by the process that committed or by the first reader here; what differs
from reader to reader is at most the cursor, so bytes are spliced and never decoded.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from holdfast.domain.events import EventType, PreviewEnd
from holdfast.domain.ids import Version
from holdfast.ports.bus import LivePart
from holdfast.stream.cursor import Cursor

_FINAL: Final = {True: b"true", False: b"false"}
_SSE: Final = (
    b'event: %b\nid: %b\ndata: {"type":"%b","cursor":"%b","version":%d,"final":%b,"data":%b}\n\n'
)


def envelope(
    kind: bytes, cursor: bytes | None, version: int | None, data: bytes, *, final: bool
) -> bytes:
    """The JSON object that every transport carries."""
    return b'{"type":"%b","cursor":%b,"version":%b,"final":%b,"data":%b}' % (
        kind,
        b"null" if cursor is None else b'"%b"' % cursor,
        b"null" if version is None else b"%d" % version,
        _FINAL[final],
        data,
    )


def as_sse(kind: bytes, cursor: bytes | None, json: bytes) -> bytes:
    """JSON has no line breaks, so one `data` line is enough."""
    if cursor is None:
        return b"event: %b\ndata: %b\n\n" % (kind, json)
    return b"event: %b\nid: %b\ndata: %b\n\n" % (kind, cursor, json)


@dataclass(slots=True)
class StreamEvent:
    """`cursor`: where the reader is after this one; None if it is where it was. `version`: the
    commit that it tells of. `final`: the last event of that commit, or of a snapshot."""

    kind: EventType
    cursor: Cursor | None
    data: bytes
    version: Version | None
    final: bool = True
    _json: bytes | None = field(default=None, compare=False, repr=False)
    _sse: bytes | None = field(default=None, compare=False, repr=False)

    def json(self) -> bytes:
        """Encoded once for all readers that share the event."""
        if self._json is None:
            cursor = None if self.cursor is None else self.cursor.text.encode()
            kind = self.kind.encode()
            self._json = envelope(kind, cursor, self.version, self.data, final=self.final)
        return self._json

    def sse(self) -> bytes:
        """Encoded once for all readers that share the event. Copies the data once: a message may
        be long, and a commit is encoded for each reader."""
        if self._sse is None:
            kind = self.kind.encode()
            if self.cursor is None or self.version is None:
                self._sse = as_sse(kind, None, self.json())
            else:
                cursor, final = self.cursor.text.encode(), _FINAL[self.final]
                self._sse = _SSE % (kind, cursor, kind, cursor, self.version, final, self.data)
        return self._sse


class CloseReason(StrEnum):
    """Why the server ends a stream. `RESTART`: any replica can continue it. `REVOKED`: the reader
    may no longer read. `DELETED`: the chat is gone. `TOO_MANY_STREAMS`: another stream of the same
    user replaced this one."""

    RESTART = "restart"
    REVOKED = "revoked"
    DELETED = "deleted"
    TOO_MANY_STREAMS = "too_many_streams"


@dataclass(frozen=True, slots=True)
class Closed:
    """The last event of a stream. `retry_ms`: the reconnect delay of an SSE client; None: the
    reader does not come again."""

    reason: CloseReason
    retry_after_s: int | None = None
    retry_ms: int | None = None

    def json(self) -> bytes:
        after = b"null" if self.retry_after_s is None else b"%d" % self.retry_after_s
        data = b'{"reason":"%b","retry_after_seconds":%b}' % (self.reason.encode(), after)
        return envelope(EventType.CLOSED.encode(), None, None, data, final=True)

    def sse(self) -> bytes:
        event = as_sse(EventType.CLOSED.encode(), None, self.json())
        return event if self.retry_ms is None else b"retry: %d\n%b" % (self.retry_ms, event)


def ping(version: Version | None) -> StreamEvent:
    """`version`: everything up to there was told."""
    return StreamEvent(EventType.PING, None, b"{}", version)


def part_data(part: LivePart) -> bytes:
    """A live part as readers get it; its payload is a JSON array of deltas already."""
    return b'{"turn_seq":%b,"attempt":%d,"index":%d,"deltas":%b}' % (
        b"null" if part.turn_seq is None else b"%d" % part.turn_seq,
        part.episode.attempt,
        part.seq,
        part.payload,
    )


def preview_reset_data(attempt: int, reason: PreviewEnd) -> bytes:
    return b'{"attempt":%d,"reason":"%b"}' % (attempt, reason.encode())
