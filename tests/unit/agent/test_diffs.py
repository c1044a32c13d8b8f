"""Diffs say what changed, so that it can be applied, and come soon."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast_agent.files import diffs

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "d"])).map("".join)
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n")


def applied(old: str, diff: str) -> str:
    """A small `patch`, that believes nothing."""
    before, after, at = diffs.lines_of(old), list[str](), 0
    for line in diffs.lines_of(diff.replace(diffs.NO_END, "\0\n")):
        if line.startswith(("--- ", "+++ ")):
            continue
        if header := HUNK.match(line):
            start = int(header[1]) - (header[2] != "0")
            after += before[at:start]
            at = start
            continue
        sign, text = line[0], line[1:].removesuffix("\0\n")
        if sign in " -":
            assert before[at] == text
            at += 1
        if sign in " +":
            after.append(text)
    return "".join([*after, *before[at:]])


@given(TEXTS, TEXTS)
def test_a_diff_can_be_applied(old: str, new: str) -> None:
    diff = diffs.unified("f", old, new)

    assert applied(old, diff) == new
    assert bool(diff) == (old != new)


@given(st.lists(st.integers(0, 40)), st.lists(st.integers(0, 40)))
@settings(max_examples=50)
def test_pieces_too_large_to_compare_one_by_one_are_divided(old: list[int], new: list[int]) -> None:
    texts = ["".join(f"{number}\n" for number in each) for each in (old, new)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diffs, "CELLS_MAX", 4)
        assert applied(texts[0], diffs.unified("f", *texts)) == texts[1]


def test_a_few_changes_in_a_large_text_are_told_as_such() -> None:
    lines = [f"line {number}\n" for number in range(50_000)]
    changed = lines.copy()
    changed[100] = changed[25_000] = changed[49_000] = "other\n"

    diff = diffs.unified("f", "".join(lines), "".join(changed))

    assert diff.count("@@ -") == 3
    assert diff.count("\n-line") == 3


def test_hostile_texts_do_not_take_for_ever() -> None:
    old = "".join(f"{number % 97}\n" for number in range(100_000))
    new = "".join(f"{number % 89}\n" for number in range(100_000))

    begin = time.process_time()
    diff = diffs.unified("f", old, new)

    assert time.process_time() - begin < 5
    assert len(diff) < 2 * diffs.DIFF_CHARS_MAX
    assert diff.endswith("not shown]\n")
