"""What readers are told of a chat, as values: built field by field, so that nothing internal gets
out (R6, L63): no provider's own blocks, no system prompts, no owner, no epoch.

A commit is told as a bundle, in this order, each event with its `place` in it:

    0        history.reset     what the reader knows from a seq on is no longer in the history
    1 … n    message.created   the messages of this revision that people may see
    n + 1    preview.reset     what was said live is no longer valid and became no message
    n + 2    chat.state        absolute: status, attempt, retry, error, action
    n + 3    queue.updated     absolute

Places are the same whether the bundle comes from a commit or is made up from rows for a reader that
was away, so that a cursor may point into the middle of one. `preview.delta`, `ping` and `closed`
are no part of a commit. A new reader gets a reset and the end of the history.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Final, get_args

from holdfast.domain.chat import Chat, OpenCall, QueuedMessage, Status, TurnError
from holdfast.domain.compaction import Compaction, CompactionReason
from holdfast.domain.format import citations_to_json
from holdfast.domain.heads import stored_bytes
from holdfast.domain.ids import QueuedId, Seq
from holdfast.domain.messages import (
    TIER,
    Ending,
    FinishReason,
    Message,
    MessageBody,
    Role,
    Takeover,
    Visibility,
)
from holdfast.domain.parts import (
    Context,
    JsonObject,
    JsonValue,
    Need,
    Part,
    Text,
    ToolCall,
    ToolResult,
)
from holdfast.domain.public_ids import USER_ID
from holdfast.domain.times import wire_time


class EventType(StrEnum):
    HISTORY_RESET = "history.reset"
    MESSAGE_CREATED = "message.created"
    PREVIEW_RESET = "preview.reset"
    CHAT_STATE = "chat.state"
    QUEUE_UPDATED = "queue.updated"
    PREVIEW_DELTA = "preview.delta"
    PING = "ping"
    CLOSED = "closed"


class ResetReason(StrEnum):
    """Why messages leave the view of a reader."""

    SNAPSHOT = "snapshot"
    EDIT = "edit"
    RESTORE = "restore"


class PreviewEnd(StrEnum):
    """Why a preview is discarded. `UNKNOWN`: a reader that was away may have seen parts of another
    attempt than the one that made the next message."""

    RETRY = "retry"
    ENDED = "ended"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ReaderEvent:
    """One event of a bundle."""

    kind: EventType
    place: int
    data: JsonObject


def of_commit(
    before: Chat, chat: Chat, messages: Sequence[Message], hidden_from: Seq | None = None
) -> list[ReaderEvent]:
    """What a reader at the version before must be told of a commit. `messages` are all it wrote."""
    # A restore is not told from a commit: its messages are known to the database only.
    told = [history_reset(hidden_from, ResetReason.EDIT)] if hidden_from is not None else []
    said = messages_told(messages)
    told += said
    return told + _state(chat, len(said), set(_changed(before, chat)))


def of_state(chat: Chat, messages_before: int) -> list[ReaderEvent]:
    """Where a chat stands, for a reader that knows its history; behind so many messages."""
    return _state(chat, messages_before, _ABSOLUTE)


def history_reset(
    hidden_from: Seq, reason: ResetReason, older_before: Seq | None = None
) -> ReaderEvent:
    """`older_before`: a snapshot left out the messages before this seq; page for them."""
    data: JsonObject = {
        "from_seq": hidden_from,
        "older_before_seq": older_before,
        "reason": reason.value,
    }
    return ReaderEvent(EventType.HISTORY_RESET, 0, data)


def messages_told(messages: Sequence[Message]) -> list[ReaderEvent]:
    """The messages of one revision that people may see, at their places."""
    shown = [message for message in messages if is_shown(message.body)]
    return [
        ReaderEvent(EventType.MESSAGE_CREATED, place, message_json(message))
        for place, message in enumerate(shown, start=1)
    ]


def is_shown(body: MessageBody) -> bool:
    return body.visibility is not Visibility.MODEL and body.role is not Role.SYSTEM


def _changed(before: Chat, chat: Chat) -> Iterator[EventType]:
    if _ends_preview(before, chat):
        yield EventType.PREVIEW_RESET
    if _standing(before) != _standing(chat):
        yield EventType.CHAT_STATE
    if chat.queue_version == chat.version:
        yield EventType.QUEUE_UPDATED


def _ends_preview(before: Chat, chat: Chat) -> bool:
    """Whether an attempt is over that became no message: another begins, or the turn ends."""
    if chat.history_version != before.history_version:
        return False
    return before.attempt > 0 and (chat.attempt != before.attempt or _is_at_rest(chat))


def _is_at_rest(chat: Chat) -> bool:
    return chat.status not in {Status.RUNNING, Status.INTERRUPTING}


def _standing(chat: Chat) -> tuple[object, ...]:
    return (
        *(chat.status, chat.archived, chat.turn_seq, chat.attempt, chat.model, chat.effort),
        *(chat.web, chat.plan_mode, chat.error, chat.backoff, chat.awaiting),
        chat.compaction_requested,
    )


def _state(chat: Chat, messages_before: int, kinds: AbstractSet[EventType]) -> list[ReaderEvent]:
    told: list[ReaderEvent] = []
    for place, (kind, data_of) in enumerate(STATE.items(), start=messages_before + 1):
        if kind in kinds:
            told.append(ReaderEvent(kind, place, data_of(chat)))
    return told


# Allow-lists: a field that is not named here is not told.


def message_json(message: Message) -> JsonObject:
    body = message.body
    told: dict[str, JsonValue] = {
        "seq": message.seq,
        "role": "summary" if body.role is Role.BOUNDARY else body.role.value,
        "finish_reason": _FINISH_REASONS[body.ending].value,
        "parts": parts_json(body),
        "model": body.model,
        "effort": body.effort,
        "author_id": _author(body),
        "usage": None if body.usage is None else usage_json(body.usage),
        "cost_micro_usd": body.cost_micros,
        "created_at": wire_time(message.created_at),
        "version": message.revision,
        "turn_seq": message.turn_seq,
        "queued_id": message.queued_id,
        "attempt": message.attempt,
        "client_key": body.client_key,
    }
    if body.web is not None:
        told["web"] = body.web
    if body.plan_mode is not None:
        told["plan_mode"] = body.plan_mode
    if body.takeover is not None:  # nearly never
        told["takeover"] = _takeover_json(body.takeover)
    return told


def _author(body: MessageBody) -> str | None:
    return None if body.author_id is None else USER_ID.encode(body.author_id)


def usage_json(usage: Mapping[str, int]) -> JsonObject:
    """Tokens in terms that all providers share. null: the provider reported none."""
    written = [usage[name] for name in _CACHE_WRITES if name in usage]
    tiers = [name.removeprefix(TIER) for name in usage if name.startswith(TIER)]
    return {
        **({"service_tier": tiers[0]} if tiers else {}),
        "input_tokens": usage.get("input"),
        "output_tokens": usage.get("output"),
        "reasoning_tokens": usage.get("reasoning"),
        "cache_read_tokens": usage.get("cache_read"),
        "cache_write_tokens": sum(written) if written else None,
    }


def _takeover_json(takeover: Takeover) -> JsonObject:
    return {
        "attempt": takeover.attempt,
        "lost_workers": takeover.lost_workers,
        "after_seconds": takeover.after_s,
        "kept": takeover.kept,
        "calls": [
            {"call_id": call.call_id, "tool_name": call.tool, "fate": call.fate.value}
            for call in takeover.calls
        ],
    }


def _preview_reset_json(chat: Chat) -> JsonObject:
    reason = PreviewEnd.ENDED if _is_at_rest(chat) else PreviewEnd.RETRY
    return {"attempt": chat.attempt, "reason": reason.value}


def state_json(chat: Chat) -> JsonObject:
    """`chat.state`: where the chat stands, whole. It replaces the one before."""
    told: dict[str, JsonValue] = {
        "status": chat.status.value,
        "turn_seq": chat.turn_seq,
        "attempt": chat.attempt,
        "model": chat.model,
        "effort": chat.effort,
        "web": chat.web,
        "plan_mode": chat.plan_mode,
        "archived": chat.archived,
        "retry": _retry_json(chat),
        "error": _failure_json(chat),
        "action_required": _action_json(chat),
    }
    if chat.compaction_requested:  # seldom
        told["compaction"] = _compaction_json(chat.compaction or _REQUESTED)
    return told


def _compaction_json(decided: Compaction) -> JsonObject:
    return {
        "reason": decided.reason.value,
        "used_tokens": decided.used_tokens,
        "limit_tokens": decided.limit_tokens,
        "threshold_tokens": decided.threshold_tokens,
    }


_REQUESTED: Final = Compaction(reason=CompactionReason.REQUESTED)
"""As an older replica leaves it: it stores no reason."""


def queue_json(chat: Chat) -> JsonObject:
    return {
        "messages": [queued_json(queued) for queued in chat.queue],
        "paused": chat.queue_paused,
    }


def queued_json(queued: QueuedMessage) -> JsonObject:
    head = queued.head
    told: dict[str, JsonValue] = {
        "queued_id": queued.queued_id,
        "send_now": queued.urgent,
        "parts": parts_json(head),
        "bytes": queued.bytes,
        "truncated": queued.cut,
        "model": head.model,
        "effort": head.effort,
        "author_id": _author(head),
        "client_key": head.client_key,
    }
    if head.web is not None:
        told["web"] = head.web
    if head.plan_mode is not None:
        told["plan_mode"] = head.plan_mode
    return told


def removed_json(queued_id: QueuedId, body: MessageBody) -> JsonObject:
    """A message that was taken out of the queue, the whole of it."""
    size = stored_bytes(body.parts)
    queued = QueuedMessage(queued_id=queued_id, position=0, urgent=False, head=body, bytes=size)
    return queued_json(queued)


HIDDEN_FIELDS: Final = frozenset({"native", "then"})
_FIELDS: Final[Mapping[type[Part], tuple[str, ...]]] = {
    part: tuple(field.name for field in fields(part) if field.name not in HIDDEN_FIELDS)
    for part in get_args(Part)
}
_WIRE_NAMES: Final[Mapping[str, str]] = {
    "kind": "type",
    "tool": "tool_name",
    "failed": "is_error",
    "synthetic": "synthetic_reason",
    "needs": "action_required",
    "runs_at": "executed_by",
}
"""Fields whose name on the wire is not the stored one."""
_FINISH_REASONS: Final[Mapping[Ending, FinishReason]] = {
    Ending.COMPLETE: FinishReason.STOP,
    Ending.INTERRUPTED: FinishReason.INTERRUPTED,
    Ending.LENGTH: FinishReason.LENGTH,
    Ending.CUT: FinishReason.PROVIDER_ERROR,
    Ending.PAUSED: FinishReason.PAUSED,
}
_CACHE_WRITES: Final = ("cache_write_5m", "cache_write_1h")
_BY_CLIENT: Final = frozenset({Need.RESULT, Need.ANSWER})


def parts_json(body: MessageBody) -> list[JsonValue]:
    # What the server tells the model beside the user's words is for the model.
    return [_part_json(part) for part in body.parts if not isinstance(part, Context)]


def _part_json(part: Part) -> JsonObject:
    told = {
        _WIRE_NAMES.get(name, name): _plain(getattr(part, name)) for name in _FIELDS[type(part)]
    }
    if isinstance(part, ToolCall):
        told["action_required"] = None if part.needs is Need.NOTHING else part.needs.value
        told["executed_by"] = _executed_by(part)
        if exact := exact_arguments(part.arguments):
            told["exact_arguments"] = exact
    elif isinstance(part, Text):
        told["citations"] = citations_to_json(part)
    elif isinstance(part, ToolResult):
        told["executed_by"] = "server" if part.runs_at == "here" else part.runs_at
        if not part.diff:
            del told["diff"]
    return told


def _executed_by(call: ToolCall) -> str:
    if call.runs_at == "provider":
        return "provider"
    return "client" if {call.needs, call.then} & _BY_CLIENT else "server"


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
            return wire_time(value)
        case StrEnum():
            return value.value
        case _:
            return value


def _failure_json(chat: Chat) -> JsonObject | None:
    return None if chat.error is None else _error_json(chat.error)


def _error_json(error: TurnError) -> JsonObject:
    return {
        "type": error.kind.value,
        "message": error.sentence,
        "provider": error.provider,
        "status_code": error.status_code,
        "retryable": error.retryable,
    }


def error_details_json(chat: Chat) -> JsonObject | None:
    """What the provider itself said of a failed turn, or of the attempt before a backoff. For
    admins only: no event carries it."""
    error = chat.error if chat.backoff is None else chat.backoff.error
    if error is None or error.detail is None:
        return None
    return {"detail": error.detail, "request_id": error.request_id}


def _retry_json(chat: Chat) -> JsonObject | None:
    if chat.backoff is None:
        return None
    return {
        "attempt": chat.attempt,
        "delay_ms": chat.backoff.delay_ms,
        "next_attempt_at": wire_time(chat.backoff.until),
        "model": chat.backoff.model,
        "error": _error_json(chat.backoff.error),
    }


def _action_json(chat: Chat) -> JsonObject | None:
    awaiting = chat.awaiting
    if awaiting is None:
        return None
    calls = [call for call in chat.open_calls if call.call_id in awaiting.calls]
    return {
        "type": awaiting.kind.value,
        "calls": [_awaited_call_json(call) for call in calls],
        "expires_at": None if awaiting.deadline is None else wire_time(awaiting.deadline),
    }


def _awaited_call_json(call: OpenCall) -> JsonObject:
    told: dict[str, JsonValue] = {
        "call_id": call.call_id,
        "tool_name": call.tool,
        "seq": call.seq,
        "arguments": call.arguments,
        "digest": call.digest,
    }
    if call.arguments is not None and (exact := exact_arguments(call.arguments)):
        told["exact_arguments"] = exact
    return told


STATE: Final[Mapping[EventType, Callable[[Chat], JsonObject]]] = {
    EventType.PREVIEW_RESET: _preview_reset_json,
    EventType.CHAT_STATE: state_json,
    EventType.QUEUE_UPDATED: queue_json,
}
"""The state of a chat, an event for each type, in the order of their places. A new type is the last
one: cursors of readers that are away name the places of the others."""
_ABSOLUTE: Final = STATE.keys() - {EventType.PREVIEW_RESET}
