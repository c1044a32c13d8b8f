"""What came of a turn."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from holdfast_client.models import ActionRequired, Message, ToolCallPart, TurnError, Usage

C = TypeVar("C")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Generic[C]):
    """`chat`: to go on with. `messages`: those of the turn after the user's. `text` and
    `finish_reason`: of the last answer. `usage` and `cost_micro_usd`: of the whole turn; None where
    the provider reported none. `action_required`: the turn waits for this."""

    chat: C
    chat_id: str
    turn_seq: int | None
    status: str
    text: str
    finish_reason: str | None
    messages: list[Message]
    usage: Usage
    cost_micro_usd: int | None = None
    error: TurnError | None = None
    action_required: ActionRequired | None = None

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


def reply_of(
    chat: C,
    chat_id: str,
    messages: Sequence[Message],
    *,
    turn_seq: int | None,
    status: str,
    error: TurnError | None = None,
    action_required: ActionRequired | None = None,
) -> Reply[C]:
    answers = [message for message in messages if message.role == "assistant"]
    said = [message.text for message in answers if message.text]
    return Reply(
        chat=chat,
        chat_id=chat_id,
        turn_seq=turn_seq,
        status=status,
        text=said[-1] if said else "",
        finish_reason=answers[-1].finish_reason if answers else None,
        messages=[message for message in messages if message.role != "user"],
        usage=_usage(messages),
        cost_micro_usd=_sum(message.cost_micro_usd for message in messages),
        error=error,
        action_required=action_required,
    )


def of_turn(messages: Iterable[Message], turn_seq: int) -> list[Message]:
    return [message for message in messages if message.turn_seq == turn_seq]


def of_last_turn(messages: Sequence[Message]) -> list[Message]:
    """Those from the last one on that a user sent."""
    first = next((at for at, each in reversed([*enumerate(messages)]) if each.role == "user"), 0)
    return list(messages[first:])


def _usage(messages: Iterable[Message]) -> Usage:
    reported = [message.usage for message in messages if message.usage is not None]
    return Usage(
        **{name: _sum(getattr(each, name) for each in reported) for name in Usage.model_fields}
    )


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
