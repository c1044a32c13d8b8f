"""The reducer, on the fixtures that clients in other languages share."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import TypeAdapter

from holdfast.api.events import StreamEvent, WatchEvent
from holdfast.domain.events import EventType
from holdfast.stream.list_watcher import WatchEventType
from holdfast_client.view import EMPTY, WireEvent, as_json, reduce
from tests.support import golden_stream

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


async def test_the_fixtures_are_what_the_server_sends() -> None:
    """`python -m tests.support.golden_stream` records them anew."""
    assert {path.stem for path in FIXTURES} == set(golden_stream.FIXTURES)
    for path in FIXTURES:
        recorded = await golden_stream.record(golden_stream.FIXTURES[path.stem])
        assert orjson.loads(path.read_bytes()) == orjson.loads(orjson.dumps(recorded)), path.stem


def test_the_fixtures_have_every_type_of_event() -> None:
    told = {
        step["event"]["type"]
        for path in FIXTURES
        for step in orjson.loads(path.read_bytes())["steps"]
    }
    assert told >= {each.value for each in EventType}


def test_a_preview_that_begins_in_the_middle_is_not_shown() -> None:
    delta = {"attempt": 1, "index": 2, "deltas": [{"index": 0, "type": "text", "text": "lo"}]}
    assert reduce(EMPTY, WireEvent("preview.delta", delta)) == EMPTY


def test_a_commit_counts_once_its_last_event_came() -> None:
    state = {"status": "idle"}
    begun = reduce(EMPTY, WireEvent("chat.state", state, "c1", 7, final=False))
    assert (begun.version, begun.cursor) == (0, "c1")
    whole = reduce(begun, WireEvent("queue.updated", {"messages": []}, "c2", 7))
    assert (whole.version, whole.cursor) == (7, "c2")


def examples() -> list[dict[str, Any]]:
    page = (ROOT / "docs" / "reference" / "events.md").read_text(encoding="utf-8")
    return [orjson.loads(line) for line in page.splitlines() if line.startswith('{"type"')]


def test_every_type_of_event_is_described() -> None:
    page = (ROOT / "docs" / "reference" / "events.md").read_text(encoding="utf-8")
    shown = {each["type"] for each in examples()}
    for kind in (*EventType, *WatchEventType):
        assert f"\n### `{kind.value}`\n" in page
        assert kind.value in shown, f"no example of {kind}"


def test_the_examples_of_the_page_are_events() -> None:
    view = EMPTY
    for envelope in examples():
        of_list = envelope["type"] in {*WatchEventType} - {*EventType}
        TypeAdapter[Any](WatchEvent if of_list else StreamEvent).validate_python(envelope)
        view = reduce(view, WireEvent.from_json(envelope))
    assert view.messages
