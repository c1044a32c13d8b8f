"""Writing and editing: whole files or none, mode and endings kept, changes by others respected."""

import asyncio
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from holdfast_agent.faults import Refused
from holdfast_agent.files import beneath, editing, writing
from holdfast_agent.wire import Change, EditFiles, FaultCode, FileEdit, WriteFile
from tests.requirements import requirement
from tests.support.agent_files import Client, Place


def edit_of(*changes: tuple[str, str, str]) -> EditFiles:
    """Path, old, new."""
    return EditFiles(
        files=tuple(
            FileEdit(path=path, changes=(Change(old=old, new=new),)) for path, old, new in changes
        )
    )


def content(place: Place) -> dict[str, bytes]:
    return {
        str(path.relative_to(place.root)): path.read_bytes()
        for path in sorted(place.root.rglob("*"))
        if path.is_file()
    }


@requirement("L107")
async def test_one_change_that_does_not_fit_keeps_all_files_as_they_are(
    place: Place, files: Client
) -> None:
    for name in "abc":
        place.write(name, f"{name} one\n")
    before = content(place)

    status, told = await files.ask(
        "edit", edit_of(("a", "one", "two"), ("b", "nowhere", "x"), ("c", "one", "two"))
    )

    assert (status, told["code"]) == (409, "conflict")
    assert told["message"].startswith("old_string was not found in b. No edit was applied.")
    assert content(place) == before


@requirement("L107")
async def test_all_problems_are_told_at_once(place: Place, files: Client) -> None:
    place.write("a", "one\none\n")

    _, told = await files.ask("edit", edit_of(("a", "one", "x"), ("missing", "x", "y")))

    assert "occurs 2 times in a, at lines 1, 2" in told["message"]
    assert "no `missing`" in told["message"]


@requirement("L107")
@pytest.mark.parametrize("other", ["a", "./a", "sub/../a", "folder-link/a"])
async def test_two_names_for_one_file_are_refused(place: Place, files: Client, other: str) -> None:
    place.write("a", "one two\n")
    (place.root / "sub").mkdir()
    os.symlink(".", place.root / "folder-link")
    before = content(place)

    status, told = await files.ask("edit", edit_of(("a", "one", "1"), (other, "two", "2")))

    assert status == 400
    assert "one file" in told["message"]
    assert content(place) == before


@requirement("L107")
@pytest.mark.parametrize("mode", [0o755, 0o600, 0o664, 0o4755])
@pytest.mark.parametrize("how", ["edit", "write"])
async def test_the_mode_is_kept_but_for_the_bits_that_change_who_runs_it(
    place: Place, files: Client, mode: int, how: str
) -> None:
    path = place.write("run.sh", "echo one\n")
    path.chmod(mode)

    asked = {"path": "run.sh", "text": "echo two\n"}
    status, _ = await files.ask(how, edit_of(("run.sh", "one", "two")) if how == "edit" else asked)

    assert status == 200
    assert path.read_text() == "echo two\n"
    assert stat.S_IMODE(path.stat().st_mode) == mode & 0o777


@requirement("L107")
async def test_endings_a_mark_at_the_beginning_and_odd_bytes_are_kept(
    place: Place, files: Client
) -> None:
    path = place.write("f", b"\xef\xbb\xbfone\r\ntwo \xff\nthree\r\n")

    status, edited = await files.ask(
        "edit",
        edit_of(
            ("f", "one\n", "1\n1b\n"),
        ),
    )

    assert status == 200
    assert path.read_bytes() == b"\xef\xbb\xbf1\r\n1b\r\ntwo \xff\nthree\r\n"
    assert edited["files"][0]["diff"].startswith(
        "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n-one\r\n+1\r\n"
    )


async def test_changes_of_one_file_happen_in_their_order(place: Place, files: Client) -> None:
    place.write("f", "one\n")
    changes = (
        Change(old="one", new="two"),
        Change(old="two", new="three three"),
        Change(old="three", new="3", every=True),
    )

    _, edited = await files.ask("edit", EditFiles(files=(FileEdit(path="f", changes=changes),)))

    assert (place.root / "f").read_text() == "3 3\n"
    assert edited["files"][0]["replaced"] == 4


@contextmanager
def _meddled(path: str, how: Callable[[], None]) -> Generator[pytest.MonkeyPatch]:
    """Somebody else changes a file after it was read and checked, before it is replaced."""
    swap = writing.Staged.swap

    def late(self: writing.Staged, *given: Any) -> None:
        if self.here.place.path == path:
            how()
        swap(self, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing.Staged, "swap", late)
        yield patch


def _other_content(place: Place) -> None:
    (place.root / "b").write_text("one by another\n")


def _other_file(place: Place) -> None:
    place.write("b.new", "one by another\n").rename(place.root / "b")


def _gone(place: Place) -> None:
    (place.root / "b").unlink()


def _link_out(place: Place) -> None:
    (place.root / "b").unlink()
    os.symlink("../outside/secret.txt", place.root / "b")


