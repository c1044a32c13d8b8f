"""The table of defects: every script has a defect, and a test or an attack that exists."""

from pathlib import Path

import pytest

from benchmarks import defects
from holdfast_lab.chaos.attacks import ATTACKS

ROOT = Path(__file__).resolve().parents[3]
TABLE = defects.table()
NUMBERED = {f"B{number}" for number in range(1, 15)}
SCRIPTS = 23
"""That the review left."""


@pytest.mark.parametrize("each", TABLE["scripts"], ids=lambda each: each["script"])
def test_every_script_names_tests_and_attacks_that_exist(each: defects.Table) -> None:
    for named in each["tests"]:
        file, _, name = named.partition("::")
        said = f"def {name}(" if file.endswith(".py") else f'"{name}"'
        assert said in (ROOT / file).read_text(), named
    assert set(each["attacks"]) <= {attack.name for attack in ATTACKS}
    assert each["tests"] or not each["mended"], "mended, and no test keeps it so"


def test_every_defect_has_a_script_and_every_script_its_row() -> None:
    names = [each["script"] for each in TABLE["scripts"]]
    assert len(names) == len(set(names)) == SCRIPTS
    assert {each["defect"] for each in TABLE["scripts"]} == TABLE["defects"].keys()
    assert TABLE["defects"].keys() >= NUMBERED
    shown = {each["defect"] for each in TABLE["scripts"] if not each["mended"]}
    assert shown <= TABLE["open"].keys() <= TABLE["defects"].keys()


def test_what_is_open_is_counted_and_told() -> None:
    rows = [
        {"script": "a.py", "defect": "B1", "mended": True, "tests": ["t/x.py::y"], "attacks": []},
        {"script": "b.py", "defect": "B2", "mended": False, "tests": [], "attacks": ["kills"]},
    ]
    table = {"defects": {"B1": "one", "B2": "two"}, "open": {"B2": "still"}, "scripts": rows}
    counts = {"defects_open": 1, "repro_scripts": 2, "repro_scripts_mended": 1}
    assert defects.counted(table) == counts
    first, second = defects.rows(table).splitlines()
    assert first == "| B1: one | `a.py` | `x.py::y` | mended |"
    assert second == "| B2: two | `b.py` | `holdfast lab prove --only 'kills'` | **shown** |"
    assert defects.open_parts(table) == "- B2: still"
