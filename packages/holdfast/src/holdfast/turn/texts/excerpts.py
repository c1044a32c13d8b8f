"""What of a chat the model reads that writes about it: bounded, and only what people see."""

from collections.abc import Sequence
from typing import Final

from holdfast.domain.messages import Message, MessageBody, Role, Visibility
from holdfast.domain.parts import Text

TITLE_CHARS_MAX: Final = 1_000
LABEL_USER_CHARS_MAX: Final = 1_000
LABEL_REPLY_CHARS_MAX: Final = 4_000
SUMMARY_CHARS_MIN: Final = 200
SUMMARY_CHARS_MAX: Final = 16_000
MESSAGE_CHARS_MAX: Final = 4_000
TURNS_BETWEEN_SUMMARIES: Final = 3
_SPEAKERS: Final = {Role.USER: "User", Role.ASSISTANT: "Assistant", Role.BOUNDARY: "Summary"}
_CUT: Final = " … "


def first_user_message(messages: Sequence[Message]) -> Message | None:
    return next((each for each in messages if each.body.role is Role.USER), None)


def title_excerpt(message: Message) -> str | None:
    """Of the first message; None: there is nothing in it that a title could say."""
    text = _text(message.body)[:TITLE_CHARS_MAX]
    return _quoted([f"User: {text}"]) if text else None


def label_excerpt(messages: Sequence[Message]) -> str | None:
    """Of the last turn: what was asked, and the end of the last reply."""
    asked = next((each for each in reversed(messages) if each.body.role is Role.USER), None)
    replies = [_text(each.body) for each in messages if each.body.role is Role.ASSISTANT]
    reply = next((text for text in reversed(replies) if text), "")
    if not reply:
        return None
    lines = [] if asked is None else [f"User: {_text(asked.body)[:LABEL_USER_CHARS_MAX]}"]
    return _quoted([*lines, f"Assistant: {reply[-LABEL_REPLY_CHARS_MAX:]}"])


def summary_excerpt(messages: Sequence[Message]) -> str | None:
    """The beginning and the end of the chat; None: it is too short for a summary."""
    lines = [
        f"{_SPEAKERS[each.body.role]}: {_shortened(text, MESSAGE_CHARS_MAX)}"
        for each in messages
        if each.body.role in _SPEAKERS and (text := _text(each.body))
    ]
    transcript = "\n\n".join(lines)
    if len(transcript) < SUMMARY_CHARS_MIN:
        return None
    return _quoted([_shortened(transcript, SUMMARY_CHARS_MAX)])


def turns_since(messages: Sequence[Message], seq: int) -> int:
    return sum(each.body.role is Role.USER and each.seq > seq for each in messages)


def _text(body: MessageBody) -> str:
    if body.visibility is Visibility.MODEL:
        return ""
    return "\n".join(part.text for part in body.parts if isinstance(part, Text)).strip()


def _shortened(text: str, chars_max: int) -> str:
    """Its head and its tail."""
    if len(text) <= chars_max:
        return text
    half = (chars_max - len(_CUT)) // 2
    return f"{text[:half]}{_CUT}{text[-half:]}"


def _quoted(lines: Sequence[str]) -> str:
    said = "\n\n".join(lines).replace("</chat>", "")
    return f"<chat>\n{said}\n</chat>"
