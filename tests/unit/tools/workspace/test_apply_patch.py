"""Patches are read as a whole, judged file by file, and applied as a whole."""

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.parts import JsonObject
from holdfast.tools.workspace import patches
from holdfast.tools.workspace.edits import EDITS
from holdfast.tools.workspace.patches import BadPatch, judged_as, parse, plain_path
from holdfast_agent.files import editing
from holdfast_agent.files.beneath import Beneath, Place
from holdfast_agent.wire import Change, FileEdit
from tests.support.edit_cases import called, found, laid_out

SPEC = next(each.spec for each in EDITS if each.spec.name == "apply_patch")


def patch(*lines: str) -> str:
    return "\n".join([patches.BEGIN, *lines, patches.END])


def change(old: str, new: str, *anchors: str, at_end: bool = False) -> Change:
    return Change(old=old, new=new, whole_lines=True, anchors=anchors, at_end=at_end)


def test_all_sections_of_a_patch_are_read() -> None:
    text = patch(
        "*** Update File: a.py",
        "*** Move to: b.py",
        "@@ class A:",
        "@@     def f(self):",
        " x",
        "-y",
        "+z",
        "@@",
        "-last",
        "*** End of File",
        "*** Add File: new.txt",
        "+one",
        "+",
        "+two",
        "*** Delete File: old.txt",
    )
    assert parse(text) == (
        FileEdit(
            path="a.py",
            move_to="b.py",
            changes=(
                change("x\ny\n", "x\nz\n", "class A:", "def f(self):"),
                change("last\n", "", at_end=True),
            ),
        ),
        FileEdit(path="new.txt", how="add", text="one\n\ntwo\n"),
        FileEdit(path="old.txt", how="delete"),
    )


def test_the_first_hunk_needs_no_mark_and_numbers_of_lines_are_not_looked_at() -> None:
    hunk = ("-a", "+b")
    wanted = (FileEdit(path="a", changes=(change("a\n", "b\n"),)),)
    assert parse(patch("*** Update File: a", *hunk)) == wanted
    assert parse(patch("*** Update File: a", "@@ -1,2 +1,2 @@ def f():", *hunk)) == wanted
    noted = (*hunk, "\\ No newline at end of file")
    assert parse(patch("*** Update File: a", *noted)) == wanted


def test_an_empty_line_is_a_line_of_the_file_except_before_the_next_section() -> None:
    text = patch("*** Update File: a", " x", "", "-y", "", "*** Add File: b", "+1", "", "+2", "")
    assert parse(text) == (
        FileEdit(path="a", changes=(change("x\n\ny\n", "x\n\n"),)),
        FileEdit(path="b", how="add", text="1\n\n2\n"),
    )
    between = patch("*** Update File: a", " x", "", "@@", "-y")
    assert parse(between)[0].changes[0] == change("x\n\n", "x\n\n")


def test_two_sections_about_one_file_are_one() -> None:
    text = patch("*** Update File: a", "-1", "*** Delete File: b", "*** Update File: a", "-2")
    both = (change("1\n", ""), change("2\n", ""))
    assert parse(text) == (FileEdit(path="a", changes=both), FileEdit(path="b", how="delete"))


DELETES = patch("*** Delete File: a")


@pytest.mark.parametrize(
    "wrapped",
    [
        f"\n  {DELETES}\n\n",
        f"```\n{DELETES}\n```",
        f"```diff\n{DELETES}\n```\n",
        f"apply_patch <<'EOF'\n{DELETES}\nEOF",
        f'<<"PATCH"\n{DELETES}\nPATCH\n',
        f"apply_patch\n{DELETES}",
        DELETES.replace("\n", "\r\n"),
        f"```\napply_patch <<EOF\n{DELETES}\nEOF\n```",
    ],
)
def test_what_models_put_around_a_patch_is_taken_off(wrapped: str) -> None:
    assert parse(wrapped) == (FileEdit(path="a", how="delete"),)
    first = SPEC.normalised({"input": wrapped})
    assert first == {"patch": DELETES}
    assert SPEC.normalised(first) == first


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("*** Update File: a\n-x", "Line 1 of the patch: the first line of a patch is *** Begin"),
        (f"{patches.BEGIN}\n*** Update File: a\n-x", "it may be cut off"),
        (patch(), "names no file"),
        (patch("-x"), "`-x` belongs to no file"),
        (patch("*** Update File: a"), "a gets no change"),
        (patch("*** Update File:  ", "-x"), "Line 2 of the patch: give the path of a file"),
        (patch("*** Update File: " + "a" * 5000, "-x"), "give the path of a file"),
        (patch("*** Update File: a", "@@ x"), "Line 3 of the patch: this hunk has no lines"),
        (patch("*** Update File: a", "x" * 200), "`" + "x" * 80 + "…` does not fit there"),
        (patch("*** Update File: a", "-x", "*** Move to: b"), "does not fit there. In a hunk"),
        (patch("*** Update File: a", "*** End of File"), "does not fit there"),
        (patch("*** Add File: a", "x"), "In a new file each line begins with +."),
        (patch("*** Delete File: a", "-x"), "After a deletion comes the next file"),
        (patch("*** Update File: a", *["@@ x"] * 21, "-x"), "a hunk 20 lines with @@"),
        (patch("*** Update File: a", *["@@", "-x"] * 1001), "at most 1000 hunks"),
        (
            patch(*["*** Update File: a", *["@@", "-x"] * 600] * 2),
            "a: a file has at most 1000 hunks",
        ),
        (patch(*[f"*** Delete File: {number}" for number in range(201)]), "at most 200 files"),
        (
            patch("*** Update File: a", "*** Move to: b", "*** Update File: a", "-x"),
            "a is moved, and then changed",
        ),
    ],
)  # fmt: skip
def test_what_is_no_patch_is_refused_with_its_line_and_the_next_step(text: str, words: str) -> None:
    with pytest.raises(BadPatch) as refused:
        parse(text)
    assert words in str(refused.value)


