"""A path that does not exist is answered with the nearest names, whatever was asked of it."""

import pytest

from holdfast_agent.faults import Refused
from holdfast_agent.files import editing, listing, reading
from holdfast_agent.files.looking import Looker
from holdfast_agent.wire import (
    Change,
    EditFiles,
    FaultCode,
    FileEdit,
    FindFiles,
    ListFiles,
    ReadFile,
    SearchFiles,
)
from tests.support.agent_files import Place


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("readme.MD", ["README.md"]),
        ("main.py", ["src/app/main.py"]),
        ("src/main.py", ["src/app/main.py"]),
        ("src/app/mian.py", ["src/app/main.py"]),
        ("SRC", ["src"]),
        ("lib/test_a.py", ["lib/tests/test_a.py", "src/tests/test_a.py", "x/test_a.py"]),
        (".github/workflow", [".github/workflows"]),
        ("zzzzzzzz", []),
    ],
)
def test_a_path_that_is_not_there_is_answered_with_the_nearest_names(
    place: Place, asked: str, near: list[str]
) -> None:
    for path in ("README.md", "src/app/main.py", ".github/workflows/ci.yml", "x/test_a.py",
                 "lib/tests/test_a.py", "src/tests/test_a.py", "y/test_a.py"):  # fmt: skip
        place.write(path, "")
    looker = Looker(place.beneath, None)
    calls = (
        lambda: reading.read(place.beneath, ReadFile(path=asked)),
        lambda: listing.list_files(place.beneath, ListFiles(path=asked)),
        lambda: looker.find(FindFiles(pattern="*", path=asked)),
        lambda: looker.search(SearchFiles(pattern="x", path=asked)),
        lambda: editing.edit(
            place.beneath,
            EditFiles(files=(FileEdit(path=asked, changes=(Change(old="x", new="y"),)),)),
        ),
    )

    for call in calls:
        with pytest.raises(Refused) as refused:
            call()
        assert refused.value.code is FaultCode.NOT_FOUND
        named = "Nearest names: " + ", ".join(f"`{path}`" for path in near) + "."
        assert (named if near else "Use list_files to see what is there.") in refused.value.message
