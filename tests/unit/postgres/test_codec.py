"""What crosses the border to the database comes back the same, or is refused with a reason."""

import math
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.adapters.postgres.codec import (
    DEPTH_MAX,
    INTEGER_MAX,
    JSON_BYTES_MAX,
    decode_json,
    encode_json,
    escape,
    text_of_bytes,
    unescape,
)
from holdfast.domain.errors import ContentRefused
from tests.requirements import requirement

ANY_TEXT = st.text(st.characters())  # all code points, lone surrogates too
AWKWARD = st.text(st.sampled_from("\x00\ud800\udfff\ue000\ue001\\u0es\"'é😀"), max_size=20)
TEXT = ANY_TEXT | AWKWARD
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-INTEGER_MAX, INTEGER_MAX)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


def storable(text: str) -> bool:
    return "\x00" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


@requirement("L88", "M5")
@given(TEXT)
@example("\ue0000")
@example("\ue000s0041")
@example("\x00\ue000\ud800")
def test_any_text_survives_and_is_storable(text: str) -> None:
    assert storable(escape(text))
    assert unescape(escape(text)) == text


@requirement("L88", "M5")
@given(JSON)
@example({"\x00": {"\ud800": ["\ue000", "\\u0000"]}})
def test_any_json_survives_and_is_storable(value: Any) -> None:
    encoded = encode_json(value)
    assert storable(encoded)
    assert b"\\u0000" not in encoded.encode() or "\\\\u0000" in encoded
    assert decode_json(encoded) == value


def test_every_single_code_point_survives() -> None:
    for start in range(0, 0x110000, 0x1000):
        text = "".join(chr(point) for point in range(start, start + 0x1000))
        assert unescape(escape(text)) == text
        assert decode_json(encode_json([text])) == [text]


@requirement("L89")
@given(st.binary(max_size=200))
@example(b"\xff\xfe ok \xc3")
def test_bytes_of_any_origin_become_text_that_survives(data: bytes) -> None:
    text = text_of_bytes(data)
    assert decode_json(encode_json({"output": text})) == {"output": text}
    assert storable(escape(text))


def nested(depth: int) -> Any:
    value: Any = "leaf"
    for level in range(depth):
        value = [value] if level % 2 else {"in": value}
    return value


@requirement("M5")
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (nested(DEPTH_MAX + 1), "nested deeper"),
        (nested(10_000), "nested deeper"),
        (math.nan, "not a JSON number"),
        ([math.inf], "not a JSON number"),
        ({"n": INTEGER_MAX + 1}, "more than 63 bits"),
        ([-(10**400)], "more than 63 bits"),
        ({1: "x"}, "not text"),
        ("x" * (JSON_BYTES_MAX + 1), "at most"),
        ({"big": "y" * 10_000_000}, "at most"),
        ("\x00" * (JSON_BYTES_MAX // 2), "at most"),
    ],
)
def test_what_could_not_be_read_again_is_refused(value: Any, reason: str) -> None:
    with pytest.raises(ContentRefused, match=reason):
        encode_json(value)


def test_the_deepest_that_is_taken_comes_back() -> None:
    assert decode_json(encode_json(nested(DEPTH_MAX))) == nested(DEPTH_MAX)


def test_text_without_anything_unsafe_is_stored_as_it_is() -> None:
    value = {"text": "plain, with é and 😀 and \\ and \n"}
    assert encode_json(value) == orjson.dumps(value).decode()


def test_the_order_of_keys_is_kept() -> None:
    value = {"z": 1, "a": 2, "m": {"y": 1, "b": 2}}
    assert list(decode_json(encode_json(value))) == ["z", "a", "m"]
