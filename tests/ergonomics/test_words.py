"""Texts for models use the usual terms, and an error says its cause and the next step (set 5)."""

import re
from pathlib import Path

import pytest

from holdfast.ports.tools import ToolSpec
from tests.support.texts_for_models import AGENT, TOOLS, constants, described, refusals, specs

DENIED = re.compile(
    r"\b(nobody answers|anybody|everybody|somebody|whoever|made anew|wherever it stands|"
    r"how .{1,30} stands|took it along|wants or not|what lies|ask for less|there are more:|"
    r"valid tuple|extra inputs|should be a valid|NoneType|tuple|dict|frozenset|pydantic|"
    r"ValidationError|Traceback)\b",
    re.IGNORECASE,
)
"""Riddles of earlier texts, and words of Python and its libraries."""

NEXT_STEP = re.compile(
    r"(?:^|[.:;,X] |\band |\bthen |\bor |\()(?:ask|call|change|check|choose|copy|create|cut|delete|"
    r"end|find|free|give|go on|leave|list|look|make|name|pass|put|raise|read|redirect|remove|repeat"
    r"|replace|run|search|send|set|start|stop|tell|try|use|wait|write)\b",
    re.IGNORECASE,
)
COMMAND_MODULES = ("processes", "spawned", "feeding", "external", "environment")


BEING_REPLACED = frozenset({"edit_files"})
"""Tools whose texts are written anew: their words are not checked yet."""


@pytest.mark.parametrize("spec", specs(), ids=lambda spec: spec.name)
def test_descriptions_use_the_usual_terms(spec: ToolSpec) -> None:
    if spec.name in BEING_REPLACED:
        return
    for said in (spec.description, *described(spec.schema)):
        assert DENIED.search(said) is None, f"{spec.name}: {said}"


def test_constants_of_the_tools_use_the_usual_terms() -> None:
    for module in sorted(TOOLS.glob("*.py")):
        for name, text in constants(module):
            assert DENIED.search(text) is None, f"{module.stem}.{name}: {text}"


@pytest.mark.parametrize("module", COMMAND_MODULES)
def test_a_refused_command_says_what_to_do_next(module: str) -> None:
    found = list(refusals(AGENT / f"{module}.py"))
    assert found, "the lint reads something"
    for line, text in found:
        assert NEXT_STEP.search(text), f"{module}.py:{line}: {text}"
        assert DENIED.search(text) is None, f"{module}.py:{line}: {text}"


def test_refusals_about_files_use_the_usual_terms() -> None:
    for module in sorted((AGENT / "files").glob("*.py")):
        for line, text in refusals(module):
            assert DENIED.search(text) is None, f"{module.name}:{line}: {text}"


def test_the_lint_finds_a_riddle_and_a_text_without_a_next_step(tmp_path: Path) -> None:
    source = tmp_path / "a.py"
    source.write_text('def f():\n    raise Refused(1, f"{x} was made anew.")\n')
    [(line, text)] = refusals(source)
    assert (line, text) == (2, "X was made anew.")
    assert DENIED.search(text)
    assert NEXT_STEP.search(text) is None
