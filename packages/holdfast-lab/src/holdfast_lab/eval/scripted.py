"""A scripted solver, played by the simulator: `holdfast lab eval --scripted`, without a key.

It solves three own tasks and fails one: rewards 1, 1, 1, 0. Its commands look at the folder to know
which task it is. A simulated model cannot read results, so the solver always does what a result
would advise after a kill: it starts the workspace, and checks that the change is there, by making
it again. The four kills of a run happen within its first steps; the last check comes after them.
"""

from pathlib import Path
from typing import Final

import orjson

from holdfast_lab.eval.tasks import OWN_TASKS, read_task

EXPECTED: Final = {
    "bug-slug": 1.0,
    "question": 1.0,
    "rename-function": 1.0,
    "bug-csv": 0.0,
}
"""The reward of each task."""
MARKS: Final = {"bug-slug": "slug.py", "rename-function": "docs/users.md"}
"""A file that tells which task it is."""
ANSWER: Final = "I looked at the files, changed what was asked, and ran the tests.\n\nANSWER: dues"
CHECKS: Final = 3
START: Final = ["call start_workspace {}"]
PAUSE: Final = "sleep 1"
"""A kill during a command needs a command that takes time."""


def solver_script() -> bytes:
    """For `holdfast lab simulate --script`. The steps are counted by the history of a chat, so that
    an attempt after a kill gets the same reply."""
    solve = _solving()
    check = [START, _step("I check that the change is there.", solve)]
    steps = [
        _step("I look at the files first.", f"{PAUSE}; ls -R . | head -40"),
        _step("Now the change.", solve),
        *(check * CHECKS),
        _step("And the tests.", "python3 -B -m unittest 2>&1 | tail -3"),
        [f"say {_text(ANSWER)}"],
    ]
    return orjson.dumps({"steps": [{"do": step} for step in steps]})


def write_script(folder: Path) -> Path:
    path = folder / "solver.json"
    path.write_bytes(solver_script())
    return path


def _step(said: str, command: str) -> list[str]:
    call = orjson.dumps({"command": command}).decode()
    return [f"say {_text(said)}", f"call execute {call}"]


def _solving() -> str:
    """The solutions of the tasks that it can tell, as one command; in other folders it does
    nothing."""
    parts = [PAUSE]
    for name, mark in MARKS.items():
        solution = (read_task(OWN_TASKS / name).solution / "solve.sh").read_text(encoding="utf-8")
        parts.append(f"[ ! -e {mark} ] || EVAL_ROOT=. sh <<'SOLVED'\n{solution}SOLVED")
    return "\n".join(parts)


def _text(text: str) -> str:
    return orjson.dumps(text).decode()
