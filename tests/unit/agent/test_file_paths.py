"""How a path is said and shown: what was shown can be said."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast_agent.files import paths

ROOTS = ("/workspace", "/srv/w1")
NAMES = st.binary(min_size=1).map(os.fsdecode) | st.text(min_size=1)


@given(NAMES)
def test_what_is_shown_is_printable_and_reads_back(name: str) -> None:
    shown = paths.shown(name)

    assert shown.isprintable()
    assert os.fsencode(paths.unquoted(shown)) == os.fsencode(name)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("", "."),
        (".", "."),
        ("./a//b/", "a/b"),
        ("a/../b", "a/../b"),
        ("/workspace", "."),
        ("/workspace/a", "a"),
        ("/srv/w1/a/b", "a/b"),
        ('"a\\nb"', "a\nb"),
        ('"plain"', "plain"),
        ('"open', '"open'),
        ('"bad \\q"', '"bad \\q"'),
        ("~/x", "~/x"),
    ],
)
def test_a_path_is_read_from_the_root(said: str, meant: str) -> None:
    assert paths.relative(said, ROOTS) == meant


@pytest.mark.parametrize("said", ["/", "/etc", "/workspace2", "/workspaces/a", '"/etc"', "//"])
def test_an_absolute_path_of_elsewhere_is_refused(said: str) -> None:
    with pytest.raises(paths.OutsidePath):
        paths.relative(said, ROOTS)


@pytest.mark.parametrize("said", ["a\0b", '"a\\x00b"', '"\\ud800"', '"\\U00110000"'])
def test_what_no_name_can_hold_is_refused(said: str) -> None:
    with pytest.raises(paths.BadPath):
        paths.relative(said, ROOTS)
