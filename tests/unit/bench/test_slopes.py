"""What grows is told from what only moves."""

import random

import pytest

from holdfast_lab.bench.slopes import Point, slope_of
from holdfast_lab.bench.soak import ONE_MORE

HOUR = [10.0 * n for n in range(360)]
LEVEL = 80.0


def noise(seed: int, width: float = 1.0) -> list[float]:
    chance = random.Random(seed)
    return [chance.uniform(-width, width) for _ in HOUR]


def points(values: list[float]) -> list[Point]:
    return list(zip(HOUR[: len(values)], values, strict=True))


@pytest.mark.parametrize("seed", range(10))
def test_what_only_moves_does_not_grow(seed: int) -> None:
    assert slope_of(points([LEVEL + each for each in noise(seed)])).grows is False


@pytest.mark.parametrize("seed", range(10))
def test_a_leak_beneath_the_noise_is_seen(seed: int) -> None:
    """Of a twentieth in an hour, while it moves by more than that."""
    leak = LEVEL * 0.05 / 3_600
    moves = zip(HOUR, noise(seed, 4.5), strict=True)
    found = slope_of(points([LEVEL + leak * at + n for at, n in moves]))

    assert found.grows is True
    assert found.per_hour == pytest.approx(LEVEL * 0.05, abs=found.unsure_per_hour * 2)


def test_what_is_kept_for_a_while_and_then_forgotten_does_not_grow() -> None:
    """As the live log on PostgreSQL: two slots of ten minutes, emptied in turns."""
    assert slope_of(points([1_000 + (at % 600) for at in HOUR[:240]])).grows is False


def test_a_leak_that_comes_in_steps_is_seen() -> None:
    """As memory comes to a process: a megabyte at a time, every five minutes."""
    steps = [LEVEL + at // 300 + n for at, n in zip(HOUR, noise(1, 0.5), strict=True)]
    assert slope_of(points(steps)).grows is True


def test_a_rise_of_less_than_a_fiftieth_is_nothing() -> None:
    assert slope_of(points([LEVEL * (1 + 0.015 * at / 3_600) for at in HOUR])).grows is False
    assert slope_of(points([LEVEL * (1 + 0.025 * at / 3_600) for at in HOUR])).grows is True


def test_what_falls_does_not_grow() -> None:
    assert slope_of(points([LEVEL - at / 100 for at in HOUR])).grows is False


def test_of_a_short_time_nothing_is_said() -> None:
    steep = points([LEVEL + at for at in HOUR])

    assert slope_of(steep[:59]).grows is None  # less than ten minutes
    assert slope_of(steep[::30]).grows is None  # a dozen samples
    assert slope_of([]).grows is None
    assert slope_of(steep[:1]).level == LEVEL


def test_what_is_always_the_same_is_flat() -> None:
    assert slope_of(points([9.0 for _ in HOUR])).grows is False


@pytest.mark.parametrize("step_s", range(300, 3_600, 300))
def test_one_more_of_something_is_no_growth_and_three_are(step_s: float) -> None:
    one = [40.0 + (at > step_s) for at in HOUR]
    assert slope_of(points(one), ONE_MORE).grows is False
    assert slope_of(points([40.0 + at // 900 for at in HOUR]), ONE_MORE).grows is True
