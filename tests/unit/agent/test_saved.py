"""Files with the whole output of long commands: bounded, ignored by git, never through a link."""

import os
from pathlib import Path

import pytest

from holdfast_agent.saved import SavedFile, SavedOutputs


def outputs(root: Path, **limits: int) -> SavedOutputs:
    given = {"file_bytes_max": 10, "files_max": 3, "all_bytes_max": 30, **limits}
    return SavedOutputs(
        root,
        file_bytes_max=given["file_bytes_max"],
        files_max=given["files_max"],
        all_bytes_max=given["all_bytes_max"],
    )


def saved(here: SavedOutputs, process_id: str, data: bytes = b"0123456789") -> SavedFile:
    file = here.create(process_id)
    assert file is not None
    file.write(data)
    here.close(file)
    return file


def names(root: Path) -> list[str]:
    return sorted(path.name for path in (root / ".holdfast/out").glob("*.log"))


def test_a_file_holds_the_first_bytes_up_to_its_limit(tmp_path: Path) -> None:
    here = outputs(tmp_path)
    file = saved(here, "p1", b"0123456789abc")
    assert (file.path, file.size) == (".holdfast/out/p1.log", 10)
    assert (tmp_path / file.path).read_bytes() == b"0123456789"
    assert (tmp_path / ".holdfast/out/.gitignore").read_text() == "*\n"
    file.write(b"more")
    assert file.size == 10


def test_the_oldest_files_of_ended_commands_make_room(tmp_path: Path) -> None:
    here = outputs(tmp_path)
    for number in range(1, 6):
        saved(here, f"p{number}")
    assert names(tmp_path) == ["p3.log", "p4.log", "p5.log"]
    assert (here.has(".holdfast/out/p2.log"), here.has(".holdfast/out/p5.log")) == (False, True)


def test_the_size_of_all_files_is_bounded_also_of_those_that_still_grow(tmp_path: Path) -> None:
    here = outputs(tmp_path, files_max=100)
    running = [here.create(f"p{number}") for number in range(4)]
    assert [file is not None for file in running] == [True, True, True, False]
    assert running[0] is not None
    here.close(running[0])
    assert here.create("p9") is not None


def test_files_of_an_earlier_agent_count(tmp_path: Path) -> None:
    saved(outputs(tmp_path), "p1")
    os.utime(tmp_path / ".holdfast/out/p1.log", (0, 0))
    saved(outputs(tmp_path), "p2")
    later = outputs(tmp_path)
    assert later.has(".holdfast/out/p1.log")
    for number in (3, 4):
        saved(later, f"p{number}")
    assert names(tmp_path) == ["p2.log", "p3.log", "p4.log"]


def test_a_name_that_is_taken_is_not_written_to(tmp_path: Path) -> None:
    here = outputs(tmp_path)
    saved(here, "p1", b"first")
    second = saved(here, "p1", b"second")
    assert (tmp_path / ".holdfast/out/p1.log").read_bytes() == b"first"
    assert (tmp_path / second.path).read_bytes() == b"second"


@pytest.mark.parametrize("link", [".holdfast", ".holdfast/out"])
def test_no_link_is_followed(tmp_path: Path, link: str) -> None:
    """A command could else make the agent write outside the workspace."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    outside.mkdir()
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(outside)
    assert outputs(root).create("p1") is None
    assert list(outside.iterdir()) == []


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("keep")
    out = tmp_path / ".holdfast/out"
    out.mkdir(parents=True)
    (out / "p1.log").symlink_to(target)
    saved(outputs(tmp_path), "p1")
    assert target.read_text() == "keep"


def test_without_a_folder_there_is_no_file(tmp_path: Path) -> None:
    assert outputs(tmp_path / "gone").create("p1") is None
