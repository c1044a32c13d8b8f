"""No mutant is lost, and every suite of mutants has one that the gate makes."""

from scripts import mutants_report
from scripts.mutants_report import suites


def test_no_mutant_is_lost() -> None:
    assert sum(len(each.mutants) for each in suites()) >= mutants_report.AT_LEAST


def test_every_canary_is_a_mutant_of_its_suite() -> None:
    assert [each.name for each in suites() if each.canary not in {None, *each.mutants}] == []


def test_every_suite_has_mutants() -> None:
    assert [each.name for each in suites() if not each.mutants] == []
