"""Circuit breakers, on a clock that the test sets."""

import pytest

from holdfast.turn.breaker import FAILURES_MAX, OPEN_S, WINDOW_S, CircuitBreakers
from holdfast.turn.counters import TurnCounters
from tests.requirements import requirement

HOST = "simulator 127.0.0.1:1"


class Bench:
    """Breakers, and the clock that they read."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.counters = TurnCounters()
        self.breakers = CircuitBreakers(lambda: self.now_s, self.counters)

    def fail(self, times: int = FAILURES_MAX, *, every_s: float = 0.0) -> None:
        for _ in range(times):
            self.breakers.begun(HOST)
            self.breakers.failed(HOST)
            self.now_s += every_s

    @property
    def admits(self) -> bool:
        return self.breakers.admits(HOST)


@requirement("F09")
def test_breaker_opens_at_the_fifth_failure_within_the_window() -> None:
    bench = Bench()
    bench.fail(FAILURES_MAX - 1)
    assert bench.admits
    bench.fail(1)
    assert not bench.admits
    assert bench.breakers.admits("another"), "of this endpoint only"
    assert bench.counters.breaker_changes == {"open": 1}


def test_breaker_stays_closed_if_failures_are_rare() -> None:
    bench = Bench()
    bench.fail(20, every_s=WINDOW_S / (FAILURES_MAX - 1) + 0.1)
    assert bench.admits


def test_breaker_stays_closed_if_replies_come_between() -> None:
    """A busy endpoint that fails one request of a hundred is not down."""
    bench = Bench()
    for _ in range(10):
        bench.fail(FAILURES_MAX - 1)
        bench.breakers.answered(HOST)
    assert bench.admits
    assert not bench.counters.breaker_changes


@requirement("F09")
def test_one_probe_is_admitted_and_its_reply_closes_the_breaker() -> None:
    bench = Bench()
    bench.fail()
    bench.now_s += OPEN_S - 0.01
    assert not bench.admits
    bench.now_s += 0.01
    assert bench.admits
    bench.breakers.begun(HOST)
    assert not bench.admits, "one probe at a time"
    bench.breakers.answered(HOST)
    assert bench.admits
    bench.fail(FAILURES_MAX - 1)
    assert bench.admits, "counted anew"
    assert bench.counters.breaker_changes == {"open": 1, "closed": 1}


def test_probe_that_fails_opens_the_breaker_again() -> None:
    bench = Bench()
    bench.fail()
    bench.now_s += OPEN_S
    bench.fail(1)
    assert not bench.admits
    bench.now_s += OPEN_S
    assert bench.admits
    assert bench.counters.breaker_changes == {"open": 2}


def test_failures_while_open_do_not_put_off_the_probe() -> None:
    """Steps without a fallback go on asking."""
    bench = Bench()
    bench.fail()
    bench.now_s += OPEN_S / 2
    bench.fail()
    bench.now_s += OPEN_S / 2
    assert bench.admits


@pytest.mark.parametrize("told", [True, False])
def test_probe_that_says_nothing_is_followed_by_another(*, told: bool) -> None:
    """An interrupt ends it, or its task was cancelled before it could tell."""
    bench = Bench()
    bench.fail()
    bench.now_s += OPEN_S
    bench.breakers.begun(HOST)
    if told:
        bench.breakers.abandoned(HOST)
    else:
        bench.now_s += OPEN_S
    assert bench.admits


def test_the_mutant_without_a_probe_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(self: CircuitBreakers, endpoint: str) -> bool:
        circuit = self._circuits.get(endpoint)  # pyright: ignore[reportPrivateUsage]
        return circuit is None or circuit.open_until_s is None

    monkeypatch.setattr(CircuitBreakers, "admits", never)
    with pytest.raises(AssertionError):
        test_one_probe_is_admitted_and_its_reply_closes_the_breaker()
