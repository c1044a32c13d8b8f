"""A tool whose input is a text, on the wires: as it is where they know such tools, else in JSON."""

from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from holdfast.adapters.providers.types import OneTool, Quirks, Tool
from holdfast.adapters.providers.wires.responses import ResponsesDecoder
from holdfast.domain.ids import CallId
from holdfast.domain.messages import Ending, MessageBody
from holdfast.domain.parts import JsonObject, Native, Part, Text, ToolCall, ToolResult
from holdfast.ports.models import ArgumentsDelta, Event, Reply
from holdfast.ports.tools import FreeForm
from tests.support.model import (
    NOW,
    WIRE_NAMES,
    assistant,
    body_of,
    call_for,
    endpoint_for,
    feed,
    results,
    user,
)

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"patch": {"type": "string"}},
    "required": ["patch"],
}
PATCH = Tool(
    name="apply_patch",
    description="Patch.",
    schema=SCHEMA,
    free_form=FreeForm("patch", "start: /(.|\\n)+/"),
)
OTHER = Tool(name="clock", description="The time.")
TEXT = '*** Begin Patch\n*** Delete File: "é".txt\n*** End Patch'
CALL_ID = CallId("call_1")
ABLE, UNABLE = Quirks(custom_tools=True), Quirks()


def sent(history: Sequence[MessageBody], quirks: Quirks = ABLE, **changes: Any) -> dict[str, Any]:
    call = call_for("responses", history, tools=(PATCH, OTHER), **changes)
    return body_of(call, endpoint_for("responses", quirks=quirks))


def said(*deltas: str, whole: str = TEXT, status: str = "completed") -> tuple[list[Event], Reply]:
    """A reply with one call of the tool."""
    call = call_for("responses", [user("Hi")], tools=(PATCH, OTHER))
    decoder = ResponsesDecoder(call, endpoint_for("responses", quirks=ABLE))
    item = {"id": "ctc_1", "type": "custom_tool_call", "call_id": "call_1", "name": "apply_patch"}
    rows = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "input": ""}},
        *(
            {"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": delta}
            for delta in deltas
        ),
        {"type": "response.output_item.done", "output_index": 0, "item": {**item, "input": whole}},
        {
            "type": f"response.{status}",
            "response": {
                "id": "r",
                "status": status,
                "incomplete_details": {"reason": "max_output_tokens"},
            },
        },
    ]
    raw = b"".join(b"data: " + orjson.dumps(row) + b"\n\n" for row in rows)
    return feed(decoder, [raw]), decoder.final(NOW)


def called(*parts: Part) -> list[MessageBody]:
    return [
        user("Hi"),
        assistant(*parts),
        results(ToolResult(parts[-1].call_id, "apply_patch", "ok"))
        if isinstance(parts[-1], ToolCall)
        else user("Well?"),
    ]


def test_the_tool_is_offered_with_its_grammar_where_the_wire_knows_such_tools() -> None:
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: /(.|\\n)+/"}
    tools = sent([user("Hi")], tool_choice=OneTool("apply_patch"))

    assert tools["tools"][0] == {
        "type": "custom", "name": "apply_patch", "description": "Patch.", "format": grammar,
    }  # fmt: skip
    assert tools["tools"][1]["type"] == "function"
    assert tools["tool_choice"] == {"type": "custom", "name": "apply_patch"}


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_elsewhere_it_is_a_function_with_one_text(wire: str) -> None:
    call = call_for(wire, [user("Hi")], tools=(PATCH,))
    body = orjson.dumps(body_of(call, endpoint_for(wire, quirks=UNABLE))).decode()

    assert '"patch"' in body
    assert "grammar" not in body
    assert '"custom"' not in body