@requirement("L107")
@pytest.mark.parametrize("meddler", [_other_content, _other_file, _gone, _link_out])
def test_a_file_that_changed_meanwhile_is_a_conflict_and_nothing_is_written(
    place: Place, meddler: Callable[[Place], None]
) -> None:
    for name in "abc":
        place.write(name, f"{name} one\n")
    secret = (place.outside / "secret.txt").read_text()

    with _meddled("b", lambda: meddler(place)), pytest.raises(Refused) as refused:
        editing.edit(place.beneath, edit_of(*((name, "one", "two") for name in "abc")))

    assert refused.value.code is FaultCode.CONFLICT
    kept = content(place)
    assert (kept["a"], kept["c"]) == (b"a one\n", b"c one\n")
    assert kept.get("b") in (None, b"one by another\n", secret.encode())
    assert set(os.listdir(place.root)) <= {"a", "b", "c"}
    assert (place.outside / "secret.txt").read_text() == secret


def test_without_the_look_at_what_was_replaced_the_change_of_another_is_lost(
    place: Place,
) -> None:
    """The mutant: exchange, and believe."""
    for name in "abc":
        place.write(name, f"{name} one\n")

    def believe(*_: object) -> bool:
        return True

    with _meddled("b", lambda: _other_content(place)) as patch:
        patch.setattr(writing.Staged, "_same", believe)
        editing.edit(place.beneath, edit_of(*((name, "one", "two") for name in "abc")))

    assert (place.root / "b").read_text() == "b two\n"


async def test_edits_at_the_same_time_are_all_there(place: Place, files: Client) -> None:
    place.write("f", "".join(f"line {number};\n" for number in range(40)))

    async with asyncio.TaskGroup() as tasks:
        asked = [
            tasks.create_task(files.ask("edit", edit_of(("f", f"line {n};", f"done {n};"))))
            for n in range(40)
        ]

    assert [task.result()[0] for task in asked] == [200] * 40
    assert (place.root / "f").read_text() == "".join(f"done {n};\n" for n in range(40))


@pytest.mark.parametrize(
    ("there", "how", "status", "code"),
    [
        (False, "create", 200, None),
        (False, "any", 200, None),
        (False, "replace", 404, "not_found"),
        (True, "create", 409, "conflict"),
        (True, "replace", 200, None),
        (True, "any", 200, None),
    ],
)
async def test_writing_creates_or_replaces_as_asked(
    place: Place, files: Client, there: bool, how: str, status: int, code: str | None
) -> None:
    if there:
        place.write("deep/er/f", "old\n")

    got, told = await files.ask("write", {"path": "deep/er/f", "text": "new\n", "how": how})

    assert (got, told.get("code")) == (status, code)
    if status == 200:
        assert (told["created"], told["bytes_written"]) == (not there, 4)
        assert "+new\n" in told["diff"]
        assert os.listdir(place.root / "deep/er") == ["f"]


async def test_a_reader_sees_the_old_file_or_the_new_one_whole(place: Place, files: Client) -> None:
    texts = {name * 200_000 for name in "ab"}
    path = place.write("f", min(texts))
    writing_on = True
    seen: set[str] = set()

    async def read_on() -> None:
        while writing_on:
            seen.add(await asyncio.to_thread(path.read_text))

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(read_on())
        for _ in range(10):
            for text in sorted(texts):
                assert (await files.ask("write", {"path": "f", "text": text}))[0] == 200
        writing_on = False

    assert seen
    assert seen <= texts


def test_a_file_system_without_exchange_still_replaces_whole_files(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(*_: object) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(writing, "renameat2", cannot)
    place.write("f", "old\n")

    made = writing.write(place.beneath, WriteFile(path="new", text="new\n"))
    replaced = writing.write(place.beneath, WriteFile(path="f", text="new\n"))
    editing.edit(place.beneath, edit_of(("f", "new", "newer")))
    with pytest.raises(Refused):
        writing.write(place.beneath, WriteFile(path="f", text="x", how="create"))

    assert (made.created, replaced.created) == (True, False)
    assert content(place) == {"f": b"newer\n", "new": b"new\n"}


async def test_what_is_too_large_is_refused(
    place: Place, files: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(editing, "EDIT_BYTES_MAX", 1000)
    monkeypatch.setattr(writing, "WRITE_BYTES_MAX", 1000)
    place.write("large", "x" * 1001)
    place.write("f", "a" * 500)
    grow = Change(old="a", new="b" * 100, every=True)

    answers = [
        await files.ask("write", {"path": "f", "text": "x" * 1001}),
        await files.ask("edit", edit_of(("large", "x", "y"))),
        await files.ask("edit", EditFiles(files=(FileEdit(path="f", changes=(grow,)),))),
    ]

    assert [(status, told["code"]) for status, told in answers] == [(413, "too_large")] * 3
    assert (place.root / "f").read_text() == "a" * 500


async def test_a_full_disk_is_told_and_leaves_nothing_behind(
    place: Place, files: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing, "_fill", full)
    place.write("f", "old\n")

    status, told = await files.ask("write", {"path": "f", "text": "new\n"})

    assert status == 500
    assert "disk is full" in told["message"]
    assert content(place) == {"f": b"old\n"}


def test_a_file_that_grows_while_it_is_read_is_refused(place: Place) -> None:
    place.write("f", "x" * 100)
    spot = beneath.Place("f")

    with place.beneath.file(spot) as file, pytest.raises(Refused) as refused:
        beneath.read_all(file, spot, 50)

    assert refused.value.code is FaultCode.TOO_LARGE
