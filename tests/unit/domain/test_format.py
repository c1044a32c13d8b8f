"""The stored form of parts: complete, versioned, and loud about what it does not know."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import orjson
import pytest

from holdfast.domain import parts as p
from holdfast.domain.errors import ChatTooNew, FormatUnknown
from holdfast.domain.format import FORMAT, READS, parts_from_json, parts_to_json
from holdfast.domain.ids import CallId
from tests.requirements import requirement
from tests.support.doubles import SeededIds

NATIVE = p.Native("anthropic", {"type": "thinking", "signature": "abc", "z": 1, "a": [None]})
EVERY_PART: tuple[p.Part, ...] = (
    p.Text("hello"),
    p.Text("", native=NATIVE),
    p.Reasoning("hm", finished_at=datetime(2026, 1, 1, tzinfo=UTC), native=NATIVE),
    p.ToolCall(CallId("c1"), "tool", {"a": {"b": [1, 2.5, None, True]}}, needs=p.Need.APPROVAL),
    p.ToolCall(CallId("c2"), "search", {}, runs_at="provider", native=NATIVE),
    p.ToolResult(CallId("c1"), "tool", ["x", {"y": 1}], failed=True),
    p.ToolResult(CallId("c1"), "tool", None, synthetic=p.Synthetic.EXPIRED),
    p.Source("https://example.org", title="Example"),
    p.File("f1", "image/png", name="a.png"),
    p.FileReference("src/a.py", first_line=1, last_line=3, text="x"),
    p.Skill("review", text="look twice"),
    p.Context("workspace", "there is one"),
    p.ToolCall(CallId("c3"), "look_up", {}, needs=p.Need.APPROVAL, digest="d1", then=p.Need.RESULT),
    p.ToolResult(
        CallId("c4"),
        "execute",
        "exit code 2\nx",
        exit_code=2,
        duration_ms=1400,
        truncated=True,
        summary_lines=1,
    ),
    p.ToolResult(
        CallId("c5"),
        "execute",
        "late",
        failed=True,
        timed_out=True,
        signal="KILL",
        process_id="p1",
    ),
    p.Text("It will rain.", citations=(p.Citation(0, 13, "https://example.org"),)),
)
GOLDEN = Path(__file__).parents[2] / "golden" / "parts-v1.json"


@requirement("L91")
def test_every_kind_of_part_survives() -> None:
    assert {type(part) for part in EVERY_PART} == set(get_args(p.Part))
    text = orjson.dumps(parts_to_json(EVERY_PART))
    assert parts_from_json(FORMAT, orjson.loads(text)) == EVERY_PART


@requirement("L90")
def test_what_was_stored_once_is_readable_for_ever() -> None:
    assert parts_from_json(1, orjson.loads(GOLDEN.read_bytes())) == EVERY_PART


UNKNOWN: list[tuple[int, list[Any]]] = [
    (2, [{"kind": "text", "text": "x"}]),
    (1, [{"kind": "hologram"}]),
    (1, [{"text": "no kind"}]),
    (1, [{"kind": "text"}]),
    (1, [{"kind": "text", "text": "x", "colour": "red"}]),
    (1, [{"kind": "tool_call", "call_id": "c", "tool": "t", "arguments": {}, "needs": "luck"}]),
]


@requirement("L90")
@pytest.mark.parametrize(("format_", "stored"), UNKNOWN)
def test_what_is_unknown_fails_loudly(format_: int, stored: list[Any]) -> None:
    with pytest.raises(FormatUnknown):
        parts_from_json(format_, stored)


def test_the_order_of_keys_in_a_providers_own_part_is_kept() -> None:
    (stored,) = parts_to_json((p.Text("", native=NATIVE),))
    (again,) = parts_from_json(FORMAT, orjson.loads(orjson.dumps([stored])))
    assert again.native is not None
    assert list(again.native.block) == ["type", "signature", "z", "a"]


def test_a_chat_that_is_too_new_says_which_reader_it_needs() -> None:
    chat_id = SeededIds(1).new_chat_id()

    error = ChatTooNew(chat_id, READS + 1, READS)

    assert isinstance(error, FormatUnknown)
    assert str(error) == f"chat {chat_id} needs reader level {READS + 1}; this version has {READS}"
