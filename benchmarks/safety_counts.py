"""`just bench-safety-counts`: what of issue 25 is counted and not timed.

Runs the attacks and tests themselves, and writes what they say into benchmarks/safety.json: planted
instructions with the mutants of the security attacks, the route x actor matrix, the keys behind a
shortcut, and the words of 200 answers. A test that fails is told as such, and no figure is written.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks.borders import matrix
from benchmarks.report import FOLDER, write_json
from tests.browser.test_overlays import FIELDS, WORDS

ATTACKS: Final = ("planted instructions", "borders", "escapes")
UI: Final = FOLDER.parent / "ui"
ANSWERS: Final = "src/markdown/answers.test.tsx"


def attacks() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "prove.json"
        chosen = [word for name in ATTACKS for word in ("--only", name)]
        command = [*(sys.executable, "-m", "holdfast", "lab", "prove", "--quick"), *chosen]
        subprocess.run([*command, "--json", str(file)], check=True)
        said = orjson.loads(file.read_bytes())
    planted = said["planted_instructions"]
    return {
        "injections": int(planted["injections"]),
        "injections_through": int(planted["injections_through"]),
        "injections_asked": int(planted["asked"]),
        "mutants_total": said["mutants_total"],
        "mutants_killed": said["mutants_killed"],
    }


def keys() -> dict[str, int]:
    """Each test types the words once; a key elsewhere fails it."""
    command = [sys.executable, "-m", "pytest", "-q", "tests/browser/test_overlays.py"]
    subprocess.run(command, check=True)
    return {"keys_typed": len(WORDS) * len(FIELDS), "keys_misplaced": 0}


def answers() -> dict[str, int]:
    command = ["npx", "vitest", "run", ANSWERS, "--reporter=json"]
    done = subprocess.run(command, cwd=UI, check=True, capture_output=True, text=True)
    report = orjson.loads(done.stdout[done.stdout.index("{") :])
    assert report["success"], report
    found = re.search(r"const ANSWERS = (\d+);", (UI / ANSWERS).read_text())
    assert found is not None, "the number of answers is not found"
    return {"golden_answers": int(found[1]), "words_dropped": 0}


def main() -> None:
    figures: dict[str, Any] = {}
    for part in (attacks, matrix, keys, answers):
        figures |= part()
        print(figures, flush=True)
    figures = {name: figures[name] for name in figures if name not in ("routes", "actors")}
    write_json("safety", figures)


if __name__ == "__main__":
    main()
