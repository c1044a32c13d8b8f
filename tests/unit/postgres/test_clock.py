"""The database's clock, told by a process: it counts while the machine sleeps."""

import sys
import time
from datetime import UTC, datetime, timedelta

import pytest

from holdfast.adapters.postgres import clock
from holdfast.adapters.postgres.clock import DatabaseClock
from tests.requirements import requirement

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)


@requirement("L150")
def test_time_that_passes_while_the_machine_sleeps_counts() -> None:
    booted_s = 1_000.0
    told = DatabaseClock(NOON, booted_s, lambda: booted_s)
    booted_s += 2 * 3600  # the machine slept: only a clock that counts since boot goes on
    assert told.now() == NOON + timedelta(hours=2)


@requirement("L150")
@pytest.mark.skipif(sys.platform != "linux", reason="other platforms have no CLOCK_BOOTTIME")
def test_the_clock_counts_since_boot_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def slept(which: int) -> float:
        asked.append(which)
        return 7_200.0

    told = DatabaseClock(NOON, 0.0)
    monkeypatch.setattr(time, "clock_gettime", slept)
    assert told.now() == NOON + timedelta(hours=2)
    assert asked == [time.CLOCK_BOOTTIME]


def test_a_platform_without_that_clock_has_the_monotonic_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clock, "_BOOT_TIME", None)
    monkeypatch.setattr(time, "monotonic", lambda: 5.0)
    assert DatabaseClock(NOON, 2.0).now() == NOON + timedelta(seconds=3)
