"""Whether something grows: a line of least squares, and how sure one may be of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

HOUR_S: Final = 3_600.0
SAMPLES_MIN: Final = 20
"""Fewer say nothing."""
SPAN_MIN_S: Final = 600.0
"""Nor does less time than this: a server that was just started has yet to find its size."""
SURE: Final = 1.96
"""Standard errors to either side: 95 of 100."""
ALIKE_MAX: Final = 0.98
GROWTH_MAX: Final = 0.02
"""Of its level, in an hour: less is nothing."""

Point = tuple[float, float]
"""When, in seconds; how much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope:
    samples: int
    span_s: float
    level: float
    """Its mean."""
    per_hour: float
    unsure_per_hour: float
    """The true one lies within so much to either side."""
    rise_min: float = 0.0

    @property
    def grows(self) -> bool | None:
        """None: too short, or too few samples, to say. It does not if the line may as well be
        level, or if it would rise by less than a fiftieth in an hour, or if it rose by less than
        `rise_min` in all."""
        if self.samples < SAMPLES_MIN or self.span_s < SPAN_MIN_S:
            return None
        may_be_level = self.per_hour <= self.unsure_per_hour
        rose = self.per_hour * self.span_s / HOUR_S
        return not may_be_level and self.per_hour > GROWTH_MAX * self.level and rose > self.rise_min


def slope_of(points: Sequence[Point], rise_min: float = 0.0) -> Slope:
    count = len(points)
    if count == 0:
        return Slope(samples=0, span_s=0.0, level=0.0, per_hour=0.0, unsure_per_hour=math.inf)
    span_s = points[-1][0] - points[0][0]
    middle_s = sum(at for at, _ in points) / count
    level = sum(value for _, value in points) / count
    wide = sum((at - middle_s) ** 2 for at, _ in points)
    if count < 3 or wide == 0:
        return Slope(
            samples=count, span_s=span_s, level=level, per_hour=0.0, unsure_per_hour=math.inf
        )
    per_s = sum((at - middle_s) * (value - level) for at, value in points) / wide
    rests = [value - level - per_s * (at - middle_s) for at, value in points]
    error_per_s = math.sqrt(sum(rest**2 for rest in rests) / (count - 2) / wide)
    error_per_s *= _less_sure(rests)
    return Slope(
        samples=count,
        span_s=span_s,
        level=level,
        per_hour=per_s * HOUR_S,
        unsure_per_hour=SURE * error_per_s * HOUR_S,
        rise_min=rise_min,
    )


def _less_sure(rests: Sequence[float]) -> float:
    """Samples that resemble the one before them tell less than as many that do not: what is
    kept for ten minutes and then forgotten would else seem to grow."""
    around = sum(rest**2 for rest in rests)
    if around == 0:
        return 1.0
    alike = sum(one * other for one, other in pairwise(rests)) / around
    alike = min(max(alike, 0.0), ALIKE_MAX)
    return math.sqrt((1 + alike) / (1 - alike))
