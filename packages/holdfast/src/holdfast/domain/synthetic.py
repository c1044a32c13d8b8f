"""Results that we write where no tool produced one, so that every call has exactly one (M3)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from holdfast.domain.chat import OpenCall
from holdfast.domain.ids import CallId
from holdfast.domain.parts import Synthetic, ToolResult

SENTENCES: Final[Mapping[Synthetic, str]] = {
    Synthetic.INTERRUPTED: "Cancelled: the user interrupted before this call finished.",
    Synthetic.DENIED: "Denied: the user did not allow this call. This is a decision, not a fault.",
    Synthetic.EXPIRED: "Expired: no answer came in time.",
    Synthetic.SUPERSEDED: "Cancelled: the chat went on before this call finished.",
    Synthetic.CUT_OFF: "Not run: the reply that asked for this call was cut off.",
    Synthetic.UNKNOWN_OUTCOME: (
        "Outcome unknown: the server restarted while this ran. It may or may not have taken effect."
    ),
}


DENIED_BY_RULE: Final = (
    "Denied by {rule}. Nothing was run. This is a decision, not a fault: do not look for a way"
    " around it."
)


def denied_by_person(call: OpenCall, reason: str) -> ToolResult:
    denied = synthetic_result(call, Synthetic.DENIED)
    words = f"{denied.output} They said: {reason}" if reason else denied.output
    return replace(denied, output=words)


def denied_by_rule(call_id: CallId, tool: str, rule: str) -> ToolResult:
    """`rule`: in words, which one."""
    words = DENIED_BY_RULE.format(rule=rule)
    return ToolResult(call_id, tool, words, failed=True, synthetic=Synthetic.DENIED)


def refused_by_mode(call_id: CallId, tool: str, words: str) -> ToolResult:
    """A call that the mode of the chat does not allow."""
    return ToolResult(call_id, tool, words, failed=True, synthetic=Synthetic.DENIED)


def synthetic_result(call: OpenCall, reason: Synthetic) -> ToolResult:
    return ToolResult(
        call_id=call.call_id,
        tool=call.tool,
        output=SENTENCES[reason],
        failed=True,
        synthetic=reason,
    )
