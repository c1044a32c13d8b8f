"""Documents: every link leads somewhere, and the index names every page."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT

CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.*)$", re.MULTILINE)
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


def test_the_index_names_every_page() -> None:
    index = DOCS / "README.md"
    linked = {link.partition("#")[0] for link in LINK.findall(index.read_text(encoding="utf-8"))}
    listed = {(DOCS / link).resolve() for link in linked}
    assert [page for page in pages(*INDEXED) if page not in {*listed, index}] == []
