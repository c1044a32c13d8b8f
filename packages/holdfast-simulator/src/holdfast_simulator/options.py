"""How a reply is delivered: the settings that a directive, a script or a header may change."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from holdfast_simulator.faults import FaultAt, parse_fault


class LineEnd(StrEnum):
    WIRE = "wire"
    """What the wire itself uses: CRLF for Gemini, LF elsewhere."""
    LF = "lf"
    CRLF = "crlf"
    CR = "cr"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    rate: float = 0.0
    """Tokens per second; 0 is as fast as the client reads."""
    latency_s: float = 0.0
    """Silence between the headers and the first event."""
    piece_bytes: int = 0
    """Bytes per HTTP chunk; 0 is one event per chunk, or, without a rate, as much as there is."""
    one_piece: bool = False
    """The whole stream as one HTTP chunk."""
    line: LineEnd = LineEnd.WIRE
    deltas: int | None = None
    """Deltas per part; None is one per word."""
    pings: int = 0
    """A ping after every so many deltas; 0 is what the wire itself does."""
    fault: FaultAt | None = None
    times: int = 0
    """The fault strikes only so often for one prompt; 0 is always."""
    every_s: float | None = None
    """The interval of drip and of endless pings."""
    size_bytes: int = 100_000_000
    """The size of the huge event."""


OPTION_NAMES: Final = frozenset(
    {"rate", "latency", "chunk", "line", "deltas", "pings", "fault", "times", "every", "size"}
)


def changed(options: Options, values: Mapping[str, str]) -> Options:
    """The options with these texts read into them; ValueError names what is wrong."""
    for name, text in values.items():
        try:
            options = _change(options, name, text.strip())
        except ValueError as error:
            raise ValueError(f"{name}={text}: {error}") from error
    return options


def _change(options: Options, name: str, text: str) -> Options:
    match name:
        case "rate":
            return replace(options, rate=_positive(text))
        case "latency" | "every":
            return replace(options, **{f"{name}_s": _positive(text) / 1000})
        case "chunk":
            return _pieces(options, text)
        case "line":
            return replace(options, line=LineEnd(text))
        case "fault":
            return replace(options, fault=None if text in ("", "none") else parse_fault(text))
        case _:
            return _count(options, name, int(text))


def _count(options: Options, name: str, number: int) -> Options:
    if number < 0:
        raise ValueError("below 0")
    match name:
        case "deltas":
            return replace(options, deltas=number or None)
        case "pings":
            return replace(options, pings=number)
        case "times":
            return replace(options, times=number)
        case "size":
            return replace(options, size_bytes=number)
        case _:
            raise ValueError("no such option")


def _pieces(options: Options, text: str) -> Options:
    if text == "event":
        return replace(options, piece_bytes=0, one_piece=False)
    if text == "all":
        return replace(options, piece_bytes=0, one_piece=True)
    kind, _, size = text.partition(":")
    if kind != "bytes" or not size.isdigit() or int(size) < 1:
        raise ValueError("one of event, all, bytes:N")
    return replace(options, piece_bytes=int(size), one_piece=False)


def _positive(text: str) -> float:
    number = float(text)
    if not 0 <= number < float("inf"):
        raise ValueError("not a number from 0 up")
    return number
