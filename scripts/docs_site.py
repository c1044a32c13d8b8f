"""Build the documents as a static site with search: build/docs-site.

    just docs-site

The site has the folders of the repository, so that every relative link of a page works in both. The
navigation is docs/README.md: its headings are sections, and the links of its tables are their
pages. A page, an anchor, a picture or a file that is linked and is not there fails the build.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Final, cast
from urllib.parse import unquote, urlsplit

ROOT: Final = Path(__file__).resolve().parents[1]
BUILD: Final = ROOT / "build"
STARTS: Final = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs/README.md")
"""Pages from which all others are found by their links."""
INDEX: Final = "docs/README.md"
RECORDS: Final = "docs/adr"
CONFIG: Final = """\
[project]
site_name = "Holdfast"
site_description = "A self-hosted server for AI agent chats that never loses a turn"
docs_dir = "docs-site-pages"
site_dir = "docs-site"
strict = true
use_directory_urls = false  # a folder and a page may have one name: benchmarks/scale
nav = {nav}

[project.theme]
variant = "modern"
font = false  # no request to another host
features = [
    "content.code.copy", "navigation.indexes", "navigation.path", "navigation.sections",
    "navigation.top", "search.highlight", "toc.follow",
]
"""
_LINK: Final = re.compile(r"!?\[([^\]\n]*(?:\n[^\]\n]+)?)\]\(([^)\s]+)\)")
_CODE: Final = re.compile(r"^ *```.*?^ *```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_ITEM: Final = re.compile(r"(?:-|\d+\.) +(?=\S)")
_SECTION: Final = re.compile(r"^## (.+)$", re.MULTILINE)


def links_of(text: str) -> Iterator[tuple[str, str]]:
    """(words, path without its anchor) of every relative link of a page."""
    for found in _LINK.finditer(_CODE.sub("", text)):
        path = found[2].partition("#")[0]
        if path and not urlsplit(path).scheme:
            yield " ".join(found[1].split()), unquote(path)


def linked_files(root: Path, starts: Sequence[str] = STARTS) -> set[Path]:
    """The files of the site, relative to the root: pages, and what they link to."""
    found: set[Path] = set()
    waiting = [Path(start) for start in starts]
    while waiting:
        path = waiting.pop()
        if path in found or not (root / path).exists():
            continue  # what is missing fails the check of the built site
        if (root / path).is_dir():
            waiting += [each.relative_to(root) for each in (root / path).iterdir()]
            continue
        found.add(path)
        if path.suffix == ".md":
            text = (root / path).read_text(encoding="utf-8")
            waiting += [_inside(root, path, link) for _, link in links_of(text)]
    return found


def _inside(root: Path, page: Path, link: str) -> Path:
    return (root / page.parent / link).resolve().relative_to(root)


def for_site(text: str) -> str:
    """The page as Python-Markdown, which renders the site, must have it: four blanks before what
    belongs to an item of a list, and an empty line before the next item if there is one in this.
    A diagram stays text: the script that draws it would come from another host."""
    lines: list[str] = []
    width, has_blocks = 0, False
    for line in text.splitlines():
        if item := _ITEM.match(line):
            if has_blocks and lines[-1]:
                lines.append("")
            width, has_blocks = item.end(), False
        elif line and not line.startswith(" "):
            width, has_blocks = 0, False
        elif not line:
            has_blocks = width > 0
        belongs = 0 < width < 4 and line.startswith(" " * width)
        lines.append(f"{' ' * (4 - width)}{line}" if belongs else line)
    return "\n".join(lines).replace("```mermaid\n", "```text\n") + "\n"


def copy_pages(root: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    files = linked_files(root)
    for path in sorted(files):
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            text = (root / path).read_text(encoding="utf-8")
            (target / path).write_text(for_site(text), encoding="utf-8")
        else:
            shutil.copyfile(root / path, target / path)
    for folder in {path.parent for path in files}:
        pages = [path for path in files if path.parent == folder and path.suffix == ".md"]
        if not pages:
            (target / folder / "README.md").write_text(_listing(folder, files), encoding="utf-8")


def _listing(folder: Path, files: set[Path]) -> str:
    names = sorted(path.name for path in files if path.parent == folder)
    return "\n".join([f"# {folder}", "", *(f"- [{name}]({name})" for name in names)]) + "\n"


def navigation(root: Path) -> list[Mapping[str, object]]:
    """The sections of the index, each with the pages that its tables link to."""
    index = (root / INDEX).read_text(encoding="utf-8")
    _, *rest = _SECTION.split(index)
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    nav: list[Mapping[str, object]] = [{"Holdfast": "README.md"}, {"All documents": INDEX}]
    nav += [{title: list(_entries(root, text))} for title, text in sections.items()]
    records = sorted((root / RECORDS).glob("0*.md"))
    nav.append({"Decision records": [{_title(each): f"{RECORDS}/{each.name}"} for each in records]})
    project = [{name.removesuffix(".md").capitalize(): name} for name in STARTS[1:4]]
    return [*nav, {"Project": project}]


def _entries(root: Path, text: str) -> Iterator[Mapping[str, str]]:
    for words, link in links_of(text):
        path = _inside(root, Path(INDEX), link)
        if path.suffix == ".md":
            yield {words[0].upper() + words[1:]: path.as_posix()}


def _title(page: Path) -> str:
    heading = page.read_text(encoding="utf-8").partition("\n")[0]
    return heading.removeprefix("# ").replace("`", "")


def config(root: Path) -> str:
    return CONFIG.format(nav=_toml(navigation(root)))


def _toml(value: object) -> str:
    """Lists, tables and texts; a text of JSON is one of TOML, too."""
    match value:
        case list():
            return f"[{', '.join(_toml(each) for each in cast('list[object]', value))}]"
        case dict():
            table = cast("dict[str, object]", value)
            return (
                f"{{{', '.join(f'{_toml(name)} = {_toml(each)}' for name, each in table.items())}}}"
            )
        case _:
            return json.dumps(value, ensure_ascii=False)


@dataclass
class _Links(HTMLParser):
    """What a page of HTML links to or shows."""

    found: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # pyright: ignore[reportImplicitOverride] - 3.11
        del tag
        self.found += [value for name, value in attrs if name in ("href", "src") and value]


def broken_links(site: Path) -> list[str]:
    """What the built pages link to or show, and is not in the site. Zensical itself looks at pages
    and anchors, not at pictures, other files and folders."""
    broken: list[str] = []
    for page in sorted(site.rglob("*.html")):
        if page.name == "404.html":
            continue  # its links begin at the root of a server
        parser = _Links()
        parser.feed(page.read_text(encoding="utf-8"))
        for link in parser.found:
            url = urlsplit(link)
            if url.scheme or url.netloc or not url.path:
                continue
            target = (page.parent / unquote(url.path)).resolve()
            if not (target / "index.html" if target.is_dir() else target).is_file():
                broken.append(f"{page.relative_to(site)}: {link}")
    return broken


def build() -> int:
    copy_pages(ROOT, BUILD / "docs-site-pages")
    site = BUILD / "docs-site"
    shutil.rmtree(site, ignore_errors=True)
    file = BUILD / "docs-site.toml"
    file.write_text(config(ROOT), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "-f", str(file)]
    if code := subprocess.run(command, cwd=BUILD, check=False).returncode:
        return code
    broken = broken_links(site)
    print(*(f"broken link: {each}" for each in broken), sep="\n", end="\n" if broken else "")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(build())
