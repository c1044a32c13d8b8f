"""Documents: every link leads somewhere, and the index names every page."""

import re
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT

CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.*)$", re.MULTILINE)
RECORD = re.compile(r"\bADR (\d{4})\b")
PAGE = re.compile(r"\bdocs/(?:adr|architecture|how-to|reference|tutorial)/[\w.-]+\.md\b")
MODULE = re.compile(r"`(holdfast(?:\.[a-z_]\w*)+)`")
AT_THE_TOP = ("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")
INDEXED = ("", "tutorial", "how-to", "reference", "architecture")


def documents() -> list[Path]:
    return [*(ROOT / name for name in AT_THE_TOP), *sorted(DOCS.rglob("*.md"))]


def pages(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((DOCS / folder).glob("*.md"))]


def without_code(text: str) -> str:
    return CODE.sub("", text)


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as a code forge makes them."""
    plain = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(plain))
    return {each.strip().replace(" ", "-") for each in words}


def broken_links(path: Path, text: str) -> Iterator[str]:
    for link in LINK.findall(without_code(text)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not target.exists():
            yield f"{path.name}: {link}: no such file"
        elif anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
            yield f"{path.name}: {link}: no such heading"


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(path: Path) -> None:
    assert list(broken_links(path, path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "text", ["[no file](no-such.md)", "[no heading](README.md#no-such-heading)"]
)
def test_a_broken_link_is_noticed(text: str) -> None:
    assert list(broken_links(ROOT / "README.md", text))


def missing_references(text: str) -> Iterator[str]:
    """Records and pages that a comment names and that are not there."""
    records = {path.name[:4] for path in (DOCS / "adr").glob("0*.md")}
    yield from (f"ADR {number}" for number in RECORD.findall(text) if number not in records)
    yield from (page for page in PAGE.findall(text) if not (ROOT / page).exists())


def test_code_names_records_and_pages_that_exist() -> None:
    listed = ["git", "ls-files", "--", "*.py", "*.sql", "*.toml", "*.ts", "*.tsx", "justfile"]
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
    files = [ROOT / name for name in done.stdout.splitlines() if "docs/test_links.py" not in name]
    assert [
        f"{path.relative_to(ROOT)}: {missing}"
        for path in files
        if path.exists()
        for missing in missing_references(path.read_text(encoding="utf-8"))
    ] == []


@pytest.mark.parametrize("text", ["See ADR 9999.", "docs/architecture/no-such.md"])
def test_a_reference_to_nothing_is_noticed(text: str) -> None:
    assert list(missing_references(text))


def unknown_modules(text: str) -> list[str]:
    """Names such as `holdfast.adapters.bus.outbox` that are no module."""
    return [name for name in MODULE.findall(text) if not is_module(name)]


def is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # of what is below
        return False


def test_pages_name_modules_that_exist() -> None:
    assert [
        f"{path.name}: {name}"
        for path in pages("architecture", "adr")
        for name in unknown_modules(path.read_text(encoding="utf-8"))
    ] == []


@pytest.mark.parametrize("name", ["holdfast.no_such", "holdfast.no_such.module"])
def test_a_module_that_is_not_there_is_noticed(name: str) -> None:
    assert unknown_modules(f"`{name}`") == [name]


def test_the_index_names_every_page() -> None:
    index = DOCS / "README.md"
    linked = {link.partition("#")[0] for link in LINK.findall(index.read_text(encoding="utf-8"))}
    listed = {(DOCS / link).resolve() for link in linked}
    assert [page for page in pages(*INDEXED) if page not in {*listed, index}] == []
