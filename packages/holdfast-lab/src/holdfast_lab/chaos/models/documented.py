"""What a caller sees of each fault on each wire: the rows of docs/reference/provider-faults.md.

Written by `scripts/generate_provider_faults.py`, with the page, from one run.
"""

from dataclasses import dataclass
from importlib.resources import files

import orjson

from holdfast.domain.chat import ErrorKind
from holdfast_simulator.faults import Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Documented:
    """`kind` None: a reply, whole or odd. `kept`: parts, in short."""

    fault: Fault
    wire: str
    kind: ErrorKind | None
    status_code: int | None
    retryable: bool
    hint_s: float
    kept: str


def documented() -> list[Documented]:
    rows = orjson.loads(files("holdfast_lab.chaos.models").joinpath("documented.json").read_bytes())
    return [
        Documented(
            fault=Fault(row.pop("fault")),
            kind=None if (kind := row.pop("kind")) is None else ErrorKind(kind),
            **row,
        )
        for row in rows
    ]
