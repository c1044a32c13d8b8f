"""The page of faults, read back: what it says is what whole turns are held against."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast.domain.chat import ErrorKind
from holdfast.simulator.faults import Fault
from tests.support.fault_table import PAGE

_ROW: Final = re.compile(
    r"\| `(?P<fault>[\w-]+)` \| (?P<wires>[^|]+) \| (?P<sees>[^|]+) "
    r"\| (?P<again>[^|]*) \| (?P<hint>[^|]*) \| (?P<kept>[^|]*) \|"
)
_DATE_S: Final = 7.0
"""How far ahead the date lies that a hint may name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Documented:
    """What a caller sees of a fault on a wire. `kind` None: a reply, whole or odd."""

    fault: Fault
    wire: str
    kind: ErrorKind | None
    status_code: int | None
    retryable: bool
    hint_s: float
    kept: str


def documented(wire: str) -> list[Documented]:
    text = (Path(__file__).parents[2] / PAGE).read_text(encoding="utf-8")
    rows = (
        {name: cell.strip() for name, cell in row.groupdict().items()}
        for row in _ROW.finditer(text)
    )
    return [_read(row, wire) for row in rows if row["wires"] == "all" or wire in row["wires"]]


def _read(row: dict[str, str], wire: str) -> Documented:
    kind = re.match(r"`(\w+)`(?: \((\d+)\))?", row["sees"])
    seconds = re.match(r"([\d.]+) s", row["hint"])
    by_date = _DATE_S if row["hint"] == "until the date" else 0.0
    return Documented(
        fault=Fault(row["fault"]),
        wire=wire,
        kind=None if kind is None else ErrorKind(kind[1]),
        status_code=int(kind[2]) if kind is not None and kind[2] else None,
        retryable=row["again"] == "yes",
        hint_s=float(seconds[1]) if seconds else by_date,
        kept=row["kept"],
    )
