"""The site of the documents: what it holds, and what fails its build (`just docs-site`)."""

import re
from pathlib import Path

import pytest

from scripts.docs_site import broken_links, copy_pages, for_site, linked_files, navigation
from tests.docs.pages import DOCS, ROOT


def test_site_holds_every_document() -> None:
    held = linked_files(ROOT)
    assert [page for page in DOCS.rglob("*.md") if page.relative_to(ROOT) not in held] == []
    assert Path("docs/pictures/processes.svg") in held


def test_navigation_names_pages_of_the_site() -> None:
    named = re.findall(r"'([\w./-]+\.md)'", str(navigation(ROOT)))
    held = {path.as_posix() for path in linked_files(ROOT)}
    assert len(named) > 70
    assert [page for page in named if page not in held] == []
    assert {f"docs/architecture/{page.name}" for page in (DOCS / "architecture").glob("*.md")} <= {
        *named
    }


def test_folder_that_is_linked_gets_a_page(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    (root / "deploy").mkdir(parents=True)
    (root / "deploy" / "one.yml").write_text("one: 1\n")
    (root / "README.md").write_text("[examples](deploy) and [none](no-such.md)\n")

    copy_pages(root, tmp_path / "pages")

    assert "[one.yml](one.yml)" in (tmp_path / "pages" / "deploy" / "README.md").read_text()


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("- one\n  more\n- two\n", "- one\n    more\n- two\n"),
        (
            "1. one\n\n   ```sh\n   ls\n   ```\n2. two\n",
            "1. one\n\n    ```sh\n    ls\n    ```\n\n2. two\n",
        ),
        ("text\n  indented\n", "text\n  indented\n"),
        ("```mermaid\nx\n```\n", "```text\nx\n```\n"),
    ],
)
def test_page_is_written_as_the_site_needs_it(page: str, expected: str) -> None:
    assert for_site(page) == expected


@pytest.mark.parametrize("link", ["other.html", "folder", "../pictures/none.png"])
def test_link_to_nothing_is_broken(tmp_path: Path, link: str) -> None:
    (tmp_path / "folder").mkdir()  # without a page
    (tmp_path / "index.html").write_text(f'<a href="{link}">x</a>')
    assert broken_links(tmp_path) == [f"index.html: {link}"]


def test_links_to_pages_folders_anchors_and_other_hosts_are_not_broken(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "index.html").write_text('<img src="../a%20b.png">')
    (tmp_path / "a b.png").touch()
    links = ("folder", "folder/index.html#part", "#here", "https://example.org/", "mailto:a@b.c")
    (tmp_path / "index.html").write_text("".join(f'<a href="{each}">x</a>' for each in links))
    assert broken_links(tmp_path) == []
