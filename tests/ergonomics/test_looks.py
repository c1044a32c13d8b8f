"""Listings, finds and searches at every limit: whole lines, and a cut names a way to continue."""

import re
from typing import Any

import pytest

from tests.support.agent_files import Place
from tests.support.ergonomics import FolderAgent

SIZE = re.compile(r"\[Size limit: (\d+) of (?:more than )?(\d+) (\w+) shown\. [^\]]+\.\]")
MORE = re.compile(r"\[(\d+) of more (\w+) shown\. [^\]]+\.\]")


@pytest.fixture
def tree(place: Place) -> Place:
    for number in range(90):
        place.write(f"src/module_{number:02}.py", f"import os\n\n\ndef f_{number}():\n    pass\n")
    place.write("dist/bundle.js", "f" * 2500 + "needle" + "f" * 2500 + "\n")
    place.write("many.txt", "needle\n" * 80)
    place.write(".github/workflows/ci.yml", "run: needle\n")
    return place


@pytest.mark.parametrize("bytes_max", [256, 1000, 32 * 1024])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("list_files", {"path": "src"}),
        ("find_files", {"pattern": "*.py"}),
        ("search_files", {"pattern": "def f_"}),
        ("search_files", {"pattern": "def f_", "context": 2}),
        ("search_files", {"pattern": "def f_", "output": "files"}),
    ],
)
async def test_a_result_keeps_its_limit_and_says_what_is_missing(
    tree: Place, tool: str, arguments: dict[str, Any], bytes_max: int
) -> None:
    agent = FolderAgent(tree.beneath)

    text = await agent.says(tool, bytes_max=bytes_max, **arguments)

    rows = text.splitlines()
    counted = [row for row in rows if re.match(r"src/module_\d\d\.py( \(\d+ bytes\)|:.*)?$", row)]
    if bytes_max > 1000:
        assert len(counted) == 90
        assert "[" not in rows[-1]
        return
    found = SIZE.fullmatch(rows[-1]) or MORE.fullmatch(rows[-1])
    assert found is not None, rows[-1]
    assert int(found[1]) == len(counted) < 90
    assert all(row.startswith("src/") or row == "--" for row in rows[:-1])


async def test_what_a_search_returns(tree: Place) -> None:
    text = await FolderAgent(tree.beneath).says("search_files", pattern="needle")

    rows = text.splitlines()
    around = f"dist/bundle.js:1: […]{'f' * 100}needle{'f' * 194}[…]"
    assert rows[:3] == [".github/workflows/ci.yml:1: run: needle", around, "many.txt:1: needle"]
    assert len(rows) == 54
    assert rows[-2] == "[52 of more matches shown. Narrow the pattern or path.]"
    assert "first 50 matches of each file" in rows[-1]
    assert "300 characters" in rows[-1]

    alone = await FolderAgent(tree.beneath).says("search_files", pattern="needle", path="many.txt")
    assert len(alone.splitlines()) == 80


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("find_files", {"pattern": ".github/workflows/*.yml"}, ".github/workflows/ci.yml"),
        ("find_files", {"pattern": "*.yml", "path": ".github"}, ".github/workflows/ci.yml"),
        ("find_files", {"pattern": "*.yml"}, "No files match. Hidden files and files named by "
         ".gitignore were skipped: to include them, set ignored=true."),
        ("search_files", {"pattern": "needle", "glob": ".github/**"},
         ".github/workflows/ci.yml:1: run: needle"),
        ("search_files", {"pattern": "needle", "glob": "*.yml", "output": "files"},
         ".github/workflows/ci.yml: 1 match"),
        ("list_files", {}, ".github/\ndist/\nmany.txt (560 bytes)\nsrc/"),
        ("list_files", {"path": ".github", "depth": 2},
         ".github/workflows/\n.github/workflows/ci.yml (12 bytes)"),
    ],
)  # fmt: skip
async def test_hidden_names_are_found_where_they_are_named(
    tree: Place, tool: str, arguments: dict[str, Any], says: str
) -> None:
    assert await FolderAgent(tree.beneath).says(tool, **arguments) == says


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"pattern": r"a\nb"}, "set context to see the lines around it"),
        ({"pattern": "(?<=a)b"}, "Search for a simpler pattern"),
        ({"pattern": "f("}, "set literal=true"),
        ({"pattern": "x", "glob": "{a,b}" * 30}, "The glob is not valid"),
        ({"pattern": "x", "path": "sorce"}, "Nearest names:"),
    ],
)
async def test_a_refusal_says_what_to_do_instead(
    place: Place, agent: FolderAgent, arguments: dict[str, Any], says: str
) -> None:
    place.write("source/a.py", "x\n")

    refused = await agent.call("search_files", **arguments)

    assert refused.failed
    assert says in str(refused.value)
