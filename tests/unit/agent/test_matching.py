"""Where a change fits: exactly, else apart from blanks, never in one of two places."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast_agent.files.matching import DoesNotFit, TooMuch, changed
from holdfast_agent.wire import Change
from tests.requirements import requirement

MAX = 10_000
LINES = st.lists(st.sampled_from(["a", "b", "  c", "", "d e"]), max_size=8)
ENDINGS = st.sampled_from(["\n", "\r\n"])


def change(text: str, old: str, new: str, *, every: bool = False) -> str:
    return changed(text, Change(old=old, new=new, every=every), MAX).text


@requirement("L107")
@given(LINES, LINES, ENDINGS, st.integers(0, 9))
def test_a_change_and_its_reverse_leave_everything_as_it_was(
    before: list[str], after: list[str], ending: str, number: int
) -> None:
    old, new = f"<old {number}>\nsecond", f"<new {number}>\nthird\nfourth"
    text = ending.join([*before, *old.split("\n"), *after])

    there = change(text, old, new)

    assert there == ending.join([*before, *new.split("\n"), *after])
    assert change(there, new, old) == text


@requirement("L107")
@given(st.lists(st.tuples(st.sampled_from("abc"), ENDINGS), min_size=1, max_size=12), st.data())
def test_lines_that_are_not_changed_keep_their_own_endings(
    lines: list[tuple[str, str]], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(lines) - 1))
    pieces = [f"{number}{text}{end}" for number, (text, end) in enumerate(lines)]
    old = pieces[at].rstrip("\r\n")
    assume("".join(pieces).count(old) == 1)

    got = change("".join(pieces), old, "new\nlines")

    end = lines[at][1]
    assert got == "".join([*pieces[:at], f"new{end}lines{end}", *pieces[at + 1 :]])


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("a  b\nc\n", "a b\n", "x\n", "x\nc\n"),
        ("a \nb\t\nc", "a\nb\n", "x\n", "x\nc"),
        ("\tif x:\n\t\ty\n", "if x:\n\ty\n", "if z:\n\ty\n", "\tif z:\n\t\ty\n"),
        (
            "    if x:\n        y\n",
            "  if x:\n      y",
            "  if x:\n\n      z",
            "    if x:\n\n        z\n",
        ),
        ("a\nb ", "a\nb\n", "x\n", "x"),
        ("one\r\n two \r\n", "one\ntwo\n", "1\n2\n", None),
        ("a\r\nb \r\nc\r\n", "a\nb\n", "x\ny\nz\n", "x\r\ny\r\nz\r\nc\r\n"),
    ],
)
def test_blanks_are_tolerated_in_whole_lines(
    text: str, old: str, new: str, expected: str | None
) -> None:
    if expected is None:
        with pytest.raises(DoesNotFit):
            change(text, old, new)
    else:
        assert change(text, old, new) == expected


@pytest.mark.parametrize(
    ("text", "old", "new", "said"),
    [
        ("a\nb\na\n", "a", "x", "occurs 2 times, at lines 1, 3; add"),
        ("aaa", "aa", "x", "occurs 2 times"),
        ("a \nb\na\t\n", "a\n", "x\n", "occurs 2 times, at lines 1, 3; add"),
        ("a\n" * 14, "a", "x", "and 4 more"),
        ("a\n", "a", "a", "the same; nothing to do"),
        ("a\r\n", "a\n", "a\r\n", "the same; nothing to do"),
        ("a\n", "b", "x", "No text in the file is similar"),
        ("a\nb\nc\n", "b\nd\n", "x", "Nearest text is lines 2-3"),
        ("if x:\n\ty\n", "if x:\n    y\n", "z\n", "line 2: file is indented with 1 tab"),
        ("    a\n", "\n \n", "x", "was not found"),
        ("  a\n  b\n", "    a\n    b\n", "c\n", "Nearest text is lines 1-2"),
    ],
)
def test_what_does_not_fit_is_refused_with_advice(text: str, old: str, new: str, said: str) -> None:
    with pytest.raises(DoesNotFit, match=re.escape(said)):
        change(text, old, new)


def test_an_exact_place_goes_before_one_apart_from_blanks() -> None:
    assert change("  a\na \n", "a \n", "x\n") == "  a\nx\n"


def test_every_place_is_changed_once() -> None:
    assert change("aaa a", "aa", "b", every=True) == "ba a"
    assert change(" x \n\tx \n", "x\n", "y\n", every=True) == " y\n\ty\n"


def test_a_change_that_would_grow_without_bounds_is_refused() -> None:
    with pytest.raises(TooMuch):
        change("a" * 1000, "a", "b" * 1000, every=True)
