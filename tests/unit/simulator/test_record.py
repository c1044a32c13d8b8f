"""The record is bounded; the bill is not."""

import pytest

from holdfast_simulator import record as module
from holdfast_simulator.record import Entry, Record
from holdfast_simulator.usage import InputUsage


def add(record: Record, size: int = 10) -> Entry:
    headers = {"Authorization": "Bearer secret", "X-Other": "x"}
    return record.open(
        wire="chat", path="/p", headers=headers, body={"a": 1}, body_bytes=size, began_s=0.0
    )


def finish(entry: Entry, output: int) -> None:
    entry.model = "m"
    entry.entry = InputUsage(total=5)
    entry.output = output
    entry.done.set()


def test_what_is_forgotten_stays_in_the_bill(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENTRIES_MAX", 2)
    record = Record()
    for number in range(5):
        finish(add(record), output=number + 1)
    assert [entry.number for entry in record] == [4, 5]
    assert record.get(1) is None
    billing = record.billing()
    assert billing["streams"] == 5
    assert billing["usage"]["output_tokens"] == 15
    assert billing["models"]["m"]["usage"]["input_tokens"] == 25


def test_an_answer_under_way_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENTRIES_MAX", 1)
    record = Record()
    slow = add(record)
    finish(add(record), output=1)
    assert record.get(slow.number) is slow


def test_old_bodies_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BODIES_BYTES_MAX", 25)
    record = Record()
    entries = [add(record) for _ in range(3)]
    assert [entry.body for entry in entries] == [None, {"a": 1}, {"a": 1}]


def test_secrets_and_long_answers_are_not_kept() -> None:
    entry = add(Record())
    assert entry.headers == {"authorization": "***", "x-other": "x"}
    entry.note("event", b"x" * module.SENT_BYTES_MAX)
    entry.note("event", b"y")
    assert entry.bytes_sent == module.SENT_BYTES_MAX + 1
    assert len(entry.sent) == module.SENT_BYTES_MAX
    assert entry.full()["events"] == {"event": 2}
