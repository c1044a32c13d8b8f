"""Where a reader is, as text; and one event as bytes."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.events import EventType
from holdfast.domain.ids import NO_STAMP, Seq, Version, VersionStamp
from holdfast.ports.bus import Episode, LivePart
from holdfast.stream.cursor import Cursor
from holdfast.stream.events import StreamEvent, part_data, ping
from tests.requirements import requirement
from tests.support.builders import CHAT

NUMBERS = st.integers(0, 999_999_999)


@given(st.integers(1, 10**18 - 1), NUMBERS, NUMBERS, st.none() | NUMBERS, st.integers(0, 2**32 - 1))
def test_a_cursor_survives_as_text(
    version: int, attempt: int, seq: int, place: int | None, stamp: int
) -> None:
    cursor = Cursor(Version(version), attempt, seq, place, stamp)
    assert Cursor.parse(cursor.text) == cursor


@pytest.mark.parametrize(
    ("text", "stamp"),
    [("7.1.3", 0), ("7.1.3.2", 0), ("7.000000000421.3", 42), ("7.000000000420.3.2", 42)],
)
def test_both_forms_of_a_cursor_are_read(text: str, stamp: int) -> None:
    cursor = Cursor.parse(text)
    assert cursor is not None
    assert (cursor.version, cursor.stamp, cursor.seq) == (7, stamp, 3)
    assert cursor.text == text


@requirement("L146")
def test_cursor_is_of_the_history_with_its_stamp_and_of_one_that_is_not_known() -> None:
    stamp = VersionStamp(0x1234_5678_9ABC_DEF0)
    cursor = Cursor.of(Version(7), stamp)
    assert 0 < cursor.stamp < 2**32
    assert cursor.may_be_of(stamp)
    assert not cursor.may_be_of(VersionStamp(stamp ^ 1))
    assert cursor.may_be_of(NO_STAMP)
    assert Cursor(Version(7), 1, 3).may_be_of(stamp), "a cursor of an older version"
    all_zero = VersionStamp(1 << 40)
    assert cursor.may_be_of(all_zero), "nothing is left of it in a cursor"


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
        "1.00000000000.0",
        "1.000000000000.0",
        "1.042949672960.0",
        "1.0429496729601.0",
        "1.0000000004201.3",
        "1.00000000421.3",
    ],
)
def test_what_we_never_wrote_is_no_cursor(text: str) -> None:
    assert Cursor.parse(text) is None


@given(st.text(max_size=40))
def test_no_text_is_misread(text: str) -> None:
    cursor = Cursor.parse(text)
    assert cursor is None or cursor.text == text


def test_an_event_is_the_same_json_on_both_wires() -> None:
    payload = b'[{"index":0,"type":"text","text":"a"}]'
    part = LivePart(CHAT, Episode(Version(7), 2), 3, payload, Seq(5))
    cursor, version = Cursor(Version(8), 2, 3), Version(8)
    event = StreamEvent(EventType.PREVIEW_DELTA, cursor, part_data(part), version)

    assert event.sse() == b"event: preview.delta\nid: 8.2.3\ndata: " + event.json() + b"\n\n"
    assert orjson.loads(event.json()) == {
        "type": "preview.delta",
        "cursor": "8.2.3",
        "version": 8,
        "final": True,
        "data": {
            "turn_seq": 5,
            "attempt": 2,
            "index": 3,
            "deltas": [{"index": 0, "type": "text", "text": "a"}],
        },
    }


def test_an_event_is_encoded_once_for_all_its_readers() -> None:
    event = StreamEvent(EventType.CHAT_STATE, Cursor(Version(8), 0, 0), b"{}", Version(8))
    assert event.json() is event.json()
    assert event.sse() is event.sse()


def test_an_event_without_a_cursor_has_no_id() -> None:
    told = ping(Version(8))
    assert told.sse() == b"event: ping\ndata: " + told.json() + b"\n\n"
    head = {"type": "ping", "cursor": None, "version": 8, "final": True}
    assert orjson.loads(told.json()) == {**head, "data": {}}
    assert orjson.loads(ping(None).json())["version"] is None
