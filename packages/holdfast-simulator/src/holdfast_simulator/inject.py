"""Spoil a reply or its frames as a fault demands. Pure: out comes a list of things to do."""

import copy
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import Final, cast

from holdfast_simulator import agent
from holdfast_simulator.asked import Asked, WireName
from holdfast_simulator.chance import Chance
from holdfast_simulator.faults import Fault, FaultAt
from holdfast_simulator.jsons import JsonList, JsonObject, arr, obj
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
    Fault.ERROR_TIMEOUT: Trouble.TIMEOUT,
    Fault.ERROR_UNKNOWN: Trouble.NOVEL,
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
STOPS: Final = {
    Fault.NULL_FINISH: Stop.MISSING,
    Fault.UNKNOWN_FINISH: Stop.UNKNOWN,
    Fault.SYSTEM_RESOURCE: Stop.BROKEN,
    Fault.PAUSED: Stop.PAUSE,
}
NEAR_THE_END: Final = frozenset(
    {
        Fault.EOF_BEFORE_TERMINAL,
        Fault.EOF_BEFORE_DONE,
        Fault.HANG_AFTER_END,
        Fault.CLOSED_AFTER_END,
        Fault.GARBAGE_AFTER_END,
        Fault.TWO_ENDS,
        Fault.LATE_DELTA,
    }
)
CHUNKS: Final = frozenset(
    {Fault.HTML_MID, Fault.BYTE_ORDER_MARK, Fault.MISSING_START, Fault.EMPTY_CHOICES}
)
PAGE: Final = b"<html><head><title>502 Bad Gateway</title></head><body></body></html>\n"
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


# --- replies


def spoil_reply(reply: Reply, fault: Fault, asked: Asked, chance: Chance) -> Reply:
    """The reply as this fault wants it said; most faults leave it alone."""
    match fault:
        case Fault.EMPTY_TEXT:
            return replace(reply, parts=(TextPart(text=""), *reply.parts))
        case Fault.EMPTY_REPLY:
            return Reply(parts=())
        case Fault.NULL_FINISH | Fault.UNKNOWN_FINISH | Fault.SYSTEM_RESOURCE | Fault.PAUSED:
            paused = fault is Fault.PAUSED  # a call would have to be answered first
            said = (p for p in reply.parts if not (paused and isinstance(p, CallPart)))
            return replace(reply, parts=tuple(said), stop=STOPS[fault])
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
    if fault in (Fault.EOF_MID_EVENT, Fault.EOF_MID_UTF8, Fault.HANG_IN_EVENT):
        return _cut_bytes(frames, fault, middle, encoder)
    if fault in NEAR_THE_END:
        return _near_the_end(frames, fault, encoder)
    chunks = fault in CHUNKS
    return (
        _spoil_chunks(frames, fault, middle, wire)
        if chunks
        else _spoil_events(frames, fault, middle, wire, encoder)
    )


def _near_the_end(frames: list[Frame], fault: Fault, encoder: Encoder) -> list[Item]:
    first = next(i for i, frame in enumerate(frames) if frame.mark is Mark.CLOSING)
    deltas = (frame for frame in frames if frame.mark is Mark.DELTA)
    late = [_again(frame, encoder) for frame in islice(deltas, 1)]
    spoiled: dict[Fault, list[Item]] = {
        Fault.EOF_BEFORE_TERMINAL: [*frames[:first], Act.END],
        Fault.EOF_BEFORE_DONE: [*frames[:-1], Act.END],
        Fault.HANG_AFTER_END: [*frames, Act.HANG],
        Fault.CLOSED_AFTER_END: [*frames, Act.CLOSE],
        Fault.GARBAGE_AFTER_END: [*frames, Raw(data=PAGE, name="page")],
        Fault.TWO_ENDS: [*frames, *(_again(frame, encoder) for frame in frames[first:])],
        Fault.LATE_DELTA: [*frames[: first + 1], *late, *frames[first + 1 :]],
    }
    return spoiled[fault]


def _again(frame: Frame, encoder: Encoder) -> Raw:
    """The same bytes once more; they bill nothing."""
    return Raw(data=encoder.frame(frame), name=frame.name or "again")


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


def _spoil_chunks(frames: list[Frame], fault: Fault, middle: int, wire: Wire) -> list[Item]:
    match fault:
        case Fault.HTML_MID:
            return [*frames[:middle], Raw(data=PAGE, name="page"), Act.END]
        case Fault.BYTE_ORDER_MARK:
            return [Raw(data=BYTE_ORDER_MARK), *frames]
        case Fault.MISSING_START if frames[0].mark is Mark.START:
            return [*frames[1:]]
        case Fault.MISSING_START:
            body = obj(frames[0].body)
            frames[0].body = {name: value for name, value in body.items() if name != "responseId"}
            return [*frames]
        case _:
            empty = _empty(frames, wire)
            return [*frames[:2], empty, *frames[2:middle], empty, *frames[middle:]]


def _empty(frames: list[Frame], wire: Wire) -> Frame:
    """An event that says nothing."""
    ping = wire.ping()
    if ping is not None:
        return ping
    if wire.name is WireName.RESPONSES:
        return replace(frames[1], mark=Mark.OTHER)
    hollow = {"choices": JsonList(), "candidates": JsonList(), "usageMetadata": None}
    return Frame(body={k: hollow.get(k, v) for k, v in obj(frames[0].body).items()})


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
    if fault is not Fault.EOF_MID_UTF8:
        data = encoder.frame(frames[middle])
        act = Act.HANG if fault is Fault.HANG_IN_EVENT else Act.END
        return [*frames[:middle], Raw(data=data[: len(data) * 2 // 3]), act]
    for index, frame in enumerate(frames):
        data = encoder.frame(frame)
        lead = next((i for i, byte in enumerate(data) if byte >= 0xC0), None)
        if lead is not None and frame.mark is Mark.DELTA:
            return [*frames[:index], Raw(data=data[: lead + 1]), Act.END]
    raise AssertionError("the reply of this fault holds a letter of several bytes")


def _twice(frame: Frame, encoder: Encoder) -> list[Item]:
    if frame.mark is not Mark.DELTA:
        return [frame]
    return [frame, _again(frame, encoder)]


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
