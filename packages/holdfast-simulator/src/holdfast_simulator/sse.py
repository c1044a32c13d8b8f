"""Frames as bytes of Server-Sent Events."""

from typing import Final

from holdfast_simulator.jsons import dumps
from holdfast_simulator.options import LineEnd
from holdfast_simulator.wires.base import Frame, Mark, Wire

ENDS: Final = {LineEnd.LF: b"\n", LineEnd.CRLF: b"\r\n", LineEnd.CR: b"\r"}
COMMENT: Final = b": keep-alive"


class Encoder:
    """Frames to bytes with one line end; `quirky` uses the rare corners of the format."""

    def __init__(self, wire: Wire, line: LineEnd, *, quirky: bool = False) -> None:
        if line is LineEnd.WIRE:
            line = LineEnd.CRLF if wire.crlf else LineEnd.LF
        self.end = ENDS[line]
        self._wire = wire
        self._quirky = quirky
        self._number = 0

    def event(self, name: str, data: bytes) -> bytes:
        head = b"event: " + name.encode() + self.end if name else b""
        return head + b"data: " + data + self.end + self.end

    def frame(self, frame: Frame) -> bytes:
        if frame.mark is Mark.COMMENT:
            return b": " + data_of(frame) + self.end + self.end
        if self._quirky:
            return self._rare(frame)
        return self.event(frame.name, data_of(frame))

    @property
    def pings(self) -> bool:
        """Whether the wire has pings of its own."""
        return self._wire.ping() is not None

    def ping(self) -> bytes:
        """The wire's own ping, or an SSE comment where it has none."""
        ping = self._wire.ping()
        return COMMENT + self.end + self.end if ping is None else self.frame(ping)

    def _rare(self, frame: Frame) -> bytes:
        """Legal, and rarely seen: comments, ids, retry, no space after the colon, split data."""
        self._number += 1
        data = data_of(frame)
        lines = [b": note", b"id:%d" % self._number, b"retry: 1500"]
        if frame.name:
            lines.append(b"event:" + frame.name.encode())
        if data.startswith(b"{"):
            # After the brace JSON allows a line break, so two data lines say the same.
            lines += [b"data:{", b"data:" + data[1:]]
        else:
            lines.append(b"data:" + data)
        return self.end.join(lines) + self.end + self.end


def data_of(frame: Frame) -> bytes:
    return frame.body.encode() if isinstance(frame.body, str) else dumps(frame.body)
