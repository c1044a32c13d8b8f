import pytest

from holdfast.domain.ids import CallId
from holdfast.domain.part_notes import note_of
from holdfast.domain.parts import Part, Reasoning, Text, ToolCall, ToolResult


@pytest.mark.parametrize(
    ("part", "note"),
    [
        (Text("hello"), "hello"),
        (Text(""), "text"),
        (Reasoning("hidden"), ""),
        (ToolCall(CallId("c"), "look", {"n": 1}), "calls look {'n': 1}"),
        (ToolResult(CallId("c"), "look", "seen"), "result of look: seen"),
        (ToolResult(CallId("c"), "look", "no", failed=True), "result of look (failed): no"),
    ],
)
def test_a_part_is_told_in_one_line_and_reasoning_is_left_out(part: Part, note: str) -> None:
    assert note_of(part) == note
