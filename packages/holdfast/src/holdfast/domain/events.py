"""What readers are told of a chat, as values: built field by field, so that nothing internal gets
out (R6, L63): no provider's own blocks, no system prompts, no owner, no epoch.

A commit is told as a bundle, in this order, each event with its `place` in it:

    0        history_reset     what the reader knows from a seq on is no longer in the history
    1 … n    message           the messages of this revision that people may see
    n + 1    preview_reset     what was said live is no longer valid and became no message
    n + 2    status            absolute; takes back any retry, error or action before it
    n + 3    retry             a wait between two attempts, with the delay that is slept
    n + 4    error             why the turn failed
    n + 5    action_required   the turn waits for a person or a client
    n + 6    queue             absolute

Places are the same whether the bundle comes from a commit or is made up from rows for a reader that
was away, so that a cursor may point into the middle of one. `part`, `lagged` and `ping` are no part
of a commit. A new reader gets a reset and the end of the history.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Final, get_args

from holdfast.domain.chat import Chat, QueuedMessage, Status, TurnError
from holdfast.domain.ids import Seq
from holdfast.domain.messages import Message, MessageBody, Role, Takeover, Visibility
from holdfast.domain.parts import Context, JsonObject, JsonValue, Part, ToolCall


class EventKind(StrEnum):
    HISTORY_RESET = "history_reset"
    MESSAGE = "message"
    PREVIEW_RESET = "preview_reset"
    STATUS = "status"
    RETRY = "retry"
    ERROR = "error"
    ACTION_REQUIRED = "action_required"
    QUEUE = "queue"
    PART = "part"
    LAGGED = "lagged"
    PING = "ping"


@dataclass(frozen=True, slots=True)
class ReaderEvent:
    """One event of a bundle."""

    kind: EventKind
    place: int
    data: JsonObject


def of_commit(
    before: Chat, chat: Chat, messages: Sequence[Message], hidden_from: Seq | None = None
) -> list[ReaderEvent]:
    """What a reader at the version before must be told of a commit. `messages` are all it wrote."""
    told = [history_reset(hidden_from)] if hidden_from is not None else []
    said = messages_told(messages)
    told += said
    return told + _state(chat, len(said), set(_changed(before, chat)))


def of_state(chat: Chat, messages_before: int) -> list[ReaderEvent]:
    """Where a chat stands, for a reader that knows its history; behind so many messages."""
    return _state(chat, messages_before, _ABSOLUTE)


def history_reset(hidden_from: Seq, older: Seq | None = None) -> ReaderEvent:
    """`older`: there are messages before this seq that a snapshot left out; page for them."""
    return ReaderEvent(EventKind.HISTORY_RESET, 0, {"from": hidden_from, "older": older})


def messages_told(messages: Sequence[Message]) -> list[ReaderEvent]:
    """The messages of one revision that people may see, at their places."""
    shown = [message for message in messages if is_shown(message.body)]
    return [
        ReaderEvent(EventKind.MESSAGE, place, message_json(message))
        for place, message in enumerate(shown, start=1)
    ]


def is_shown(body: MessageBody) -> bool:
    return body.visibility is not Visibility.MODEL and body.role is not Role.SYSTEM


def _changed(before: Chat, chat: Chat) -> Iterator[EventKind]:
    if _ends_preview(before, chat):
        yield EventKind.PREVIEW_RESET
    if _standing(before) != _standing(chat):
        yield from _OF_STANDING
    if chat.queue_version == chat.version:
        yield EventKind.QUEUE


def _ends_preview(before: Chat, chat: Chat) -> bool:
    """Whether an attempt is over that became no message: another begins, or the turn ends."""
    if chat.history_version != before.history_version:
        return False
    at_rest = chat.status not in {Status.RUNNING, Status.INTERRUPTING}
    return before.attempt > 0 and (chat.attempt != before.attempt or at_rest)


def _standing(chat: Chat) -> tuple[object, ...]:
    return (
        *(chat.status, chat.archived, chat.attempt, chat.model, chat.effort),
        *(chat.error, chat.backoff, chat.awaiting),
    )


def _state(chat: Chat, messages_before: int, kinds: AbstractSet[EventKind]) -> list[ReaderEvent]:
    told: list[ReaderEvent] = []
    for place, (kind, data_of) in enumerate(STATE.items(), start=messages_before + 1):
        data = data_of(chat) if kind in kinds else None
        if data is not None:
            told.append(ReaderEvent(kind, place, data))
    return told


# Allow-lists: a field that is not named here is not told.


def message_json(message: Message) -> JsonObject:
    body = message.body
    told: dict[str, JsonValue] = {
        "seq": message.seq,
        "role": body.role.value,
        "ending": body.ending.value,
        "parts": parts_json(body),
        "model": body.model,
        "effort": body.effort,
        "author_id": None if body.author_id is None else str(body.author_id),
        "usage": body.usage,
        "cost_micros": body.cost_micros,
        "created_at": message.created_at.isoformat(),
        "revision": message.revision,
    }
    if body.takeover is not None:  # nearly never
        told["takeover"] = takeover_json(body.takeover)
    return told


def takeover_json(takeover: Takeover) -> JsonObject:
    return {
        "attempt": takeover.attempt,
        "lost_workers": takeover.lost_workers,
        "after_s": takeover.after_s,
        "kept": takeover.kept,
        "calls": [
            {"call_id": call.call_id, "tool": call.tool, "fate": call.fate.value}
            for call in takeover.calls
        ],
    }


def _preview_reset_json(chat: Chat) -> JsonObject:
    return {"attempt": chat.attempt}


def _status_json(chat: Chat) -> JsonObject:
    return {
        "status": chat.status.value,
        "archived": chat.archived,
        "attempt": chat.attempt,
        "model": chat.model,
        "effort": chat.effort,
    }


def _queue_json(chat: Chat) -> JsonObject:
    return {"messages": [_queued_json(queued) for queued in chat.queue]}


def _queued_json(queued: QueuedMessage) -> JsonObject:
    head = queued.head
    return {
        "queued_id": queued.queued_id,
        "urgent": queued.urgent,
        "parts": parts_json(head),
        "bytes": queued.bytes,
        "cut": queued.cut,
        "model": head.model,
        "effort": head.effort,
        "author_id": None if head.author_id is None else str(head.author_id),
    }


HIDDEN_FIELDS: Final = frozenset({"native", "then"})
_FIELDS: Final[Mapping[type[Part], tuple[str, ...]]] = {
    part: tuple(field.name for field in fields(part) if field.name not in HIDDEN_FIELDS)
    for part in get_args(Part)
}


def parts_json(body: MessageBody) -> list[JsonValue]:
    # What the server tells the model beside the user's words is for the model.
    return [_part_json(part) for part in body.parts if not isinstance(part, Context)]


def _part_json(part: Part) -> JsonObject:
    told: dict[str, JsonValue] = {name: _plain(getattr(part, name)) for name in _FIELDS[type(part)]}
    if isinstance(part, ToolCall) and (exact := exact_arguments(part.arguments)):
        told["exact_arguments"] = exact
    return told


INTEGER_MAX: Final = 2**53 - 1
"""The largest integer up to which a double holds every one."""


def exact_arguments(arguments: JsonObject) -> dict[str, JsonValue]:
    """Arguments with a number that a reader of doubles (a browser) would show as another one, as
    the JSON text of what runs (L151). Nearly always empty."""
    return {
        name: json.dumps(value, ensure_ascii=False, default=dict)
        for name, value in arguments.items()
        if not _is_exact_as_double(value)
    }


def _is_exact_as_double(value: JsonValue) -> bool:
    match value:
        case bool() | str() | None:
            return True
        case int() | float():
            return abs(value) <= INTEGER_MAX and str(value) != "-0.0"
        case Mapping():
            return all(map(_is_exact_as_double, value.values()))
        case _:
            return all(map(_is_exact_as_double, value))


def _plain(value: "JsonValue | datetime | StrEnum") -> JsonValue:
    match value:
        case datetime():
            return value.isoformat()
        case StrEnum():
            return value.value
        case _:
            return value


def _failure_json(chat: Chat) -> JsonObject | None:
    return None if chat.error is None else _error_json(chat.error)


def _error_json(error: TurnError) -> JsonObject:
    return {
        "kind": error.kind.value,
        "sentence": error.sentence,
        "provider": error.provider,
        "status_code": error.status_code,
        "retryable": error.retryable,
    }


def _retry_json(chat: Chat) -> JsonObject | None:
    if chat.backoff is None:
        return None
    return {
        "attempt": chat.attempt,
        "delay_ms": chat.backoff.delay_ms,
        "until": chat.backoff.until.isoformat(),
        "error": _error_json(chat.backoff.error),
    }


def _action_json(chat: Chat) -> JsonObject | None:
    awaiting = chat.awaiting
    if awaiting is None:
        return None
    calls = [call for call in chat.open_calls if call.call_id in awaiting.calls]
    return {
        "kind": awaiting.kind.value,
        "calls": [
            {"call_id": c.call_id, "tool": c.tool, "seq": c.seq, "digest": c.digest} for c in calls
        ],
        "deadline": None if awaiting.deadline is None else awaiting.deadline.isoformat(),
    }


_OF_STANDING: Final = (
    EventKind.STATUS,
    EventKind.RETRY,
    EventKind.ERROR,
    EventKind.ACTION_REQUIRED,
)
STATE: Final[Mapping[EventKind, Callable[[Chat], JsonObject | None]]] = {
    EventKind.PREVIEW_RESET: _preview_reset_json,
    EventKind.STATUS: _status_json,
    EventKind.RETRY: _retry_json,
    EventKind.ERROR: _failure_json,
    EventKind.ACTION_REQUIRED: _action_json,
    EventKind.QUEUE: _queue_json,
}
"""The state of a chat, an event for each kind, in the order of their places. A new kind is the last
one: cursors of readers that are away name the places of the others. None: it is not sent."""
_ABSOLUTE: Final = STATE.keys() - {EventKind.PREVIEW_RESET}
