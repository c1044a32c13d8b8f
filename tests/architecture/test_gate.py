"""The gate: its stages hold every test, its table names files that exist, second tries are told."""

import re
import subprocess
import sys
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from scripts.gate import __main__ as gate_command
from scripts.gate import changes, nightly, recorder, report, runner
from scripts.gate.changes import PROTECTED, Protected, added_stages, kept, last_nightly
from scripts.gate.changes import keep as keep_stages
from scripts.gate.recorder import Record
from scripts.gate.runner import Result, Runner
from scripts.gate.stages import GATE, NIGHTLY, OWN_ROW, ROOT, SUITES, Kind, Stage
from tests.support.scheduling import shares_a_fixture

ONCE_RED = """
import pathlib, pytest
def test_green(): pass
def test_red_once():
    seen = pathlib.Path(__file__).with_name("seen")
    was = seen.exists()
    seen.touch()
    assert was, "the first try"
"""


def tracked(pattern: str) -> list[str]:
    asked = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", pattern]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_every_test_file_is_in_a_session_of_the_gate() -> None:
    folders = tuple(f"{suite}/" for suite in (*SUITES, "tests/browser"))
    nightly_only = ("tests/perf/",)  # it measures
    assert [
        file
        for file in tracked("tests/**/test_*.py")
        if not file.startswith((*folders, *nightly_only))
    ] == []


@pytest.mark.parametrize("each", PROTECTED, ids=lambda each: each.stage.name)
def test_every_path_of_the_table_matches_a_file(each: Protected) -> None:
    files = tracked(".")
    assert [path for path in each.paths if not any(fnmatchcase(f, path) for f in files)] == []


def test_a_changed_file_adds_what_protects_it() -> None:
    def names(*changed: str) -> list[str]:
        return [stage.name for stage in added_stages(lambda _: changed)]

    assert names() == names("LICENSE") == []
    assert names("ui/client/src/reducer.ts") == ["browser-all", "ui-mutants", "sdk"]
    assert "proof-streams" in names("packages/holdfast/src/holdfast/stream/feed.py")
    assert "proof-limits" in names("packages/holdfast/src/holdfast/domain/heads.py")
    assert names("docs/glossary.md") == ["docs-site"]


def test_without_a_nightly_run_everything_is_added(tmp_path: Path) -> None:
    assert last_nightly(tmp_path / "nightly.json") is None
    assert len(added_stages(lambda _: None)) == len(PROTECTED)


def test_stage_that_passed_by_itself_is_added_for_what_changed_since_then(tmp_path: Path) -> None:
    file = tmp_path / "stages.json"
    assert kept(file) == {}
    assert keep_stages(file, "1234567", ["types", "ui-mutants", "hands"]) == ["hands", "ui-mutants"]
    assert keep_stages(file, "89abcde", ["hands"]) == ["hands"]
    assert kept(file) == {"hands": "89abcde", "ui-mutants": "1234567"}
    with pytest.raises(SystemExit, match="no commit"):
        keep_stages(file, "89abcde+", ["ui-mutants"])

    def changed(stage: str) -> list[str]:
        return [] if stage in kept(file) else ["ui/src/engine/chat-store.ts"]

    assert [stage.name for stage in added_stages(changed)] == ["browser-all"]


def base_of(*words: str) -> list[str]:
    """In place of the files that differ from a commit, that commit."""
    return [words[-2]]


def test_each_stage_is_compared_with_its_own_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(changes.BASE, raising=False)
    monkeypatch.setattr(changes, "KEPT", tmp_path / "stages.json")
    monkeypatch.setattr(changes, "NIGHTLY", tmp_path / "nightly.json")
    monkeypatch.setattr(changes, "introduction", lambda: "first")
    monkeypatch.setattr(changes, "git", base_of)
    keep_stages(tmp_path / "stages.json", "1234567", ["hands"])
    (tmp_path / "nightly.json").write_bytes(b'{"commit": "89abcde"}')
    assert changes.changed_files("hands") == ["1234567"]
    assert changes.changed_files("churn") == ["89abcde"]
    (tmp_path / "nightly.json").unlink()
    assert changes.changed_files("churn") == ["first"]


