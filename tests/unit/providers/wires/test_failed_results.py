"""A failed tool result says so on every wire (agent-quality R5)."""

from typing import Any

import pytest

from holdfast.adapters.providers.content import Words, marked_pieces
from holdfast.domain.ids import CallId
from holdfast.domain.parts import Text, ToolCall, ToolResult
from tests.support.model import assistant, body_of, bytes_of, call_for, endpoint_for, results, user

PNG_64 = "iVBORw0KGgoAAAAAAAAAAAAAAAAAAAAA"


def failed(output: Any, *, is_failed: bool = True) -> ToolResult:
    return ToolResult(CallId("c1"), "clock", output, failed=is_failed)


def history(result: ToolResult) -> list[Any]:
    return [user("Hi"), assistant(ToolCall(CallId("c1"), "clock", {})), results(result)]


def sent(wire: str, result: ToolResult) -> Any:
    return body_of(call_for(wire, history(result)), endpoint_for(wire))


def test_responses_wire_marks_a_failed_result() -> None:
    last = sent("responses", failed("No such file: a.py."))["input"][-1]
    assert (last["type"], last["output"]) == ("function_call_output", "Error: No such file: a.py.")


def test_chat_wire_marks_a_failed_result() -> None:
    last = sent("chat", failed("No such file: a.py."))["messages"][-1]
    assert (last["role"], last["content"]) == ("tool", "Error: No such file: a.py.")


def test_a_result_that_did_not_fail_is_sent_as_it_is() -> None:
    result = failed("Error: is a word of this file", is_failed=False)
    assert sent("chat", result)["messages"][-1]["content"] == result.output
    assert sent("responses", result)["input"][-1]["output"] == result.output
    assert sent("chat", failed("12:00", is_failed=False))["messages"][-1]["content"] == "12:00"


def test_wires_with_a_field_for_failure_keep_the_text() -> None:
    blocks = sent("anthropic", failed("gone"))["messages"][-1]["content"]
    assert (blocks[0]["is_error"], "Error: " in str(blocks)) == (True, False)
    parts = sent("gemini", failed("gone"))["contents"][-1]["parts"]
    assert parts[0]["functionResponse"]["response"] == {"error": "gone"}


def test_the_mark_is_not_doubled_and_stands_before_pictures() -> None:
    call = call_for("responses")
    assert marked_pieces(failed("Error: not run."), call) == [Words("Error: not run.")]
    picture = {"content": [{"type": "image", "data": PNG_64}]}
    first, *rest = marked_pieces(failed(picture), call)
    assert (first, len(rest)) == (Words("Error:"), 1)


@pytest.mark.parametrize("wire", ["responses", "chat", "anthropic", "gemini"])
def test_a_failed_result_is_replayed_byte_for_byte(wire: str) -> None:
    """A cache of the prompt ends where a replayed message differs by one byte."""
    call, endpoint = call_for(wire, history(failed("gone"))), endpoint_for(wire)
    longer = call_for(wire, [*history(failed("gone")), assistant(Text("Hm.")), user("Go on")])
    assert bytes_of(call, endpoint) == bytes_of(call, endpoint)
    key = {"responses": "input", "gemini": "contents"}.get(wire, "messages")
    before, after = body_of(call, endpoint)[key], body_of(longer, endpoint)[key]
    assert after[: len(before)] == before
