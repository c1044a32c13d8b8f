"""Server-sent events from bytes, however they were cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast_client.sse import EventTooLarge, SseParser

STREAM = (
    b'\xef\xbb\xbf: hello\n\nevent: one\ndata: {"a":\ndata:  1}\n\n'
    b"id: 7\nretry: 10\nevent:two\ndata:x\r\n\r\n\n\nevent: lonely\n\ndata: \xc3\xbc\n\n"
    b"data\n\ndata: [DONE]\n\ndata: unfinished\n"
)
EVENTS = [
    ("one", b'{"a":\n 1}', None),
    ("two", b"x", "7"),
    ("", "ü".encode(), None),
    ("", b"[DONE]", None),
]


@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_any_split_gives_the_same_events(cuts: list[int]) -> None:
    parser = SseParser()
    edges = [0, *sorted(cuts), len(STREAM)]

    seen = [event for start, end in pairwise(edges) for event in parser.feed(STREAM[start:end])]

    assert seen == EVENTS


@pytest.mark.parametrize(
    "chunks",
    [
        [b"data: " + b"x" * 2000],
        [b"data: ", *[b"x" * 100] * 20],
        [b"data: " + b"x" * 400 + b"\n"] * 4,
        [b"x" * 1100 + b"\n\n", b"x" * 1100],
        [b"data: " + b"x" * 1100 + b"\n\n"],
    ],
)
def test_an_event_past_the_bound_is_refused_without_being_held(chunks: list[bytes]) -> None:
    parser = SseParser(1000)
    with pytest.raises(EventTooLarge, match="more than 1000 bytes"):
        _ = [parser.feed(chunk) for chunk in chunks]


def test_many_events_may_be_larger_than_the_bound_together() -> None:
    parser = SseParser(1000)
    for _ in range(50):
        assert parser.feed(b"data: " + b"x" * 900 + b"\n\n") == [("", b"x" * 900, None)]
