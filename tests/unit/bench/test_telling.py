"""Times, plots and lines."""

from xml.etree import ElementTree

import pytest

from holdfast_lab.bench import svg
from holdfast_lab.bench.baselines import Asgi, Baselines, Bus
from holdfast_lab.bench.figures import Result, figures_of, lines
from holdfast_lab.bench.load import Load
from holdfast_lab.bench.page import page_of
from holdfast_lab.bench.running import Outcome
from holdfast_lab.bench.times import Times
from holdfast_lab.bench.watch import Sample, Statement, Watched


def test_percentiles_are_values_that_were_seen() -> None:
    times = Times()
    for number in range(1, 101):
        times.add(number / 1000)

    assert times.summary() == {"p50": 50, "p90": 90, "p99": 99, "max": 100, "count": 100}
    assert Times().summary() == {}


def test_a_histogram_counts_everything_once() -> None:
    times = Times()
    for number in (1, 1, 2, 50, 1_000, 1_000):
        times.add(number / 1000)

    bars = times.histogram()

    assert sum(count for *_, count in bars) == 6
    assert bars[0][2] == 2
    assert bars[-1][2] == 2


def test_plots_are_well_formed_and_escape_what_they_show() -> None:
    drawn = svg.lines("CPU <by> part", {"a & b": [(0, 1.0), (2, 3.0)]}, "cores")
    bars = svg.histogram("turns", [(1, 2, 5), (2, 4, 0)], "ms")

    for each in (drawn, bars):
        ElementTree.fromstring(each)  # raises if it is not
    assert "a &amp; b" in drawn
    assert bars.count("<rect") == 2


def test_nothing_to_plot_is_no_plot() -> None:
    assert svg.histogram("none", [], "ms") == ""
    assert svg.lines("none", {"a": []}, "ms") == ""


def a_result(turns: int = 10, **wrong: str) -> Result:
    outcome = Outcome(turns=turns, seconds=2.0, parts=20, events=60, wrong=wrong, histories=5)
    for _ in range(turns):
        outcome.turn.add(0.1)
    watched = Watched()
    for second in (0, 1, 2):
        cpu = {"server": 0.01 * second, "load generator": 0.001 * second}
        watched.samples.append(Sample(second, 5 * second, cpu, {"server": 2**20}, 9, 3))
    watched.statements = [Statement("load_chat", 20, 1.0), Statement("heartbeat", 7, 1.0)]
    watched.counted['holdfast_bus_sent_total{kind="part"}'] = 20
    return Result(
        load=Load(chats=5, turns=2),
        outcome=outcome,
        watched=watched,
        baselines=Baselines(
            pgbench_turns_per_s=50.0,
            bus=Bus(events_per_s=100.0, cpu_us=9.0),
            asgi=Asgi(turns_per_s=20.0, server_cpu_ms=0.5),
        ),
        setup={"replicas": 1},
    )


def test_figures_are_per_turn_and_beside_the_bare_engines() -> None:
    figures = figures_of(a_result())

    assert figures["passed"]
    assert figures["lost"] == 0
    assert figures["cpu_ms_per_turn"] == {"server": 2.0, "load generator": 0.2, "all": 2.2}
    assert figures["statements_per_turn"] == 2.0  # a heartbeat is not of a turn
    assert figures["connections_busy_max"] == 3
    assert figures["ratios"] == {
        "turns_to_pgbench": 0.1,
        "bus_events_to_bare_bus": 0.1,
        "turns_to_bare_asgi": 0.25,
        "server_cpu_to_bare_asgi": 0.25,
    }


@pytest.mark.parametrize(("turns", "wrong"), [(9, {}), (10, {"chat-1": "a word is missing"})])
def test_a_run_that_lost_something_has_not_passed(turns: int, wrong: dict[str, str]) -> None:
    result = a_result(turns, **wrong)
    said = "\n".join(lines(result))

    assert not result.passed
    assert "FAILED" in said
    for chat_id, reason in wrong.items():
        assert f"chat {chat_id}: {reason}" in said


def test_the_page_needs_nothing_but_itself() -> None:
    page = page_of(a_result(), "all was <right>")

    assert page.count("<svg") >= 3
    assert "all was &lt;right&gt;" in page
    for fetched in ("<script", "<link", "src=", "url(", "@import"):
        assert fetched not in page
