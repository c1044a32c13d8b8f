"""What a first look at a server tells."""

from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class Probe:
    """`date`: the server's clock, to the second; None if it did not say."""

    version: str
    date: datetime | None
    took_s: float


def date_of(header: str | None) -> datetime | None:
    try:
        return None if header is None else parsedate_to_datetime(header)
    except ValueError:
        return None
