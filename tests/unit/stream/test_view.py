"""The reducer, on the fixtures that clients in other languages share."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from holdfast.domain.events import EventKind
from holdfast.stream.list_watcher import WatchKind
from holdfast_client.view import EMPTY, WireEvent, as_json, reduce

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = sorted((ROOT / "tests" / "golden" / "stream").glob("*.json"))


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_the_events_lead_to_the_view(path: Path) -> None:
    fixture: dict[str, Any] = orjson.loads(path.read_bytes())
    view = EMPTY
    for number, step in enumerate(fixture["steps"]):
        view = reduce(view, WireEvent.from_json(step["event"]))
        seen = as_json(view)
        for name, expected in step.get("expect", {}).items():
            assert seen[name] == expected, f"{name} after step {number}"
    assert as_json(view) == as_json(EMPTY) | fixture["view"]


def test_the_fixtures_tell_every_kind_of_event() -> None:
    told = {
        step["event"]["event"]
        for path in FIXTURES
        for step in orjson.loads(path.read_bytes())["steps"]
    }
    assert told >= {kind.value for kind in EventKind}
    assert len(FIXTURES) == 13


def test_a_preview_that_begins_in_the_middle_is_not_shown() -> None:
    part = {"attempt": 1, "seq": 2, "deltas": [{"index": 0, "kind": "text", "text": "lo"}]}
    assert reduce(EMPTY, WireEvent("part", part)) == EMPTY


def test_every_kind_of_event_is_described() -> None:
    page = (ROOT / "docs" / "reference" / "events.md").read_text(encoding="utf-8")
    for kind in (*EventKind, *WatchKind):
        assert f"\n## `{kind.value}`\n" in page
        assert f'"event":"{kind.value}"' in page, f"no example of {kind}"


def test_the_examples_of_the_page_are_events() -> None:
    page = (ROOT / "docs" / "reference" / "events.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith('{"event"')]
    view = EMPTY
    for line in lines:
        view = reduce(view, WireEvent.from_json(orjson.loads(line)))
    assert len(lines) >= len(EventKind)
    assert view.messages
