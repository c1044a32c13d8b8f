"""The quiet line of a transcript: a worker was lost, and another one went on."""

from typing import Any, Final

HARMLESS: Final = frozenset({"joined", "not_started"})
"""Fates of calls that were not run twice, and whose outcome is known."""


def takeover_line(takeover: dict[str, Any]) -> str:
    lost, after_s = takeover["lost_workers"], takeover["after_seconds"]
    calls = takeover["calls"]
    repeated = [call["tool_name"] for call in calls if call["fate"] == "repeated"]
    unknown = sum(call["fate"] == "unknown" for call in calls)
    told = [
        "worker lost" if lost == 1 else f"{lost} workers lost",
        "continued" if after_s is None else f"continued after {after_s} s",
    ]
    if repeated:
        told.append(f"{_calls(len(repeated))} repeated: {', '.join(dict.fromkeys(repeated))}")
    if unknown:
        told.append(f"{_calls(unknown)} with unknown outcome")
    # Only if it is true; a newer server may have more fates.
    if all(call["fate"] in HARMLESS for call in calls):
        told.append("nothing repeated")
    return ", ".join(told)


def _calls(number: int) -> str:
    return "1 call" if number == 1 else f"{number} calls"
