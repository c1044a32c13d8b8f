"""What others wait for beside one person's load, compared with the same waits without it.

Both are measured in one run, on one machine, over many waits, and their medians are compared: a
ratio of two single waits would be a ratio of chances.
"""

from dataclasses import dataclass, field
from statistics import median
from typing import Final

LONGER_MAX: Final = 2.0
NOISE_S: Final = 0.25
"""A wait of up to this much is never called long: two lists of ten milliseconds each differ by more
than their half whenever the machine does something else for a moment."""


@dataclass
class Waits:
    """Seconds, each time that others waited for the same thing."""

    alone_s: list[float] = field(default_factory=list[float])
    beside_s: list[float] = field(default_factory=list[float])

    @property
    def ratio(self) -> float:
        return round(median(self.beside_s) / median(self.alone_s), 2)

    def wrong(self, what: str, patience: float = 1.0) -> list[str]:
        """A sentence, if they waited for too long."""
        alone_s, beside_s = median(self.alone_s), median(self.beside_s)
        if beside_s <= max(alone_s * LONGER_MAX, NOISE_S) * patience:
            return []
        return [f"others waited {beside_s:.2f} s for {what}, alone {alone_s:.2f} s"]

    def told(self) -> str:
        return f"{median(self.beside_s):.3f} s, alone {median(self.alone_s):.3f} s"