def test_readers_see_the_input_as_arguments_and_the_call_is_stored_in_one_form() -> None:
    events, final = said(TEXT[:20], TEXT[20:33], TEXT[33:])

    streamed = "".join(event.text for event in events if isinstance(event, ArgumentsDelta))
    assert orjson.loads(streamed) == {"patch": TEXT}
    [call] = final.parts
    assert isinstance(call, ToolCall)
    assert (call.tool, call.arguments, call.runs_at) == ("apply_patch", {"patch": TEXT}, "here")
    assert call.native is not None
    assert call.native.block["type"] == "custom_tool_call"


def test_what_the_deltas_left_out_comes_with_the_finished_item() -> None:
    events, final = said(TEXT[:20])

    streamed = "".join(event.text for event in events if isinstance(event, ArgumentsDelta))
    assert orjson.loads(streamed) == {"patch": TEXT}
    assert isinstance(final.parts[0], ToolCall)


def test_half_a_text_is_no_call() -> None:
    """JSON that was cut cannot be read; a text that was cut can."""
    _, final = said(TEXT[:20], whole=TEXT[:20], status="incomplete")

    assert (final.parts, final.ending) == ((), Ending.LENGTH)


def test_call_and_result_go_back_as_they_came() -> None:
    _, final = said(TEXT)
    body = sent(called(*final.parts))

    call, result = body["input"][1:]
    assert (call["type"], call["id"], call["input"]) == ("custom_tool_call", "ctc_1", TEXT)
    assert result == {"type": "custom_tool_call_output", "call_id": "call_1", "output": "ok"}


def test_a_call_of_another_wire_is_told_in_the_form_that_is_offered_now() -> None:
    theirs = ToolCall(CALL_ID, "apply_patch", {"patch": TEXT}, native=Native("anthropic", {}))
    call, result = sent(called(theirs))["input"][1:]

    assert call == {
        "type": "custom_tool_call", "call_id": "call_1", "name": "apply_patch", "input": TEXT,
    }  # fmt: skip
    assert result["type"] == "custom_tool_call_output"


@pytest.mark.parametrize("arguments", [{}, {"patch": TEXT, "dry": True}, {"patch": [TEXT]}])
def test_arguments_that_are_no_text_stay_in_json(arguments: JsonObject) -> None:
    call, result = sent(called(ToolCall(CALL_ID, "apply_patch", arguments)))["input"][1:]

    assert (call["type"], result["type"]) == ("function_call", "function_call_output")
    assert orjson.loads(call["arguments"]) == arguments


def test_a_server_without_such_tools_gets_a_function_call_for_what_it_said_itself_before() -> None:
    _, final = said(TEXT)
    call, result = sent(called(Text("So."), *final.parts), UNABLE)["input"][2:]

    assert (call["type"], result["type"]) == ("function_call", "function_call_output")
    assert orjson.loads(call["arguments"]) == {"patch": TEXT}


def test_a_call_of_a_tool_that_is_not_offered_any_more_goes_back_as_it_was() -> None:
    """A model that edits in another way took over: providers accept calls of gone tools."""
    _, final = said(TEXT)
    call = call_for("responses", called(*final.parts), tools=(OTHER,))
    items = body_of(call, endpoint_for("responses", quirks=ABLE))["input"][1:]

    assert [each["type"] for each in items] == ["custom_tool_call", "custom_tool_call_output"]


def test_a_call_of_an_unknown_tool_has_a_name_for_its_input() -> None:
    call = call_for("responses", [user("Hi")], tools=())
    decoder = ResponsesDecoder(call, endpoint_for("responses", quirks=ABLE))
    item = {"id": "c", "type": "custom_tool_call", "call_id": "1", "name": "x", "input": "a"}
    rows = [
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r", "status": "completed"}},
    ]
    feed(decoder, [b"".join(b"data: " + orjson.dumps(row) + b"\n\n" for row in rows)])
    [part] = decoder.final(NOW).parts

    assert isinstance(part, ToolCall)
    assert (part.tool, part.arguments, part.runs_at) == ("x", {"input": "a"}, "here")
