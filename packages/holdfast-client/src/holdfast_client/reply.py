"""What came of a turn."""

from dataclasses import dataclass
from typing import TypeAlias

from pydantic import TypeAdapter

from holdfast_client.models import ActionRequired, Message, ToolCallPart, TurnError
from holdfast_client.view import ChatView

_MESSAGES: TypeAlias = list[Message]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """`messages`: those after the last one that a user said. `text`: of the last answer."""

    chat_id: str
    status: str
    text: str
    messages: list[Message]
    error: TurnError | None = None
    awaiting: ActionRequired | None = None

    def call(self, call_id: str) -> ToolCallPart | None:
        return next(
            (
                part
                for message in self.messages
                for part in message.parts
                if isinstance(part, ToolCallPart) and part.call_id == call_id
            ),
            None,
        )


def reply_of(chat_id: str, view: ChatView, status: str) -> Reply:
    first = next(
        (at for at in range(len(view.messages), 0, -1) if view.messages[at - 1]["role"] == "user"),
        0,
    )
    messages = TypeAdapter(_MESSAGES).validate_python(view.messages[first:])
    said = [message.text for message in messages if message.role == "assistant" and message.text]
    return Reply(
        chat_id=chat_id,
        status=status,
        text=said[-1] if said else "",
        messages=messages,
        error=None if view.error is None else TurnError.model_validate(view.error),
        awaiting=None if view.action is None else ActionRequired.model_validate(view.action),
    )