def test_every_nightly_test_has_a_row_in_the_table() -> None:
    marked = [
        file
        for file in tracked("tests/**/test_*.py")
        if re.search(r"@pytest\.mark\.nightly|with_canary\(", (ROOT / file).read_text())
    ]
    by_proof = "tests/fault/test_prove.py"  # the rows that run `holdfast lab prove`
    named = {word for each in PROTECTED for word in each.stage.command if word.startswith("tests/")}
    assert by_proof in marked
    assert [
        file
        for file in marked
        if file != by_proof and not any(file.startswith(word) for word in named)
    ] == []


@pytest.mark.parametrize("path", OWN_ROW)
def test_what_the_gate_leaves_out_has_a_row_that_runs_it_whole(path: str) -> None:
    rows = [each.stage.command for each in PROTECTED if path in each.stage.command]
    assert rows
    assert all("-m" not in command[3:] for command in rows), "all of its tests"


def test_names_of_stages_are_used_once() -> None:
    gate = [stage.name for stage in (*GATE, *(each.stage for each in PROTECTED))]
    assert len(gate) == len(set(gate))
    assert len(NIGHTLY) == len({stage.name for stage in NIGHTLY})


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another folder for logs: the gate that runs this test writes to its own."""
    monkeypatch.setattr(runner, "BUILD", tmp_path / "build")
    return tmp_path / "build"


def shell(name: str, script: str, *after: str, alone: bool = False) -> Stage:
    return Stage(name, Kind.CHECK, ("bash", "-c", script), after=after, alone=alone)


async def test_a_test_that_passes_at_its_second_try_is_told(
    build: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_it.py").write_text(ONCE_RED)
    command = (sys.executable, "-m", "pytest", "-n", "0", "test_it.py")
    env = {"PYTHONPATH": str(ROOT)}
    stage = Stage("tests", Kind.TEST, command, env=env, is_pytest=True)
    ran = Runner([stage], seed=1)

    await ran.run()

    result = ran.results["tests"]
    found = report.figures("gate", [result], 1.0, 1)
    report.write(found, [result], build)
    assert [(each.outcome, each.why) for each in result.again] == [
        ("passed", "AssertionError: the first try")
    ]
    assert (result.passed, found["second_tries"]) == (True, 1)
    assert found["tests"] == {"passed": 2, "failed": 0, "skipped": 0}
    assert "second try passed" in capsys.readouterr().out
    assert b'"second_try": "passed"' in (build / "second-tries.json").read_bytes()


async def test_a_stage_that_passes_at_its_second_try_is_told(
    build: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = tmp_path / "seen"
    once_red = f"test -e {seen} || {{ touch {seen}; echo 1 of 5 held; exit 1; }}"
    stages = [
        replace(shell("proof", once_red), tried_again=True),
        replace(shell("broken", "exit 1"), tried_again=True),
    ]
    ran = Runner(stages, seed=1)

    await ran.run()

    proof, broken = ran.results["proof"], ran.results["broken"]
    assert (proof.passed, broken.passed) == (True, False)
    assert [(each.outcome, each.why) for each in proof.again] == [("passed", "exit 1: 1 of 5 held")]
    found = report.figures("gate", [proof], 1.0, 1)
    assert (found["second_tries"], found["tests"]["failed"]) == (1, 0)
    assert "second try passed: proof" in capsys.readouterr().out


async def test_a_stage_that_cannot_begin_in_time_is_left_out_and_named(
    build: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stages = [
        shell("base", "exit 0"),
        replace(shell("in-time", "exit 0"), begins_within_s=3600.0),
        replace(shell("late", f"touch {build}/begun"), begins_within_s=0.0),
    ]
    ran = Runner(stages, seed=1)

    await ran.run()

    results = list(ran.results.values())
    found = report.figures("gate", results, 1.0, 1)
    assert [(each.passed, each.failed) for each in results] == [
        (True, False),
        (True, False),
        (False, False),
    ]
    assert (found["passed"], found["left_out"]) == (True, ["late"])
    assert not (build / "begun").exists()
    assert "late: left out" in capsys.readouterr().out
    assert "Left out, because their time to begin was over: late." in report.summary(found)


def no_base(_: str) -> None:
    """In place of the files that differ from a commit: every row of the table applies."""


def test_only_stages_of_changed_files_have_a_time_to_begin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(changes, "changed_files", no_base)
    tier, stages = gate_command.chosen([], added_within_s=60.0)
    assert tier == "gate"
    assert {each.begins_within_s for each in stages[: len(GATE)]} == {None}
    assert [each.begins_within_s for each in stages[len(GATE) :]] == [60.0] * len(PROTECTED)


async def test_a_stage_waits_for_what_it_needs_and_is_not_run_without(build: Path) -> None:
    stages = [
        shell("uses", "exit 0", "makes"),
        shell("makes", "exit 3"),
        shell("last", f"test -e {build}/beside.log", alone=True),
        shell("beside", "exit 0"),
    ]
    ran = Runner(stages, seed=1)

    await ran.run()

    codes = {name: result.code for name, result in ran.results.items()}
    assert codes == {"makes": 3, "uses": 1, "beside": 0, "last": 0}
    assert ran.results["uses"].skipped == "makes failed"


@pytest.fixture
def night(build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another folder for the page and the rows of a night."""
    build.mkdir()
    monkeypatch.setattr(nightly, "FOLDER", tmp_path)
    monkeypatch.setattr(nightly, "KEPT", build / "nightly.json")
    return tmp_path


