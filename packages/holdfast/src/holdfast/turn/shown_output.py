"""What a call wrote before it was stopped or its worker was lost: readers saw it, so it is kept."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import orjson

from holdfast.chats.outputs import fitted, storable
from holdfast.domain.ids import CallId
from holdfast.domain.parts import ToolResult
from holdfast.ports.bus import LivePart

HEADING = "What it wrote until then:"


def with_shown(result: ToolResult, shown: str, bytes_max: int) -> ToolResult:
    """The result, whose output is a sentence, with what readers saw of the call below it."""
    if not shown:
        return result
    value, was_cut = fitted(storable(shown), bytes_max)
    words = f"{result.output}\n{HEADING}\n"
    lines = words.count("\n")
    return replace(result, output=f"{words}{value}", summary_lines=lines, truncated=was_cut)


def with_all_shown(
    results: Iterable[ToolResult], shown: Mapping[CallId, str], bytes_max: int
) -> tuple[ToolResult, ...]:
    return tuple(with_shown(each, shown.get(each.call_id, ""), bytes_max) for each in results)


def shown_in(live: Iterable[LivePart]) -> dict[CallId, str]:
    """What these live parts say that calls wrote, in the order in which readers saw it."""
    shown: dict[CallId, str] = {}
    for part in live:
        for delta in orjson.loads(part.payload):
            if delta["type"] == "tool_output":
                call_id = CallId(delta["call_id"])
                shown[call_id] = shown.get(call_id, "") + delta["text"]
    return shown
