"""What may come of a fault beside an error, and what of a reply is kept."""

from collections.abc import Mapping, Sequence
from typing import Final

from holdfast.domain.parts import Part, Reasoning, Text, ToolCall
from holdfast_simulator.faults import Fault

F = Fault

ODD: Final[Mapping[Fault, str]] = {
    F.INTERLEAVED: "two parallel calls, put together by their index",
    F.EMPTY_REPLY: "the provider declared a good end and said nothing; the caller sees no parts",
    F.BROKEN_ARGUMENTS: "the call is in `malformed`: answered, never run",
    F.NON_OBJECT_ARGUMENTS: "the call is in `malformed`: answered, never run",
    F.UNKNOWN_TOOL: "the call as it was made; the turn refuses it: no such tool is offered",
    F.DUPLICATE_CALL_IDS: "two calls with two ids: the second got a new one",
    F.LENGTH_IN_ARGUMENTS: "the ending is `cut`, and the half call is left out",
    F.UNKNOWN_FINISH: (
        "the parts are whole, so the reply is complete, and the reason is logged; Responses says "
        "`incomplete`, so the ending is `length`; Gemini has reasons for broken replies, so "
        "an unknown one is an error that is retried"
    ),
    F.PAUSED: "the ending is `paused`: the turn asks the provider to go on",
}
"""A right stream that says something odd: the reply is exactly that."""

REPEATED: Final = frozenset({F.SUMMARY_REJECTED, F.EFFORT_REJECTED, F.STREAM_OPTIONS_REJECTED})
"""The call is repeated without the rejected setting, so that the turn does not see the error."""

ASKED_ONCE_MORE: Final = frozenset({F.TOOL_USE_FAILED})
"""A second failure in a row ends the turn: it is then the tool or the prompt."""

RACING: Final = frozenset({F.CLOSED_MID, F.RESET_MID})
"""The end may overtake what is still in the client's buffers."""


def kept(parts: Sequence[Part]) -> str:
    """In short: `reasoning 14, text 12, call clock`; numbers are characters."""
    return ", ".join(_kept(part) for part in parts) or "nothing"


def _kept(part: Part) -> str:
    match part:
        case Text(text=text):
            return f"text {len(text)}"
        case Reasoning(text=text):
            return f"reasoning {len(text)}"
        case ToolCall(tool=tool):
            return f"call {tool}"
        case _:
            return part.kind
