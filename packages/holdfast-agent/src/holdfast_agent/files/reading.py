"""Read lines of a file of any size, without ever holding more of it than is told.

A line ends with a line feed; a carriage return before it is the line's. Lines longer than
`LINE_BYTES_MAX` are cut, with a mark that says how much is missing; not more than `TEXT_BYTES_MAX`
are told at once. Bytes that are no UTF-8 are told as `\N{REPLACEMENT CHARACTER}`. Lines are counted
to the end of the file, for `COUNT_S` at most. An image is sent whole, if that was asked for.
"""

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from holdfast_agent.faults import Refused
from holdfast_agent.files import images
from holdfast_agent.files.beneath import Beneath, OpenFile, Place
from holdfast_agent.files.nearest import nearest_named
from holdfast_agent.files.text import (
    BINARY_LOOK_BYTES,
    BOM,
    LINE_BYTES_MAX,
    looks_binary,
    told_line,
)
from holdfast_agent.wire import FaultCode, Lines, ReadFile

BLOCK_BYTES: Final = 1 << 20
TEXT_BYTES_MAX: Final = 1 << 20
COUNT_S: Final = 10.0

Clock = Callable[[], float]


def read(beneath: Beneath, asked: ReadFile, *, clock: Clock = time.monotonic) -> Lines:
    beneath = beneath.by(asked.links)
    place = beneath.place(asked.path)
    with nearest_named(beneath, place), beneath.file(place) as file:
        beginning = os.pread(file.descriptor, BINARY_LOOK_BYTES, 0)
        if asked.images and (media_type := images.media_type(beginning)):
            return images.image_of(file, place, media_type)
        refuse_binary(beginning, file.stat.st_size, place)
        first_line = asked.first_line or 1
        if first_line < 0:
            first_line = _from_end(file, place, first_line, clock)
        reader = _Reader(first_line, asked.lines_max, min(asked.text_bytes_max, TEXT_BYTES_MAX))
        counted = _stream(file, reader, clock)
    if not counted and not reader.told:
        raise _too_far(f"Line {reader.first_line}", place)
    if reader.first_line > max(reader.lines_total, 1):
        lines = "1 line" if reader.lines_total == 1 else f"{reader.lines_total} lines"
        message = (
            f"`{place.shown}` has {lines}, so there is no line {reader.first_line}. Use a smaller"
            " offset; a negative one counts from the end."
        )
        raise Refused(FaultCode.BAD_REQUEST, message)
    return Lines(
        path=place.shown,
        text="".join(reader.told),
        first_line=reader.first_line,
        last_line=reader.last_line,
        lines_total=reader.lines_total,
        bytes_total=reader.bytes_total if counted else file.stat.st_size,
        more=reader.lines_total > reader.last_line or not counted,
        counted=counted,
    )


def _from_end(file: OpenFile, place: Place, back: int, clock: Clock) -> int:
    """The number of the line that is so far from the end, or of the first one."""
    counter = _Reader(sys.maxsize, 1, 1)
    if not _stream(file, counter, clock):
        raise _too_far("The end", place)
    os.lseek(file.descriptor, 0, os.SEEK_SET)
    return max(1, counter.lines_total + 1 + back)


def _too_far(what: str, place: Place) -> Refused:
    message = (
        f"{what} of `{place.shown}` was not reached in {COUNT_S:.0f} s. Use a command such as tail"
        " or sed -n for so large a file."
    )
    return Refused(FaultCode.TOO_LARGE, message)


def refuse_binary(beginning: bytes, size: int, place: Place) -> None:
    if looks_binary(beginning):
        message = (
            f"`{place.shown}` is a binary file of {size:,} bytes. Use a command for its"
            " format, such as file, strings or xxd."
        )
        raise Refused(FaultCode.BAD_REQUEST, message)


def _stream(file: OpenFile, reader: "_Reader", clock: Clock) -> bool:
    """False: it took too long to come to the end."""
    until = clock() + COUNT_S
    while block := os.read(file.descriptor, BLOCK_BYTES):
        if reader.bytes_total == 0:
            reader.bytes_total = len(BOM) if block.startswith(BOM) else 0
            block = block.removeprefix(BOM)
        reader.feed(block)
        if clock() > until:
            return False
    reader.close()
    return True


@dataclass(slots=True)
class _Line:
    """One line as it comes in: its beginning, its length and its end."""

    head: bytearray = field(default_factory=bytearray)
    length: int = 0
    tail: bytes = b""

    def add(self, piece: bytes) -> None:
        self.length += len(piece)
        self.head += piece[: max(0, LINE_BYTES_MAX + 2 - len(self.head))]
        self.tail = (self.tail + piece[-2:])[-2:]

    def told(self) -> str:
        ending = next((end for end in (b"\r\n", b"\n") if self.tail.endswith(end)), b"")
        return told_line(self.head, self.length - len(ending)) + ending.decode()


@dataclass(slots=True)
class _Reader:
    """Takes a file block by block: skips lines, keeps lines, then only counts."""

    first_line: int
    lines_max: int
    bytes_max: int
    told: list[str] = field(default_factory=list[str])
    lines_total: int = 0
    """Lines that have ended."""
    bytes_total: int = 0
    _told_bytes: int = 0
    _full: bool = False
    _line: _Line = field(default_factory=_Line)
    _unfinished: bool = False
    """The last block ended in the middle of a line."""

    @property
    def last_line(self) -> int:
        return self.first_line + len(self.told) - 1

    def feed(self, block: bytes) -> None:
        if not block:
            return
        self.bytes_total += len(block)
        self._unfinished = not block.endswith(b"\n")
        at = self._skip(block)
        while at < len(block) and not self._full:
            end = block.find(b"\n", at) + 1
            self._line.add(block[at : end or len(block)])
            if end:
                self._end_line()
            at = end or len(block)
        self.lines_total += block.count(b"\n", at)

    def close(self) -> None:
        """The last line need not have an end."""
        if self._unfinished and not self._full and self.lines_total + 1 >= self.first_line:
            self._end_line()
        else:
            self.lines_total += self._unfinished

    def _skip(self, block: bytes) -> int:
        """Where in the block the first line that is wanted begins or goes on."""
        wanted = self.first_line - 1 - self.lines_total
        if wanted <= 0:
            return 0
        ended = block.count(b"\n")
        if ended < wanted:
            self.lines_total += ended
            return len(block)
        at = 0
        for _ in range(wanted):
            at = block.find(b"\n", at) + 1
        self.lines_total += wanted
        return at

    def _end_line(self) -> None:
        self.lines_total += 1
        text, self._line = self._line.told(), _Line()
        size = len(text.encode())
        if self.told and self._told_bytes + size > self.bytes_max:
            self._full = True
            return
        self.told.append(text)
        self._told_bytes += size
        self._full = len(self.told) >= self.lines_max
