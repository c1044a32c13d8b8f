"""The line that refuses statements, and the page of figures, which invents none."""

from benchmarks.fleet import MEANINGS, figures_of, page
from holdfast.prove.fleet.refusing import CONNECTING, Refusing
from holdfast.prove.fleet.sqlstates import CODES

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
