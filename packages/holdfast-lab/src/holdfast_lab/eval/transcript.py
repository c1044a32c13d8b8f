"""The messages of a run, short enough to keep and to read."""

from collections.abc import Sequence
from typing import Any, Final

from holdfast_client.models import (
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

TEXT_MAX: Final = 4_000
"""Characters of each text; the middle is left out."""


def transcript_of(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """One entry for each part: its role, its kind and its text."""
    return [
        {"seq": message.seq, "role": message.role, **entry}
        for message in messages
        for part in message.parts
        if (entry := _entry(part)) is not None
    ]


def _entry(part: object) -> dict[str, Any] | None:
    match part:
        case TextPart(text=text):
            return {"kind": "text", "text": short(text)}
        case ReasoningPart(text=text) if text:
            return {"kind": "reasoning", "text": short(text)}
        case ToolCallPart():
            arguments = "\n".join(f"{name}: {value}" for name, value in part.arguments.items())
            return {"kind": "call", "tool": part.tool_name, "text": short(arguments)}
        case ToolResultPart():
            text = short(str(part.output))
            return {"kind": "result", "tool": part.tool_name, "text": text, "error": part.is_error}
        case _:
            return None


def short(text: str) -> str:
    if len(text) <= TEXT_MAX:
        return text
    half = TEXT_MAX // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"
