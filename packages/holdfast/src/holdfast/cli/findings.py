"""What a check of `holdfast doctor` found."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

Verdict: TypeAlias = Literal["ok", "warning", "bad"]
SKEW_MAX: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    verdict: Verdict
    sentence: str


def of_clock(ours: datetime, theirs: datetime | None) -> Finding:
    if theirs is None:
        return Finding("clock", "warning", "The server does not say what time it is.")
    apart = abs(ours - theirs)
    seconds = f"{apart.total_seconds():.0f} s"
    if apart <= SKEW_MAX:
        return Finding("clock", "ok", f"{seconds} apart.")
    return Finding("clock", "warning", f"{seconds} apart: set one of the clocks by NTP.")
