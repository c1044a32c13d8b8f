"""The result of `advisor`: advice as prose, or in a word why there is none."""

from typing import Final, cast

ADVISOR: Final = "advisor"
_NONE: Final = {"limit_reached": "limit reached", "error": "no advice"}


def advice_of(tool: str, output: object) -> str | None:
    """None: another tool, or no advice."""
    match _told(tool, output):
        case {"type": "advice", "advice": str(words)}:
            return words
        case _:
            return None


def advice_brief(tool: str, output: object) -> str | None:
    """For one line. None: the output says it as it is."""
    match _told(tool, output):
        case {"type": "advice", "model": model, "remaining_uses": remaining}:
            left = "" if remaining is None else f", {remaining} left in this turn"
            return f"advice of {model}{left}"
        case {"type": "limit_reached" | "error" as kind, "message": str(words)}:
            return f"{_NONE[kind]}: {words}"
        case _:
            return None


def _told(tool: str, output: object) -> dict[str, object]:
    is_advice = tool == ADVISOR and isinstance(output, dict)
    return cast("dict[str, object]", output) if is_advice else {}
