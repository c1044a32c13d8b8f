"""The figures of a report of `holdfast lab eval`."""

import pytest

from holdfast_lab.eval.statistics import Interval, paired, pass_at, wilson


@pytest.mark.parametrize(
    ("passed", "runs", "low", "high"),
    [
        # From the formula of Wilson (1927), computed by hand to four digits.
        (5, 10, 0.2366, 0.7634),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (27, 30, 0.7438, 0.9654),
        (1, 1, 0.2065, 1.0),
    ],
)
def test_wilson_interval(passed: int, runs: int, low: float, high: float) -> None:
    found = wilson(passed, runs)

    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


def test_wilson_interval_without_runs_says_nothing() -> None:
    assert wilson(0, 0) == Interval(0.0, 1.0)


def test_wilson_interval_holds_the_rate_and_narrows_with_runs() -> None:
    for passed in range(11):
        few, many = wilson(passed, 10), wilson(passed * 100, 1000)
        assert few.low <= passed / 10 <= few.high
        assert many.high - many.low < few.high - few.low


@pytest.mark.parametrize(
    ("k", "passed", "runs", "value"),
    [(1, 1, 3, 1 / 3), (3, 1, 3, 1.0), (3, 0, 3, 0.0), (3, 1, 6, 0.5), (2, 2, 4, 5 / 6)],
)
def test_pass_at_k_is_the_chance_of_one_success_in_k_runs(
    k: int, passed: int, runs: int, value: float
) -> None:
    assert pass_at(k, passed, runs) == pytest.approx(value)


def test_pass_at_k_needs_k_runs() -> None:
    with pytest.raises(ValueError, match="3 of 2"):
        pass_at(3, 1, 2)


def test_paired_difference_counts_tasks_of_both_arms() -> None:
    base = {"a": 1.0, "b": 0.0, "c": 0.5, "only here": 1.0}
    found = paired(base, {"a": 1.0, "b": 1.0, "c": 0.0, "only there": 0.0})

    assert (found.tasks, found.better, found.worse) == (3, 1, 1)
    assert found.mean == pytest.approx(1 / 6)
    assert found.interval is not None
    assert found.interval.low < 0 < found.interval.high


def test_paired_difference_of_equal_arms_is_nothing() -> None:
    found = paired({"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 0.0})

    assert (found.mean, found.interval, found.better, found.worse) == (
        *(0.0, Interval(0.0, 0.0)),
        *(0, 0),
    )


def test_paired_difference_of_one_task_has_no_interval() -> None:
    assert paired({"a": 0.0}, {"a": 1.0}).interval is None
    assert paired({}, {"a": 1.0}).tasks == 0
