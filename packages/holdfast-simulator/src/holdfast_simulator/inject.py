"""Spoil a reply or its frames as a fault demands. Pure: out comes a list of things to do."""

import copy
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, cast

from holdfast_simulator import agent
from holdfast_simulator.asked import Asked, WireName
from holdfast_simulator.chance import Chance
from holdfast_simulator.faults import Fault, FaultAt
from holdfast_simulator.jsons import JsonObject, arr, obj
from holdfast_simulator.reply import (
    CallPart,
    Part,
    RefusalPart,
    Reply,
    Stop,
    TextPart,
    ThinkingPart,
)
from holdfast_simulator.sse import Encoder, data_of
from holdfast_simulator.wires.base import Frame, Job, Mark, Trouble, Wire

TEXT_KEYS: Final = (
    "text",
    "thinking",
    "delta",
    "content",
    "partial_json",
    "arguments",
    "reasoning_content",
    "refusal",
)
PLACEHOLDER: Final = "\x00huge\x00"


class Act(StrEnum):
    """Something other than bytes."""

    END = "end"
    CLOSE = "close"
    RESET = "reset"
    HANG = "hang"
    PINGS = "pings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """Bytes as they are; they bill nothing."""

    data: bytes
    name: str = "raw"


@dataclass(frozen=True, slots=True, kw_only=True)
class Huge:
    """An event whose middle is `size` times one letter, never held in memory."""

    head: bytes
    size: int
    tail: bytes


Item = Frame | Raw | Huge | Act

ERRORS: Final = {
    Fault.ERROR_OVERLOADED: Trouble.OVERLOADED,
    Fault.ERROR_RATE_LIMIT: Trouble.RATE_LIMIT,
    Fault.ERROR_SERVER: Trouble.SERVER,
    Fault.ERROR_CONTEXT: Trouble.CONTEXT,
    Fault.ERROR_FIRST: Trouble.SERVER,
}
BREAKS: Final = {
    Fault.EOF_MID: Act.END,
    Fault.CLOSED_MID: Act.CLOSE,
    Fault.RESET_MID: Act.RESET,
    Fault.HANG_MID: Act.HANG,
    Fault.PINGS_MID: Act.PINGS,
}
AT_ONCE: Final = {
    Fault.EOF_AT_ONCE: Act.END,
    Fault.HANG_BEFORE_EVENT: Act.HANG,
    Fault.PINGS_FOREVER: Act.PINGS,
}


# --- replies


def spoil_reply(reply: Reply, fault: Fault, asked: Asked, chance: Chance) -> Reply:
    """The reply as this fault wants it said; most faults leave it alone."""
    match fault:
        case Fault.EMPTY_TEXT:
            return replace(reply, parts=(TextPart(text=""), *reply.parts))
        case Fault.EMPTY_REPLY:
            return Reply(parts=())
        case Fault.NULL_FINISH:
            return replace(reply, stop=Stop.MISSING)
        case Fault.EOF_MID_UTF8:
            return Reply(parts=(TextPart(text="So far: voilà, a café — "), *reply.parts))
        case Fault.CONTENT_FILTER | Fault.REFUSAL:
            return _withheld(reply, fault, asked)
        case _:
            return _spoil_calls(reply, fault, asked, chance)


def _withheld(reply: Reply, fault: Fault, asked: Asked) -> Reply:
    if fault is Fault.REFUSAL:
        thought = ThinkingPart(text="This is something that I must not help with.")
        openai = asked.wire in (WireName.CHAT, WireName.RESPONSES)
        refusal: tuple[Part, ...] = (RefusalPart(text="I can't help with that."),) if openai else ()
        return Reply(parts=(thought, *refusal), stop=Stop.REFUSAL)
    texts = [part for part in reply.parts if isinstance(part, TextPart)]
    said = texts[0].text if texts else "This is how it begins"
    half = said[: max(1, len(said) // 2)]
    return Reply(parts=(TextPart(text=half),), stop=Stop.FILTER)


def _spoil_calls(reply: Reply, fault: Fault, asked: Asked, chance: Chance) -> Reply:
    lead = tuple(part for part in reply.parts if not isinstance(part, CallPart))
    call = _some_call(reply, asked)
    match fault:
        case Fault.BROKEN_ARGUMENTS:
            calls = (replace(call, arguments=call.arguments.removesuffix("}") + ', "then": ,}'),)
        case Fault.NON_OBJECT_ARGUMENTS:
            calls = (replace(call, arguments='["not","an","object"]'),)
        case Fault.UNKNOWN_TOOL:
            calls = (CallPart(name="no_such_tool", arguments='{"why":"it was not offered"}'),)
        case Fault.DUPLICATE_CALL_IDS:
            same = replace(call, call_id=f"call_{chance.word(20)}")
            calls = (same, same)
        case Fault.INTERLEAVED:
            calls = (call, call)
        case Fault.LENGTH_IN_ARGUMENTS:
            full = call.arguments if len(call.arguments) > 2 else '{"note":"a longer argument"}'
            half = replace(call, arguments=full[: len(full) // 2])
            return Reply(parts=(*lead, half), stop=Stop.LENGTH)
        case _:
            return reply
    return Reply(parts=(*lead, *calls), stop=Stop.CALLS)


def _some_call(reply: Reply, asked: Asked) -> CallPart:
    if reply.calls:
        return reply.calls[0]
    if asked.offers:
        return agent.call(asked.offers[0], asked.last_text)
    return CallPart(name="lookup", arguments='{"question":"what now","limit":3}')


# --- frames


def spoil(frames: list[Frame], at: FaultAt, job: Job, wire: Wire, encoder: Encoder) -> list[Item]:
    """What to send instead of these frames."""
    fault = at.fault
    middle = _middle(frames, at.after)
    if fault in AT_ONCE:
        return [AT_ONCE[fault]]
    if fault in BREAKS:
        return [*frames[:middle], BREAKS[fault]]
    if fault in ERRORS:
        before = 0 if fault is Fault.ERROR_FIRST else middle
        error = wire.error_frame(wire.troubles[ERRORS[fault]], job, before)
        return [*frames[:before], error, Act.END]
    if fault in (Fault.EOF_MID_EVENT, Fault.EOF_MID_UTF8):
        return _cut_bytes(frames, fault, middle, encoder)
    if fault in (Fault.EOF_BEFORE_TERMINAL, Fault.EOF_BEFORE_DONE, Fault.HANG_AFTER_END):
        return _near_the_end(frames, fault)
    return _spoil_events(frames, fault, middle, wire, encoder)


def _near_the_end(frames: list[Frame], fault: Fault) -> list[Item]:
    if fault is Fault.HANG_AFTER_END:
        return [*frames, Act.HANG]
    if fault is Fault.EOF_BEFORE_DONE:
        return [*frames[:-1], Act.END]
    first = next(i for i, frame in enumerate(frames) if frame.mark is Mark.CLOSING)
    return [*frames[:first], Act.END]


def _spoil_events(
    frames: list[Frame], fault: Fault, middle: int, wire: Wire, encoder: Encoder
) -> list[Item]:
    before, after = frames[:middle], frames[middle:]
    match fault:
        case Fault.INVALID_JSON | Fault.NOT_AN_OBJECT:
            data = data_of(before[-1])
            half = data[: max(1, len(data) // 2)]
            wrong = half if fault is Fault.INVALID_JSON else b"[1,2,3]"
            return [*before, Raw(data=encoder.event(before[-1].name, wrong)), *after]
        case Fault.DUPLICATED_EVENTS:
            return [item for frame in frames for item in _twice(frame, encoder)]
        case Fault.UNKNOWN_EVENTS:
            unknown = Raw(data=encoder.frame(wire.unknown()), name="unknown")
            return [*frames[:1], unknown, *before[1:], unknown, *after]
        case Fault.INTERLEAVED:
            return [*_interleaved(frames, wire)]
        case Fault.MISSING_USAGE:
            kept = [wire.without_usage(frame) for frame in frames]
            return [frame for frame in kept if frame is not None]
        case _:
            return [*frames]


def huge(frame: Frame, size: int, encoder: Encoder) -> Huge:
    """This delta with a text of `size` letters."""
    body = copy.deepcopy(frame.body)
    if isinstance(body, str) or not _replace_text(body, PLACEHOLDER):
        body = {"padding": PLACEHOLDER}
    data = encoder.frame(Frame(name=frame.name, body=body))
    # The letter zero cannot stand in JSON as such, so it is found escaped.
    head, _, tail = data.partition(rb"\u0000huge\u0000")
    return Huge(head=head, size=max(0, size - len(head) - len(tail)), tail=tail)


def spoil_huge(frames: list[Frame], at: FaultAt, size: int, encoder: Encoder) -> list[Item]:
    middle = _middle(frames, at.after)
    return [*frames[:middle], huge(frames[middle - 1], size, encoder), *frames[middle:]]


def _middle(frames: list[Frame], after: int | None) -> int:
    """The place after so many deltas; by default after half of them."""
    places = [i for i, frame in enumerate(frames) if frame.mark is Mark.DELTA]
    if not places:
        return 1
    number = len(places) // 2 if after is None else after
    number = min(max(1, number), len(places))
    return places[number - 1] + 1


def _cut_bytes(frames: list[Frame], fault: Fault, middle: int, encoder: Encoder) -> list[Item]:
    if fault is Fault.EOF_MID_EVENT:
        data = encoder.frame(frames[middle])
        return [*frames[:middle], Raw(data=data[: len(data) * 2 // 3]), Act.END]
    for index, frame in enumerate(frames):
        data = encoder.frame(frame)
        lead = next((i for i, byte in enumerate(data) if byte >= 0xC0), None)
        if lead is not None and frame.mark is Mark.DELTA:
            return [*frames[:index], Raw(data=data[: lead + 1]), Act.END]
    raise AssertionError("the reply of this fault holds a letter of several bytes")


def _twice(frame: Frame, encoder: Encoder) -> list[Item]:
    if frame.mark is not Mark.DELTA:
        return [frame]
    return [frame, Raw(data=encoder.frame(frame), name=frame.name or "delta")]


def _interleaved(frames: list[Frame], wire: Wire) -> list[Frame]:
    """The frames of the last two parts, one of each in turn."""
    parts = sorted({frame.part for frame in frames if frame.part >= 0})
    first, second = parts[-2:]
    left = [frame for frame in frames if frame.part == first]
    right = [frame for frame in frames if frame.part == second]
    start = next(i for i, frame in enumerate(frames) if frame.part == first)
    end = start + len(left) + len(right)
    if wire.name is WireName.GEMINI:
        mixed = [*right, *left]
    else:
        mixed = list[Frame]()
        for number in range(max(len(left), len(right))):
            mixed += left[number : number + 1] + right[number : number + 1]
    rest = [frame for frame in frames[start:end] if frame not in mixed]
    ordered = [*frames[:start], *mixed, *rest, *frames[end:]]
    for number, frame in enumerate(ordered):
        if "sequence_number" in obj(frame.body):
            obj(frame.body)["sequence_number"] = number
    return ordered


def _replace_text(value: JsonObject, text: str) -> bool:
    for name, member in value.items():
        if name in TEXT_KEYS and isinstance(member, str):
            value[name] = text
            return True
        for child in [member, *arr(member)]:
            if isinstance(child, dict) and _replace_text(cast(JsonObject, child), text):
                return True
    return False
