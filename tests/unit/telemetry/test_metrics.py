"""Metrics: the table, and a registry of its own for each server."""

import urllib.request
from dataclasses import dataclass, field, fields
from typing import Any

import pytest

from holdfast.api.connections import ConnectionCounters
from holdfast.ports.bus import BusCounters
from holdfast.stream.options import StreamCounters
from holdfast.telemetry.metrics import COMMIT_S, METRICS, MetricKind, MetricRow, Metrics, numbers_of
from holdfast.turn.counters import TurnCounters
from holdfast.worker.options import WorkerCounters
from tests.support.waits import HANG_S

COUNTERS: dict[str, Any] = {
    "bus": BusCounters,
    "http": ConnectionCounters,
    "stream": StreamCounters,
    "turn": TurnCounters,
    "worker": WorkerCounters,
}


def rows_of(part: str) -> set[str]:
    return {row.field for row in METRICS if row.part == part}


@pytest.mark.parametrize("part", COUNTERS)
def test_every_counter_has_a_metric_and_every_metric_a_counter(part: str) -> None:
    assert rows_of(part) == {each.name for each in fields(COUNTERS[part])}


def test_rows_of_one_name_agree_and_differ_only_in_their_labels() -> None:
    seen: dict[str, MetricRow] = {}
    said: set[tuple[str, str]] = set()
    for row in METRICS:
        first = seen.setdefault(row.name, row)
        assert (row.kind, row.help, row.label_names) == (first.kind, first.help, first.label_names)
        key = (row.name, str(row.labels))
        assert key not in said
        said.add(key)


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "bus_total", "kind": MetricKind.COUNTER, "part": "a", "field": "b"},
        {"name": "holdfast_bus", "kind": MetricKind.COUNTER, "part": "a", "field": "b"},
        {"name": "holdfast_bus_total", "kind": MetricKind.GAUGE, "part": "a", "field": "b"},
        {"name": "holdfast_x_seconds", "kind": MetricKind.HISTOGRAM},
        {"name": "holdfast_x", "kind": MetricKind.GAUGE},
        {"name": "holdfast_x", "kind": MetricKind.GAUGE, "part": "a", "field": "b", "by": "kind"},
    ],
)
def test_a_row_that_breaks_a_rule_is_refused(wrong: Any) -> None:
    with pytest.raises(AssertionError):
        MetricRow(help="", **wrong)


@dataclass
class Counters:
    plain: int = 0
    by_kind: dict[str, int] = field(default_factory=dict[str, int])


ROWS = (
    MetricRow(name="holdfast_a_total", kind=MetricKind.COUNTER, help="A.", part="p", field="plain"),
    MetricRow(
        name="holdfast_b_total",
        kind=MetricKind.COUNTER,
        help="B.",
        part="p",
        field="by_kind",
        by="kind",
        among=("x", "y"),
    ),
    MetricRow(name="holdfast_c", kind=MetricKind.GAUGE, help="C.", part="absent", field="c"),
    MetricRow(name="holdfast_d_seconds", kind=MetricKind.HISTOGRAM, help="D.", buckets=(1.0, 2.0)),
)


def test_counters_are_read_when_somebody_asks() -> None:
    counters = Counters()
    metrics = Metrics(ROWS)
    metrics.bind("p", lambda: numbers_of(counters))
    counters.plain = 3
    counters.by_kind["x"] = 2
    metrics.observe("holdfast_d_seconds")(1.5)
    text = metrics.text().decode()
    assert "# TYPE holdfast_a_total counter" in text
    assert "\nholdfast_a_total 3.0\n" in text
    assert 'holdfast_b_total{kind="x"} 2.0' in text
    assert 'holdfast_b_total{kind="y"} 0.0' in text
    assert "holdfast_c" not in text, "this process has no such part"
    assert 'holdfast_d_seconds_bucket{le="2.0"} 1.0' in text
    assert 'holdfast_d_seconds_bucket{le="1.0"} 0.0' in text
    assert "process_open_fds" in text
    counters.plain = 4
    assert metrics.value("holdfast_a_total") == 4
    assert metrics.value("holdfast_b_total", kind="x") == 2


def test_two_servers_in_a_process_do_not_mix() -> None:
    one, two = Metrics(), Metrics()
    one.observe(COMMIT_S)(0.1)
    assert one.value(f"{COMMIT_S}_count") == 1
    assert two.value(f"{COMMIT_S}_count") == 0


def test_they_are_served_until_the_block_is_left() -> None:
    metrics = Metrics()
    with metrics.served("127.0.0.1", 0) as port:
        address = f"http://127.0.0.1:{port}/metrics"
        answer = urllib.request.urlopen(address, timeout=HANG_S)
        assert b"holdfast_commit_seconds_count 0.0" in answer.read()
        answer.close()
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(address, timeout=HANG_S)
