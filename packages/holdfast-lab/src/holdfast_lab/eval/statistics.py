"""The figures of a report: pass rates with intervals, and differences between arms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, sqrt
from statistics import mean, stdev
from typing import Final

Z_95: Final = 1.959964
"""Of the normal distribution: 95 % are between -Z and Z."""


@dataclass(frozen=True, slots=True)
class Interval:
    low: float
    high: float


def wilson(passed: int, runs: int, z: float = Z_95) -> Interval:
    """The Wilson score interval of a pass rate; from 0 to 1 without runs."""
    if runs == 0:
        return Interval(0.0, 1.0)
    rate, weight = passed / runs, z * z / runs
    centre = (rate + weight / 2) / (1 + weight)
    half = z / (1 + weight) * sqrt(rate * (1 - rate) / runs + weight / (4 * runs))
    return Interval(min(rate, max(0.0, centre - half)), max(rate, min(1.0, centre + half)))


def pass_at(k: int, passed: int, runs: int) -> float:
    """The unbiased estimate that one of `k` runs passes: 1 - C(n-c, k) / C(n, k)."""
    if not 1 <= k <= runs:
        raise ValueError(f"{k} of {runs} runs")
    return 1.0 - comb(runs - passed, k) / comb(runs, k)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An arm compared with another one, task by task."""

    mean: float
    """Of the rewards: above 0 if the arm is better."""
    interval: Interval | None
    """Of the mean, at 95 %, from the spread over tasks; None with fewer than two tasks."""
    better: int
    worse: int
    tasks: int


def paired(base: Mapping[str, float], arm: Mapping[str, float]) -> Difference:
    """`base` and `arm`: the mean reward of each task. Only tasks of both count."""
    both = [arm[task] - base[task] for task in base if task in arm]
    centre = mean(both) if both else 0.0
    half = Z_95 * stdev(both) / sqrt(len(both)) if len(both) > 1 else None
    return Difference(
        mean=centre,
        interval=None if half is None else Interval(centre - half, centre + half),
        better=sum(each > 0 for each in both),
        worse=sum(each < 0 for each in both),
        tasks=len(both),
    )


def mean_or_none(values: Sequence[float]) -> float | None:
    return mean(values) if values else None