@given(st.text(alphabet="*@+- ab\n\\\r", max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    for whole in (text, patch("*** Update File: a", text), patch("*** Add File: a", text)):
        normalised = SPEC.normalised({"patch": whole})
        assert SPEC.normalised(normalised) == normalised
        try:
            edits = parse(whole)
        except BadPatch:
            continue
        assert edits
        assert parse(str(normalised["patch"])) == edits


def test_a_patch_is_read_in_time_that_grows_with_its_length_alone() -> None:
    lines = ["*** Update File: a", "*** Move to: " + " " * 500_000 + "b", *["- "] * 200_000]
    began_s = time.process_time()
    SPEC.normalised({"patch": patch(*lines)})
    with pytest.raises(BadPatch):
        parse(patch(*lines, "?"))
    assert time.process_time() - began_s < 20  # usual: under half a second


# Paths, and what approval rules see.


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("./a//b/./c.py", "a/b/c.py"),
        ("a/../b", "a/../b"),
        ("/work//a", "/work/a"),
        ('"a\\n"', '"a\\n"'),
    ],
)
def test_paths_have_one_spelling_before_rules_and_digests_see_them(path: str, plain: str) -> None:
    assert plain_path(path) == plain
    rest = (" *** Add File: ./x", "-x")
    text = patch(f"*** Update File: {path}", f"*** Move to:  {path} ", *rest)
    same = patch(f"*** Update File: {plain}", f"*** Move to: {plain}", *rest)
    assert SPEC.normalised({"patch": text}) == {"patch": same}


def test_each_file_is_judged_as_the_tool_that_does_the_same() -> None:
    text = patch(
        *("*** Update File: a", "*** Move to: b", "-x", "+y"),
        *("*** Add File: c", "+z"),
        "*** Delete File: d",
    )
    given: JsonObject = {"patch": text}
    edits = [{"old_string": "x\n", "new_string": "y\n"}]
    assert judged_as(given) == (
        ("edit_file", {"patch": text, "path": "a", "edits": edits}),
        ("write_file", {"patch": text, "path": "b", "content": ()}),
        ("write_file", {"patch": text, "path": "c", "content": "z\n"}),
        ("edit_file", {"patch": text, "path": "d", "edits": []}),
    )


@pytest.mark.parametrize("path", ["../a", "a/../b", "/work/a", '"a"'])
def test_a_path_with_several_spellings_is_no_text_for_a_rule(path: str) -> None:
    [(_, arguments)] = judged_as({"patch": patch(f"*** Delete File: {path}")})
    assert arguments["path"] == (path,)


@pytest.mark.parametrize("given", [{}, {"patch": 1}, {"patch": "nonsense"}])
def test_what_cannot_be_read_is_no_text_for_a_rule(given: JsonObject) -> None:
    assert judged_as(given) == (("edit_file", {**given, "path": ()}),)


# What happens to files.


FILES = {"a.txt": "1\n2\n", "b.txt": "1\n2\n", "sub/c.txt": "1\n"}
WRITES = patch(
    *("*** Update File: a.txt", "-1", "+one"),
    *("*** Add File: new/d.txt", "+d"),
    *("*** Update File: sub/c.txt", "*** Move to: e.txt"),
    "*** Delete File: b.txt",
)


