"""In which order the events of a chat may reach a reader; apart, for it needs no server."""

from collections.abc import Sequence
from typing import Any

import orjson

from holdfast.domain.events import EventType
from holdfast.stream.cursor import Cursor
from holdfast.stream.events import StreamEvent


def check_order(events: Sequence[StreamEvent]) -> None:
    """What every reader is promised, whatever happened to the bus, the store or itself."""
    last_seq, preview, last_key = 0, (0, 0), (0, 0.0, 0, 0)
    known, is_whole = 0, True
    for event in events:
        data: dict[str, Any] = orjson.loads(event.data)
        match event.kind:
            case EventType.HISTORY_RESET:
                last_seq, preview = min(last_seq, data["from_seq"] - 1), (0, 0)
                if data["from_seq"] == 1:
                    known, last_key = 0, (0, 0.0, 0, 0)
            case EventType.MESSAGE_CREATED:
                assert data["seq"] > last_seq, f"message {data['seq']} after {last_seq}"
                last_seq, preview = data["seq"], (0, 0)
            case EventType.PREVIEW_RESET:
                assert preview[1] > 0, "nothing was shown that could be taken back"
                preview = (0, 0)
            case EventType.PREVIEW_DELTA:
                assert is_whole, "a part in the middle of a commit"
                part = (data["attempt"], data["index"])
                if preview == (0, 0):
                    assert part[1] == 1, f"the first part shown is {part}"
                else:
                    assert part == (preview[0], preview[1] + 1), f"{part} after {preview}"
                preview = part
            case _:
                pass
        assert event.version is not None
        assert event.version >= known, f"version {event.version} after {known}"
        known, is_whole = event.version, event.final
        if event.cursor is not None:
            key = order_key(event.cursor)
            assert key > last_key, f"cursor {event.cursor.text} after {last_key}"
            last_key = key


def order_key(cursor: Cursor) -> tuple[int, float, int, int]:
    place = float("inf") if cursor.place is None else cursor.place
    return cursor.version, place, cursor.attempt, cursor.seq
