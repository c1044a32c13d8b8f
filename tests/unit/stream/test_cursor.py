"""Where a reader is, as text; and one event as bytes."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.events import EventKind
from holdfast.domain.ids import Version
from holdfast.ports.bus import Episode, LivePart
from holdfast.stream.cursor import Cursor
from holdfast.stream.events import PING, StreamEvent, part_data
from tests.support.builders import CHAT

NUMBERS = st.integers(0, 999_999_999)


@given(st.integers(1, 10**18 - 1), NUMBERS, NUMBERS, st.none() | NUMBERS)
def test_a_cursor_survives_as_text(version: int, attempt: int, seq: int, place: int | None) -> None:
    cursor = Cursor(Version(version), attempt, seq, place)
    assert Cursor.parse(cursor.text) == cursor


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "1.2",
        "1.2.3.4.5",
        "0.0.0",
        "01.2.3",
        "1.-2.3",
        "1.2.3.",
        " 1.2.3",
        "1.2.3\n",
        "1.2.x",
        "١.2.3",
        "1" * 19 + ".0.0",
        "1.1234567890.0",
        "1.2.3.1234567890",
        "null",
    ],
)
def test_what_we_never_wrote_is_no_cursor(text: str) -> None:
    assert Cursor.parse(text) is None


@given(st.text(max_size=40))
def test_no_text_is_misread(text: str) -> None:
    cursor = Cursor.parse(text)
    assert cursor is None or cursor.text == text


def test_an_event_is_the_same_json_on_both_wires() -> None:
    part = LivePart(CHAT, Episode(Version(7), 2), 3, b'[{"index":0,"kind":"text","text":"a"}]')
    event = StreamEvent(EventKind.PART, Cursor(Version(8), 2, 3), part_data(part))
    data = b'{"attempt":2,"seq":3,"deltas":[{"index":0,"kind":"text","text":"a"}]}'

    assert event.sse() == b"event: part\nid: 8.2.3\ndata: " + data + b"\n\n"
    assert orjson.loads(event.json()) == {
        "event": "part",
        "id": "8.2.3",
        "data": orjson.loads(data),
    }


def test_an_event_that_leads_nowhere_has_no_id() -> None:
    assert PING.sse() == b"event: ping\ndata: {}\n\n"
    assert orjson.loads(PING.json()) == {"event": "ping", "data": {}}
