"""Circuit breakers: whether an endpoint is failing, as this process has seen it.

The breaker of an endpoint that failed `FAILURES_MAX` times within `WINDOW_S`, without a reply
between, is open for `OPEN_S`. Then one attempt may try the endpoint (the probe): its reply closes
the breaker, its failure opens it again. Only steps with a fallback model heed it; the attempts of
the others count as well. Two processes learn of an outage apart: nothing here is stored.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from holdfast.turn.counters import TurnCounters

FAILURES_MAX: Final = 5
WINDOW_S: Final = 30.0
OPEN_S: Final = 30.0


@dataclass(slots=True)
class _Circuit:
    failed_at_s: deque[float] = field(default_factory=lambda: deque[float](maxlen=FAILURES_MAX))
    open_until_s: float | None = None
    probe_ends_s: float | None = None


class CircuitBreakers:
    """One per process. `time_s` is a clock that never goes back. Circuits exist only of endpoints
    that failed since their last reply; the settings bound how many there are."""

    def __init__(self, time_s: Callable[[], float], counters: TurnCounters) -> None:
        self._time_s = time_s
        self._counters = counters
        self._circuits: dict[str, _Circuit] = {}

    def admits(self, endpoint: str) -> bool:
        """Whether an attempt may ask this endpoint: it is closed, or a probe is due."""
        circuit = self._circuits.get(endpoint)
        if circuit is None or circuit.open_until_s is None:
            return True
        now_s = self._time_s()
        probing = circuit.probe_ends_s is not None and now_s < circuit.probe_ends_s
        return now_s >= circuit.open_until_s and not probing

    def begun(self, endpoint: str) -> None:
        """An attempt asks this endpoint now. The first one behind an outage is the probe."""
        circuit = self._circuits.get(endpoint)
        if circuit is not None and circuit.open_until_s is not None and self.admits(endpoint):
            # Not for ever: the attempt may be cancelled before it is sent.
            circuit.probe_ends_s = self._time_s() + OPEN_S

    def answered(self, endpoint: str) -> None:
        """The endpoint gave a whole reply."""
        circuit = self._circuits.pop(endpoint, None)
        if circuit is not None and circuit.open_until_s is not None:
            self._counters.breaker_changes["closed"] += 1

    def failed(self, endpoint: str) -> None:
        """The endpoint is overloaded, silent or gone."""
        now_s = self._time_s()
        circuit = self._circuits.setdefault(endpoint, _Circuit())
        circuit.failed_at_s.append(now_s)
        if circuit.open_until_s is not None:
            if now_s >= circuit.open_until_s:  # a probe, or a step that has no fallback
                self._open(circuit, now_s)
        elif len(circuit.failed_at_s) == FAILURES_MAX and (
            now_s - circuit.failed_at_s[0] <= WINDOW_S
        ):
            self._open(circuit, now_s)

    def abandoned(self, endpoint: str) -> None:
        """The attempt says nothing about the endpoint: another one may be the probe."""
        circuit = self._circuits.get(endpoint)
        if circuit is not None:
            circuit.probe_ends_s = None

    def _open(self, circuit: _Circuit, now_s: float) -> None:
        circuit.open_until_s, circuit.probe_ends_s = now_s + OPEN_S, None
        self._counters.breaker_changes["open"] += 1
