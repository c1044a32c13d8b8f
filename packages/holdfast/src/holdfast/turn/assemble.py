"""From live parts back to message parts: what a dead worker's model had said, for who comes after.

The deltas of a part are joined exactly as they were shown (L10). A call whose arguments are not yet
a JSON object is left out (L09), and so is one that the provider ran: only its own block could say
it. Reasoning is finished by the interrupt itself (L11).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

import orjson

from holdfast.domain.ids import CallId
from holdfast.domain.parts import Part, Reasoning, Text, ToolCall
from holdfast.ports.bus import LivePart


@dataclass(slots=True)
class _Slot:
    kind: str
    texts: list[str] = field(default_factory=list[str])
    call_id: str = ""
    tool: str = ""
    runs_here: bool = True


def assemble(live: Sequence[LivePart], now: datetime) -> tuple[Part, ...]:
    """What the parts of an episode say, as far as the bus still has them. Around a hole (its
    beginning may have expired) what is left is kept all the same: readers have seen it (M4)."""
    slots: dict[int, _Slot] = {}
    for part in live:
        for delta in cast("list[dict[str, Any]]", orjson.loads(part.payload)):
            _take(slots, delta)
    parts = (_part(slots[index], now) for index in sorted(slots))
    return tuple(part for part in parts if part is not None)


def _take(slots: dict[int, _Slot], delta: dict[str, Any]) -> None:
    match delta:
        case {
            "type": "tool_call",
            "index": int(index),
            "call_id": str(call_id),
            "tool_name": str(tool),
        }:
            here = delta.get("executed_by") != "provider"
            slots[index] = _Slot("tool_call", call_id=call_id, tool=tool, runs_here=here)
        case {"type": "arguments", "index": int(index), "text": str(text)} if index in slots:
            slots[index].texts.append(text)
        case {"type": "text" | "reasoning" as kind, "index": int(index), "text": str(text)}:
            slots.setdefault(index, _Slot(kind)).texts.append(text)
        case _:
            pass  # what a tool wrote, and what is yet to be invented


def _part(slot: _Slot, now: datetime) -> Part | None:
    text = "".join(slot.texts)
    match slot.kind:
        case "text":
            return Text(text)
        case "reasoning":
            return Reasoning(text, now)
        case _:
            return _call(slot, text)


def _call(slot: _Slot, text: str) -> ToolCall | None:
    if not slot.runs_here:
        return None
    try:
        arguments: object = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(arguments, dict):
        return None
    return ToolCall(CallId(slot.call_id), slot.tool, cast("dict[str, Any]", arguments))
