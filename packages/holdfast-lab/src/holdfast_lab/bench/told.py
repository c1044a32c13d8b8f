"""What a mode of the bench tells: to programs, to people, and as a page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    passed: bool
    """Nothing was lost, doubled or out of order. Says nothing of how fast it was."""
    figures: Mapping[str, Any]
    lines: Sequence[str]
    page: str