async def test_a_patch_changes_adds_moves_and_deletes(tmp_path: Path) -> None:
    laid_out(tmp_path, FILES)
    output = await called(tmp_path, "apply_patch", {"patch": WRITES})

    assert not output.failed
    assert str(output.value).split("\n---")[0] == (
        "Edited a.txt: 1 replacement (line 1).\nCreated new/d.txt (1 line, 2 bytes).\n"
        "Moved sub/c.txt to e.txt.\nDeleted b.txt."
    )
    assert output.summary_lines == 4
    assert found(tmp_path) == {"a.txt": "one\n2\n", "e.txt": "1\n", "new/d.txt": "d\n"}
    assert [line for line in output.diff.splitlines() if line.startswith("---")] == [
        "--- a/a.txt", "--- /dev/null", "--- a/sub/c.txt", "--- a/b.txt",
    ]  # fmt: skip


BAD = (
    ("*** Update File: b.txt", "-no such line", "+x"),
    ("*** Delete File: missing.txt",),
    ("*** Add File: b.txt", "+x"),
    ("*** Add File: ../outside.txt", "+x"),
    ("*** Add File: /etc/holdfast-test", "+x"),
    ("*** Update File: link/outside.txt", "-1", "+x"),
    ("*** Update File: b.txt", "*** Move to: ../b.txt"),
    ("*** Delete File: link/outside.txt",),
)


async def refused(root: Path, *lines: str, first: tuple[str, ...] = ()) -> str:
    """A patch that begins well. Nothing of it may happen, inside and outside of the workspace."""
    inside = root / "inside"
    inside.mkdir()
    laid_out(inside, FILES)
    (root / "outside.txt").write_text("1\n")
    (inside / "link").symlink_to(root)
    before = found(root), os.readlink(inside / "link")
    good = ("*** Update File: a.txt", "-1", "+one", "*** Add File: new.txt", "+n")
    output = await called(inside, "apply_patch", {"patch": patch(*good, *first, *lines)})

    assert output.failed
    assert (found(root), os.readlink(inside / "link")) == before
    return str(output.value)


@pytest.mark.parametrize("lines", BAD, ids=lambda lines: lines[0])
async def test_all_of_a_patch_happens_or_nothing(lines: tuple[str, ...], tmp_path: Path) -> None:
    said = await refused(tmp_path, *lines)
    assert "No edit was applied." in said


async def test_a_patch_that_is_cut_off_changes_nothing(tmp_path: Path) -> None:
    laid_out(tmp_path, FILES)
    lines = WRITES.split("\n")
    for count in range(1, len(lines)):
        cut = "\n".join(lines[:count])
        output = await called(tmp_path, "apply_patch", {"patch": cut})
        assert output.failed
        assert found(tmp_path) == FILES


async def test_a_hunk_that_does_not_fit_is_told_with_the_nearest_lines(tmp_path: Path) -> None:
    laid_out(tmp_path, {"a.py": "def area(w, h):\n    return w * h\n"})
    text = patch(
        "*** Update File: a.py", "-def area(w, d):", "+def area(a, b):", "     return w * h"
    )
    output = await called(tmp_path, "apply_patch", {"patch": text})
    assert output.failed
    assert "Nearest text is lines 1-2" in str(output.value)
    assert "     1\tdef area(w, h):" in str(output.value)


# Mutants: each removes one protection, and a test above then fails.


def whole_without_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A patch that was cut off may be applied in part."""
    real = patches.unwrapped

    def completed(text: str) -> str:
        return real(text) if patches.END in text else f"{real(text)}\n{patches.END}"

    monkeypatch.setattr(patches, "unwrapped", completed)


def one_file_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are changed before it is known that all of the patch fits."""
    real = editing.edit

    def each_alone(beneath: Beneath, asked: editing.EditFiles) -> editing.Edited:
        done = [real(beneath, asked.model_copy(update={"files": (one,)})) for one in asked.files]
        return editing.Edited(files=tuple(file for one in done for file in one.files))

    monkeypatch.setattr(editing, "edit", each_alone)


def paths_may_lead_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path is opened without the kernel's check that it stays inside."""
    monkeypatch.setattr("holdfast_agent.files.beneath.INSIDE", 0)
    monkeypatch.setattr("holdfast_agent.files.writing.INSIDE", 0, raising=False)
    real = Beneath.place

    def anywhere(self: Beneath, said: str) -> Place:
        return Place(said) if said.startswith("/") else real(self, said)

    monkeypatch.setattr(Beneath, "place", anywhere)


async def test_mutant_a_cut_patch_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole_without_its_end(monkeypatch)
    with pytest.raises(AssertionError):
        await test_a_patch_that_is_cut_off_changes_nothing(tmp_path)


async def test_mutant_partial_application(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_file_at_a_time(monkeypatch)
    with pytest.raises(AssertionError):
        await refused(tmp_path, *BAD[0])


async def test_mutant_path_escape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths_may_lead_out(monkeypatch)
    with pytest.raises(AssertionError):
        await refused(tmp_path, "*** Update File: link/outside.txt", "-1", "+x")
