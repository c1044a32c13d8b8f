"""What a person decides about is seen as it is."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast_client import visible

SAME = ("", "git status -s", "grüße, мир, 世界, é", "a\\b", "👍")
HIDDEN = {
    "a\u202eb": "a\\u{202e}b",
    "\u2066x\u2069": "\\u{2066}x\\u{2069}",
    "a\u200bb\ufeff": "a\\u{200b}b\\u{feff}",
    "a\x1b[2Kb": "a\\u{1b}[2Kb",
    "a\rb\nc\td": "a\\rb\\nc\\td",
    "\x00\x7f\x9b": "\\u{0}\\u{7f}\\u{9b}",
    "a\u00a0b\u3000c": "a\\u{a0}b\\u{3000}c",
    "a\u2028b": "a\\u{2028}b",
    "\ud800": "\\u{d800}",
    "a\ufe0f\u3164": "a\\u{fe0f}\\u{3164}",
    "\U000e0041": "\\u{e0041}",
}


@pytest.mark.parametrize("text", SAME)
def test_what_can_be_seen_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(("text", "shown"), HIDDEN.items())
def test_what_would_hide_or_move_text_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_nothing_hidden_is_left_in_any_text(text: str) -> None:
    shown = visible(text)
    categories = {unicodedata.category(char) for char in shown if char != " "}
    assert not categories & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
    assert len(shown.splitlines()) <= 1
