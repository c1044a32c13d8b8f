"""The line that refuses statements, and the page of figures, which invents none."""

from pathlib import Path

import orjson
import pytest

from benchmarks import fleet, report
from benchmarks.before import cpu_ms_of
from benchmarks.fleet import ATTACKS, FIGURES, MEANINGS, figures_of, page
from holdfast_lab.chaos import attacks
from holdfast_lab.chaos.fleet.refusing import CONNECTING, Refusing
from holdfast_lab.chaos.fleet.sqlstates import CODES

WHALES = {"page_mb": 3.5, "snapshot_mb": 0.5, "turn_mb": 9.0, "fork_mb": 0.0}
REPORT = {
    "changing_primaries": {"promise": "", "violations": 0, "read_only_recover_s": 0.4},
    "migrations": {"promise": "", "violations": 2},
    "endless_heads": {"promise": "", "violations": 0, "not_tried": "no PostgreSQL"},
    "mutants_total": 7,
    "mutants_killed": 6,
}


def a_line(**more: int | str) -> Refusing:
    return Refusing("127.0.0.1", 5432, code="53100", **more)  # pyright: ignore[reportArgumentType]


def test_each_statement_is_refused_once_for_each_code() -> None:
    line = a_line()
    assert [line.refuses("select 1") for _ in range(3)] == [True, False, False]
    assert line.refuses(CONNECTING)
    line.begin("40001")
    assert line.refuses("select 1")
    line.end()
    assert not line.refuses("select 2")
    assert sum(line.refused.values()) == 3


def test_what_ends_a_transaction_always_passes() -> None:
    line = a_line()
    assert not any(line.refuses(each) for each in ("COMMIT;", "ROLLBACK;", "BEGIN;"))


def test_only_the_named_statements_are_refused_however_often_they_come() -> None:
    line = a_line(only="insert into messages")
    assert [line.refuses("with a as (insert into messages)") for _ in range(3)] == [True] * 3
    assert not line.refuses("update workers")


def test_every_class_that_a_server_can_meet_is_tried() -> None:
    classes = {"08", "22", "23", "25", "28", "40", "42", "53", "54", "55", "57", "58", "XX"}
    assert classes <= {code[:2] for code in CODES}


def test_figures_that_no_run_measured_are_left_out_and_named() -> None:
    figures = figures_of(REPORT)
    assert figures == {
        "prove_attacks": 2,
        "prove_broken": 2,
        "mutants_total": 7,
        "mutants_killed": 6,
        "failover_readonly_recover_s": 0.4,
    }
    measured, _, open_ = page(figures).partition("## Open")
    for key in MEANINGS:
        assert (f"`{key}`" in measured, f"`{key}`" in open_) == (key in figures, key not in figures)


def test_every_attack_of_the_page_is_one_of_the_proof() -> None:
    known = {attack.name for attack in attacks.ATTACKS}
    assert set(ATTACKS) <= known
    assert {name for name, *_ in FIGURES.values()} <= set(ATTACKS)
    assert FIGURES.keys() <= MEANINGS.keys()


def test_a_figure_of_several_is_the_largest_and_needs_them_all() -> None:
    found = figures_of({**REPORT, "whales": {"violations": 0, "start_ratio": 1.2, **WHALES}})
    assert (found["big_chat_added_mb_max"], found["whale_start_ratio"]) == (9.0, 1.2)
    partly = {name: value for name, value in WHALES.items() if name != "fork_mb"}
    assert "big_chat_added_mb_max" not in figures_of(
        {**REPORT, "whales": {"violations": 0, **partly}}
    )


def test_figures_of_a_part_that_was_not_repeated_are_kept_with_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "FOLDER", tmp_path)
    monkeypatch.setattr(fleet, "FOLDER", tmp_path)
    fleet.write("words", {"kill_prefix_trials": 200})
    fleet.write("seeds", {"simulation_seeds": 10})
    kept = orjson.loads((tmp_path / "fleet.json").read_bytes())
    assert (kept["kill_prefix_trials"], kept["simulation_seeds"]) == (200, 10)
    assert kept["words_measured_at"] == kept["seeds_measured_at"] == report.commit()
    assert "| `kill_prefix_trials` |" in (tmp_path / "fleet.md").read_text()


def test_the_cpu_of_a_turn_is_that_of_the_parts_that_an_operator_runs() -> None:
    by_part = {"server": 1.0, "worker": 2.0, "postgresql": 4.0, "simulator": 8.0, "all": 15.0}
    assert cpu_ms_of({"passed": True, "cpu_ms_per_turn": by_part}) == 7.0
    with pytest.raises(AssertionError, match="lost or doubled"):
        cpu_ms_of({"passed": False, "cpu_ms_per_turn": by_part})
