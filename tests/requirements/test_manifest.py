"""The manifest is whole, and the tests that name its ids are found."""

import ast
import re
from pathlib import Path

import pytest

from tests.requirements.manifest import (
    LETTERS,
    NotLiteral,
    known_ids,
    names_in,
    proofs,
    sections,
)

SAMPLE = """
pytestmark = pytest.mark.requirement("S1")

@requirement("L01", *("L02", "L03"))
async def test_a(): ...

@pytest.mark.requirement("M1")
class TestB:
    @pytest.mark.requirement("M2")
    def test_c(self): ...

@pytest.mark.parametrize("x", [pytest.param(1, marks=requirement("D1"))])
def test_d(x): ...

TestMachine = requirement("T02")(Machine.TestCase)
"""


def test_every_series_is_listed_without_gaps() -> None:
    expected = {
        *(f"F{n:02}" for n in range(1, 31)),
        *(f"L{n:02}" for n in (*range(1, 155), 164, 167)),
        *(f"T{n:02}" for n in range(1, 27)),
        *(f"S{n}" for n in range(1, 13)),
        *(f"R{n}" for n in range(1, 9)),
        *(f"{series}{n}" for series in ("M", "X") for n in range(1, 6)),
        *(f"{series}{n}" for series in ("P", "D", "A") for n in range(1, 5)),
        *(f"LV{n}" for n in range(1, 4)),
    }
    assert known_ids() == expected


def test_letters_of_every_id_are_explained() -> None:
    assert {id_.rstrip("0123456789") for id_ in known_ids()} == set(LETTERS)


def test_each_sentence_is_one_short_line() -> None:
    for section in sections().values():
        for id_, sentence in section.items():
            assert re.fullmatch(r"\S.{0,220}\S", sentence), id_


def test_ids_are_found_on_functions_classes_parameters_and_modules() -> None:
    assert sorted(names_in(ast.parse(SAMPLE), "t.py")) == [
        ("D1", "t.py::test_d"),
        ("L01", "t.py::test_a"),
        ("L02", "t.py::test_a"),
        ("L03", "t.py::test_a"),
        ("M1", "t.py::TestB"),
        ("M2", "t.py::TestB::test_c"),
        ("S1", "t.py"),
        ("T02", "t.py::TestMachine"),
    ]


def test_an_id_that_is_not_literal_is_refused() -> None:
    with pytest.raises(NotLiteral, match=r"t\.py::test_a: line 1"):
        list(names_in(ast.parse("@requirement(*IDS)\ndef test_a(): ..."), "t.py"))


def test_proofs_are_collected_from_the_tests_folder(tmp_path: Path) -> None:
    (tmp_path / "tests" / "unit").mkdir(parents=True)
    for name in ("b", "a"):
        (tmp_path / "tests" / "unit" / f"test_{name}.py").write_text(
            '@requirement("L01")\ndef test_it(): ...\n'
        )

    assert proofs(tmp_path) == {"L01": ("unit/test_a.py::test_it", "unit/test_b.py::test_it")}


def test_no_test_names_an_unknown_id() -> None:
    assert set(proofs()) <= known_ids()
