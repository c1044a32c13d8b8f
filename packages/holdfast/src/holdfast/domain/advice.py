"""The advisor: a second model that the agent of a chat asks, a bounded number of times per turn.

The count is a fact of the chat (`advised`): the reply that calls adds one for each call, and a
result that failed gives one back in its own commit. So the cap holds across crashes, retries and
compactions, and a plain turn pays no statement for it.
"""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from holdfast.domain.chat import OpenCall
from holdfast.domain.parts import JsonObject, ToolResult

ADVISOR: Final = "advisor"
"""The name of the tool."""
ADVISED_MAX: Final = 10_000
"""As far as it is counted; no cap is as high."""
LIMIT_REACHED: Final = (
    "The advisor was not asked: it has been used {uses_max} times since the user last spoke, which "
    "is the limit. Decide without it."
)

AdviceKind: TypeAlias = Literal["advice", "limit_reached", "error"]


def calls_counted(advised: int, tools: Sequence[str]) -> int:
    """The count after a reply that calls these tools."""
    return min(advised + sum(tool == ADVISOR for tool in tools), ADVISED_MAX)


def uses_returned(advised: int, results: Sequence[ToolResult]) -> int:
    """The count after these results: advice that was not given costs no use."""
    failed = sum(result.tool == ADVISOR and result.failed for result in results)
    return max(advised - failed, 0)


def calls_past(uses_max: int, advised: int, open_calls: Sequence[OpenCall]) -> tuple[OpenCall, ...]:
    """The open calls beyond the cap, the last ones of the reply."""
    calls = [call for call in open_calls if call.tool == ADVISOR]
    past = min(max(advised - uses_max, 0), len(calls))
    return tuple(calls[len(calls) - past :])


def remaining_uses(uses_max: int | None, advised: int) -> int | None:
    """None: no cap."""
    return None if uses_max is None else max(uses_max - advised, 0)


def advice_output(
    kind: AdviceKind,
    words: str,
    *,
    model: str | None,
    remaining: int | None,
    usage: JsonObject | None = None,
) -> JsonObject:
    """What a result says to the model, and to readers that show it."""
    return {
        "type": kind,
        ("advice" if kind == "advice" else "message"): words,
        "model": model,
        "remaining_uses": remaining,
        "usage": usage,
    }


def limit_reached(call: OpenCall, uses_max: int) -> ToolResult:
    words = LIMIT_REACHED.format(uses_max=uses_max)
    output = advice_output("limit_reached", words, model=None, remaining=0)
    return ToolResult(call.call_id, call.tool, output, failed=True)
