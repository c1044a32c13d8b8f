"""The plugin, in a pytest of its own: unknown ids fail it, and a whole run ends with the count."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.requirements.manifest import ROOT, known_ids

SUITE = """
import pytest

@pytest.mark.requirement("L01", "L02")
def test_passes(): ...

@pytest.mark.requirement("L02")
def test_fails(): assert False

@pytest.mark.requirement("L03")
@pytest.mark.skip
def test_is_skipped(): ...
"""

XDIST = ("-p", "xdist", "-n", "1")


def run(folder: Path, source: str, *arguments: str) -> str:
    (folder / "tests").mkdir()
    (folder / "tests" / "test_it.py").write_text(source)
    (folder / "pytest.ini").write_text(
        f"[pytest]\ntestpaths = tests\npythonpath = {ROOT}\nmarkers =\n    requirement: ids\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.requirements.plugin", *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    return done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [(), XDIST], ids=["alone", "xdist"])
def test_an_unknown_id_fails_collection(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    source = 'import pytest\n@pytest.mark.requirement("L01", "L999")\ndef test_it(): ...\n'

    said = run(tmp_path, source, *arguments)

    assert "test_it.py::test_it names 'L999'" in said
    assert "1 passed" not in said
    assert "requirements:" not in said


@pytest.mark.parametrize("arguments", [(), XDIST, ("tests",)], ids=["alone", "xdist", "path"])
def test_a_whole_run_says_what_is_proven(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    said = run(tmp_path, SUITE, *arguments)

    assert f"requirements: 1 proven by tests, {len(known_ids()) - 1} open" in said


@pytest.mark.parametrize("part", [("-k", "fails"), ("tests/test_it.py",), ("-x",)])
def test_a_part_of_the_tests_says_nothing(tmp_path: Path, part: tuple[str, ...]) -> None:
    assert "requirements:" not in run(tmp_path, SUITE, *part)
