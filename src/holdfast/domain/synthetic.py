"""Results that we write where no tool produced one, so that every call has exactly one (M3)."""

from collections.abc import Mapping
from typing import Final

from holdfast.domain.chat import OpenCall
from holdfast.domain.parts import Synthetic, ToolResult

SENTENCES: Final[Mapping[Synthetic, str]] = {
    Synthetic.INTERRUPTED: "Cancelled: the user interrupted before this call finished.",
    Synthetic.DENIED: "Denied: the user did not allow this call. This is a decision, not a fault.",
    Synthetic.EXPIRED: "Expired: nobody answered this call in time.",
    Synthetic.SUPERSEDED: "Cancelled: the chat went on before this call finished.",
    Synthetic.CUT_OFF: "Not run: the reply that asked for this call was cut off.",
    Synthetic.UNKNOWN_OUTCOME: (
        "Outcome unknown: the server restarted while this ran. It may or may not have taken effect."
    ),
}


def synthetic_result(call: OpenCall, reason: Synthetic) -> ToolResult:
    return ToolResult(
        call_id=call.call_id,
        tool=call.tool,
        output=SENTENCES[reason],
        failed=True,
        synthetic=reason,
    )
