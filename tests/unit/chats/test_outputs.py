"""Tool outputs made fit."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.adapters.postgres.codec import encode_json
from holdfast.chats.outputs import STORED_BYTES_MAX, bytes_max, cut, fitted, storable
from tests.requirements import requirement

LIMIT = 1000


@requirement("L114")
@given(st.text(st.characters(), min_size=0, max_size=3000), st.integers(300, 2000))
def test_a_cut_text_is_whole_characters_within_the_limit(text: str, limit: int) -> None:
    shorter, was_cut = cut(text, limit)

    assert len(shorter.encode("utf-8", "surrogatepass")) <= limit
    assert was_cut is (len(text.encode("utf-8", "surrogatepass")) > limit)
    if was_cut:
        assert shorter.encode()  # valid UTF-8
        head, _, tail = shorter.partition("\n[…")
        assert text.encode("utf-8", "ignore").startswith(head.encode())
        assert text.encode("utf-8", "ignore").endswith(tail.partition("…]\n")[2].encode())
        assert "left out here" in shorter
    else:
        assert shorter == text


@requirement("L114")
def test_the_limit_is_a_share_of_the_window() -> None:
    assert bytes_max(None, 0.1, 32_768) == 32_768
    assert bytes_max(200_000, 0.1, 32_768) == 32_768
    assert bytes_max(8_000, 0.1, 32_768) == 3_200


def test_json_is_cut_as_its_text() -> None:
    value = {"lines": ["x" * 100] * 100}
    shorter, was_cut = fitted(value, LIMIT)
    assert was_cut
    assert isinstance(shorter, str)
    assert shorter.startswith('{"lines":')
    assert fitted({"a": 1}, LIMIT) == ({"a": 1}, False)


def test_of_typed_blocks_the_text_is_cut_and_images_are_kept() -> None:
    image = {"type": "image", "data": "A" * 5000, "mimeType": "image/png"}
    value: Any = {"content": [{"type": "text", "text": "x" * 5000}, image], "isError": False}
    shorter, was_cut = fitted(value, LIMIT)
    assert was_cut
    small = {"content": [{"type": "text", "text": "ok"}, image], "isError": False}
    assert fitted(small, LIMIT) == (small, False)
    assert isinstance(shorter, dict)
    huge = {"type": "image", "data": "A" * STORED_BYTES_MAX}
    left, was_cut = fitted({"content": [image, huge]}, LIMIT)
    assert was_cut
    assert orjson.dumps(left).count(b"image left out") == 1


@requirement("M5")
@pytest.mark.parametrize("depth", [10, 99, 500])
def test_what_is_nested_too_deep_is_stored_all_the_same(depth: int) -> None:
    value: Any = "core"
    for _ in range(depth):
        value = [value]

    assert encode_json([{"output": storable(value)}])


@requirement("M5")
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.integers() | st.text(), inner),
        max_leaves=20,
    )
)
def test_any_value_is_storable(value: Any) -> None:
    assert encode_json(storable(value))


def test_content_that_is_no_list_of_blocks_is_cut_as_json() -> None:
    shorter, was_cut = fitted({"content": ["x" * 2 * LIMIT]}, LIMIT)

    assert was_cut
    assert isinstance(shorter, str)
    assert shorter.startswith('{"content":["x')


def test_a_lone_surrogate_does_not_keep_an_output_from_being_cut() -> None:
    shorter, was_cut = fitted({"said": "\ud800" * LIMIT}, LIMIT)

    assert was_cut
    assert isinstance(shorter, str)
    assert shorter.encode(), "valid UTF-8"
