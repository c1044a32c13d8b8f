"""What time it is, by the database's clock: a worker's own may be wrong (L84)."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime: ...
