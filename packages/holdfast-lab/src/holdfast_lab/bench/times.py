"""How long things took: kept as plain numbers, told as percentiles and as a histogram."""

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

BARS: Final = 40


@dataclass(slots=True)
class Times:
    """In milliseconds."""

    values: "array[float]" = field(default_factory=lambda: array("d"))

    def add(self, seconds: float) -> None:
        self.values.append(seconds * 1000)

    def summary(self) -> dict[str, float]:
        """Empty if nothing was timed."""
        ordered = sorted(self.values)
        if not ordered:
            return {}
        return {
            "p50": round(percentile(ordered, 0.50), 3),
            "p90": round(percentile(ordered, 0.90), 3),
            "p99": round(percentile(ordered, 0.99), 3),
            "max": round(ordered[-1], 3),
            "count": len(ordered),
        }

    def histogram(self) -> list[tuple[float, float, int]]:
        """Bars from, to, count; each the same number of times wider than the one before."""
        least = max(min(self.values, default=0.0), 0.01)
        most = max(self.values, default=0.0)
        if most <= least:
            return [(least, least, len(self.values))] if self.values else []
        width = math.log(most / least) / BARS
        counts = [0] * BARS
        for value in self.values:
            at = int(math.log(max(value, least) / least) / width)
            counts[min(at, BARS - 1)] += 1
        return [
            (least * math.exp(width * n), least * math.exp(width * (n + 1)), count)
            for n, count in enumerate(counts)
        ]


def percentile(ordered: Sequence[float], share: float) -> float:
    """The nearest rank: a value that was seen."""
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]
