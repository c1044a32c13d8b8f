"""The walks of `docs/architecture/walks.md` name calls that exist, and count them."""

import ast
import re
from pathlib import Path

from tests.docs.pages import DOCS, ROOT

SOURCE = ROOT / "packages/holdfast/src/holdfast"
PAGE = DOCS / "architecture/walks.md"
ROW = re.compile(r"^\| (\d+) \| (?:`([\w/]+\.py)`)? ?\| `([\w.]+)` \|", re.MULTILINE)
COUNT = re.compile(r"\*\*(\d+) files, (\d+) calls\*\*")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def defined(file: Path) -> set[str]:
    """The functions of a file, and its methods with their class."""
    found: set[str] = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, FUNCTIONS):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            methods = [each for each in node.body if isinstance(each, FUNCTIONS)]
            found.update(f"{node.name}.{each.name}" for each in methods)
    return found


def walks() -> dict[str, str]:
    """The sections of the page that have a count, by heading."""
    _, *sections = PAGE.read_text().split("\n## ")
    return {text.partition("\n")[0]: text for text in sections if COUNT.search(text)}


def test_calls_of_the_walks_exist_and_are_counted() -> None:
    assert "A message" in walks()
    for heading, text in walks().items():
        rows = ROW.findall(text)
        calls: list[tuple[str, str]] = []
        for _, file, call in rows:
            calls.append((file or calls[-1][0], call))
        missing = [(file, call) for file, call in calls if call not in defined(SOURCE / file)]

        assert missing == [], heading
        assert [int(number) for number, _, _ in rows] == list(range(1, len(rows) + 1))
        counted = COUNT.search(text)
        assert counted is not None
        files = {file for file, _ in calls}
        assert (len(files), len(calls)) == (int(counted[1]), int(counted[2])), heading
