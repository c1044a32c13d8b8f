"""Every promise of the page has an essential test, and README.md says which."""

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

FOLDER: Final = Path(__file__).parent
ITEMS: Final = frozenset(range(1, 23))
"""The items of the design's list of browser tests."""
NIGHTLY_ONLY: Final = {12: "layout shifts, which the browser counts by frames and by time"}
NAMED: Final = re.compile(r"`(test_\w+\.py::test_\w+)`")


@dataclass(frozen=True)
class Found:
    """A test function. `essential`: itself, or at least one of its parameters."""

    name: str
    items: frozenset[int]
    essential: bool


def found() -> Iterator[Found]:
    for path in sorted(FOLDER.glob("test_*.py")):
        module = importlib.import_module(f"tests.browser.{path.stem}")
        shared = marks_of(module)
        for name, value in vars(module).items():
            if name.startswith("test_") and callable(value) and value.__module__ == module.__name__:
                marks = [*shared, *marks_of(value)]
                items = frozenset(int(m.args[0]) for m in marks if m.name == "ui_item")
                essential = any(is_essential(mark) for mark in marks)
                yield Found(f"{path.name}::{name}", items, essential)


def marks_of(marked: object) -> list[pytest.Mark]:
    """As pytest reads them: one mark or a list, of a module or a function."""
    given: Any = getattr(marked, "pytestmark", [])
    listed: list[Any] = [given] if isinstance(given, pytest.MarkDecorator) else given
    return [each.mark if isinstance(each, pytest.MarkDecorator) else each for each in listed]


def is_essential(mark: pytest.Mark) -> bool:
    if mark.name != "parametrize":
        return mark.name == "essential"
    return any(is_essential(each) for case in mark.args[1] for each in marks_of_case(case))


def marks_of_case(case: Any) -> list[pytest.Mark]:
    """Of a value of a parameter: those that `pytest.param` was given."""
    return [each.mark if hasattr(each, "mark") else each for each in getattr(case, "marks", ())]


def listed_in_readme() -> set[str]:
    """The tests that the table of README.md names."""
    _, _, table = (FOLDER / "README.md").read_text().partition("## Essentials")
    return set(NAMED.findall(table.partition("\n## ")[0]))


@pytest.mark.essential
def test_every_item_of_the_design_has_an_essential_test() -> None:
    tests = list(found())
    assert frozenset[int]().union(*(each.items for each in tests)) == ITEMS, "tested at all"
    covered = frozenset[int]().union(*(each.items for each in tests if each.essential))
    assert ITEMS - covered == NIGHTLY_ONLY.keys()


@pytest.mark.essential
def test_the_readme_lists_the_essential_tests() -> None:
    essential = {each.name for each in found() if each.essential}
    own = {name for name in essential if name.startswith(Path(__file__).name)}
    assert listed_in_readme() == essential - own
