"""The threat model and the tests name each other: a control has a test, an attack has a row."""

import re
from pathlib import Path
from typing import Final

from holdfast_lab.chaos.attacks import ATTACKS

TESTS: Final = Path(__file__).resolve().parents[1]
PAGE: Final = (TESTS.parent / "docs" / "threat-model.md").read_text()
TEST: Final = re.compile(r"`([\w/]+\.py)::(test_\w+)`")
ATTACK: Final = re.compile(r"attack: ([a-z -]+)")


def rows(page: str) -> list[str]:
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    return [line for line in lines if not line.startswith(("| attack |", "| what |"))]


def gone(page: str) -> list[str]:
    """Named tests that are not there."""
    named = TEST.findall(page)
    return [
        f"{file}::{test}"
        for file, test in named
        if not (TESTS / file).is_file() or f"def {test}(" not in (TESTS / file).read_text()
    ]


def test_every_row_names_a_test_or_an_attack() -> None:
    assert len(rows(PAGE)) > 20
    assert [row for row in rows(PAGE) if not TEST.search(row) and not ATTACK.search(row)] == []


def test_every_named_test_is_there() -> None:
    assert gone(PAGE) == []
    assert gone("`docs/test_threat_model.py::test_nowhere`") != []


def test_attacks_of_prove_and_of_the_page_are_the_same() -> None:
    assert {name.strip() for name in ATTACK.findall(PAGE)} == {each.name for each in ATTACKS}
