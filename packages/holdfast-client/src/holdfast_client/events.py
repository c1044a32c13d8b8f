"""What a stream tells, typed: one class per type. What they mean: docs/reference/events.md."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast, get_args, get_type_hints

from pydantic import ValidationError

from holdfast_client import models
from holdfast_client.models import Model

Data: TypeAlias = dict[str, Any]


class HistoryResetData(Model):
    """`reason`: snapshot, edit, restore."""

    from_seq: int
    older_before_seq: int | None = None
    reason: str


class PreviewResetData(Model):
    """`reason`: retry, ended, unknown."""

    attempt: int
    reason: str


class ChatStateData(Model):
    """`status`: idle, running, interrupting, awaiting, failed. None: there is none."""

    status: str
    turn_seq: int | None = None
    attempt: int = 0
    model: str | None = None
    effort: str | None = None
    web: bool | None = None
    plan_mode: bool = False
    archived: bool = False
    retry: models.Retry | None = None
    error: models.TurnError | None = None
    action_required: models.ActionRequired | None = None
    compaction: models.PendingCompaction | None = None


class QueueData(Model):
    messages: list[models.QueuedMessage]
    paused: bool = False


class Delta(Model):
    """`type`: text, reasoning, tool_call, arguments, tool_output, summary_started, summary,
    summary_ended. Each type has some of these."""

    type: str
    index: int | None = None
    text: str | None = None
    call_id: str | None = None
    tool_name: str | None = None
    reason: str | None = None
    error: str | None = None


class PreviewDeltaData(Model):
    """`turn_seq`: the user message that began the turn."""

    turn_seq: int | None = None
    attempt: int
    index: int
    deltas: list[Delta]


class ChatsSnapshotData(Model):
    chats: list[models.ChatSummary]
    after: str | None = None


class ChatRemovedData(Model):
    """`reason`: archived, unshared, deleted."""

    chat_id: str
    reason: str


class EmptyData(Model):
    pass


@dataclass(frozen=True, slots=True)
class _Envelope:
    """`cursor`: where the reader is after this event; None leaves it where it was. `version`: the
    commit that it tells of. `final`: the last event of that commit, or of a snapshot.

    `raw`: the envelope as the server sent it.
    """

    cursor: str | None
    version: int | None
    final: bool
    raw: Data


@dataclass(frozen=True, slots=True)
class HistoryReset(_Envelope):
    data: HistoryResetData
    type: Literal["history.reset"] = "history.reset"


@dataclass(frozen=True, slots=True)
class MessageCreated(_Envelope):
    data: models.Message
    type: Literal["message.created"] = "message.created"


@dataclass(frozen=True, slots=True)
class PreviewReset(_Envelope):
    data: PreviewResetData
    type: Literal["preview.reset"] = "preview.reset"


@dataclass(frozen=True, slots=True)
class ChatState(_Envelope):
    data: ChatStateData
    type: Literal["chat.state"] = "chat.state"


@dataclass(frozen=True, slots=True)
class QueueUpdated(_Envelope):
    data: QueueData
    type: Literal["queue.updated"] = "queue.updated"


@dataclass(frozen=True, slots=True)
class PreviewDelta(_Envelope):
    data: PreviewDeltaData
    type: Literal["preview.delta"] = "preview.delta"

    @property
    def text(self) -> str:
        """What this adds to the answer itself; not reasoning, not arguments."""
        return "".join(delta.text or "" for delta in self.data.deltas if delta.type == "text")


@dataclass(frozen=True, slots=True)
class Ping(_Envelope):
    """`version`: every commit up to this one was told; None: not known."""

    data: EmptyData
    type: Literal["ping"] = "ping"


@dataclass(frozen=True, slots=True)
class ChatsSnapshot(_Envelope):
    """Of `watch`: the newest chats, to begin with."""

    data: ChatsSnapshotData
    type: Literal["chats.snapshot"] = "chats.snapshot"


@dataclass(frozen=True, slots=True)
class ChatUpdated(_Envelope):
    data: models.ChatSummary
    type: Literal["chat.updated"] = "chat.updated"


@dataclass(frozen=True, slots=True)
class ChatRemoved(_Envelope):
    data: ChatRemovedData
    type: Literal["chat.removed"] = "chat.removed"


@dataclass(frozen=True, slots=True)
class UnknownEvent(_Envelope):
    """Of a type, or in a form, that this version does not know: see `raw["type"]`."""

    data: Data
    type: Literal["unknown"] = "unknown"


Event: TypeAlias = (
    HistoryReset
    | MessageCreated
    | PreviewReset
    | ChatState
    | QueueUpdated
    | PreviewDelta
    | Ping
    | UnknownEvent
)

WatchEvent: TypeAlias = ChatsSnapshot | ChatUpdated | ChatRemoved | Ping | UnknownEvent

_Types: TypeAlias = Mapping[str, tuple[Callable[..., Event | WatchEvent], type[Model]]]


def _by_type(*events: type[Event | WatchEvent]) -> _Types:
    """The class of each type, and that of its data, as its annotations have them."""
    hints = {event: get_type_hints(event) for event in events if event is not UnknownEvent}
    return {get_args(each["type"])[0]: (event, each["data"]) for event, each in hints.items()}


_TYPES: Final = _by_type(*get_args(Event))
_WATCH_TYPES: Final = _by_type(*get_args(WatchEvent))


def event_of(envelope: Data) -> Event:
    """Of a chat."""
    return cast("Event", _typed(envelope, _TYPES))


def watch_event_of(envelope: Data) -> WatchEvent:
    """Of one's list of chats."""
    return cast("WatchEvent", _typed(envelope, _WATCH_TYPES))


def _typed(envelope: Data, types: _Types) -> Event | WatchEvent:
    head = (envelope["cursor"], envelope["version"], envelope["final"], envelope)
    data = envelope["data"]
    if envelope["type"] not in types:
        return UnknownEvent(*head, data)
    made, shape = types[envelope["type"]]
    try:
        return made(*head, shape.model_validate(data))
    except ValidationError:
        return UnknownEvent(*head, data)