def result(name: str, code: int) -> Result:
    made = Result(shell(name, f"exit {code}"), code=code)
    outcome = "failed" if code else "passed"
    made.records = [Record(f"tests/{name}/test_it.py::test_it", outcome, why="a violation")]
    made.log.write_text(f"1 {outcome}\n")
    return made


def keep(monkeypatch: pytest.MonkeyPatch, commit: str, *results: Result, again: bool) -> bool:
    """A nightly run of a commit that had these results; whether all of it has passed by now."""
    monkeypatch.setattr(nightly, "commit", lambda: commit)
    keeper = nightly.Keeper(42, again=again)
    for each in results:
        keeper.keep(each)
    nightly.write(keeper.night())
    return keeper.night().passed


def test_the_page_of_a_night_says_how_to_repeat_what_failed(
    night: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not keep(monkeypatch, "1234567", result("model", 1), again=False)

    page = (night / "nightly.md").read_text()
    assert "seed 42" in page
    assert "`uv run python -m scripts.gate model`" in page
    assert "`tests/model/test_it.py::test_it`: a violation" in page
    assert last_nightly(night / "nightly.json") is None


def two_commits(folder: Path) -> tuple[str, str]:
    def git(*words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        asked = ["git", *who, *words]
        return subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=True).stdout

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "older")
    git("commit", "-q", "--allow-empty", "-m", "newer")
    newer, older = git("log", "--format=%h").split()
    return older, newer


def test_what_failed_at_night_is_run_again_by_itself(
    night: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nightly, "ROOT", night)
    older, newer = two_commits(night)
    passed, failed = result("page", 0), result("model", 1)
    keep(monkeypatch, older, passed, failed, again=False)
    stages = [passed.stage, shell("unit", "exit 0"), failed.stage]
    assert [stage.name for stage in nightly.failed_stages(stages)] == ["unit", "model"]

    assert keep(monkeypatch, newer, result("model", 0), again=True)

    assert f"| model | {newer} | passed" in (night / "nightly.md").read_text()
    assert last_nightly(night / "nightly.json") == older, "the gate goes by the oldest row"


def test_the_reason_of_a_failure_is_its_first_error_line() -> None:
    text = "def test():\n>   assert 1 == 2\nE   assert 1 == 2\n\ntest.py:1: AssertionError"
    assert recorder.reason(text) == "assert 1 == 2"


@pytest.mark.parametrize(
    ("file", "together"),
    [
        ("tests/integration/providers/test_cost.py", True),
        ("tests/integration/cli/test_run.py", True),  # its folder has the fixture
        ("tests/integration/api/test_edges.py", False),
        ("tests/unit/domain/test_decide.py", False),
    ],
)
def test_only_modules_that_share_a_fixture_stay_together(file: str, together: bool) -> None:
    assert shares_a_fixture(ROOT / file) is together
