"""What a stream tells, typed: one class per kind. What the kinds mean: docs/reference/events.md."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast, get_args, get_type_hints

from pydantic import Field, ValidationError

from holdfast_client import models
from holdfast_client.models import Model

Data: TypeAlias = dict[str, Any]


class HistoryReset(Model):
    from_: int = Field(alias="from")
    older: int | None = None


class PreviewReset(Model):
    attempt: int


class StatusNow(Model):
    status: str
    archived: bool = False
    attempt: int = 0
    model: str | None = None
    effort: str | None = None


class QueueNow(Model):
    messages: list[models.QueuedMessage]


class Delta(Model):
    kind: str
    index: int | None = None
    text: str | None = None
    call_id: str | None = None
    tool: str | None = None


class LivePart(Model):
    attempt: int
    seq: int
    deltas: list[Delta]


class ChatList(Model):
    chats: list[models.ChatEntry]
    after: str | None = None


class ChatGone(Model):
    """`reason`: archived, unshared."""

    chat_id: str
    reason: str


class Nothing(Model):
    pass


@dataclass(frozen=True, slots=True)
class _Told:
    """`id`: the cursor after this event; None leaves the reader where it was.

    `raw`: the envelope as the server sent it, `{"event", "id", "data"}`.
    """

    id: str | None
    raw: Data


@dataclass(frozen=True, slots=True)
class HistoryResetEvent(_Told):
    data: HistoryReset
    kind: Literal["history_reset"] = "history_reset"


@dataclass(frozen=True, slots=True)
class MessageEvent(_Told):
    data: models.Message
    kind: Literal["message"] = "message"


@dataclass(frozen=True, slots=True)
class PreviewResetEvent(_Told):
    data: PreviewReset
    kind: Literal["preview_reset"] = "preview_reset"


@dataclass(frozen=True, slots=True)
class StatusEvent(_Told):
    data: StatusNow
    kind: Literal["status"] = "status"


@dataclass(frozen=True, slots=True)
class RetryEvent(_Told):
    data: models.Retry
    kind: Literal["retry"] = "retry"


@dataclass(frozen=True, slots=True)
class ErrorEvent(_Told):
    data: models.TurnError
    kind: Literal["error"] = "error"


@dataclass(frozen=True, slots=True)
class ActionRequiredEvent(_Told):
    data: models.ActionRequired
    kind: Literal["action_required"] = "action_required"


@dataclass(frozen=True, slots=True)
class QueueEvent(_Told):
    data: QueueNow
    kind: Literal["queue"] = "queue"


@dataclass(frozen=True, slots=True)
class PartEvent(_Told):
    data: LivePart
    kind: Literal["part"] = "part"

    @property
    def text(self) -> str:
        """What this adds to the answer itself; not reasoning, not arguments."""
        return "".join(delta.text or "" for delta in self.data.deltas if delta.kind == "text")


@dataclass(frozen=True, slots=True)
class LaggedEvent(_Told):
    data: Nothing
    kind: Literal["lagged"] = "lagged"


@dataclass(frozen=True, slots=True)
class PingEvent(_Told):
    data: Nothing
    kind: Literal["ping"] = "ping"


@dataclass(frozen=True, slots=True)
class ChatsEvent(_Told):
    """Of `watch`: the newest chats, to begin with."""

    data: ChatList
    kind: Literal["chats"] = "chats"


@dataclass(frozen=True, slots=True)
class ChatEvent(_Told):
    data: models.ChatEntry
    kind: Literal["chat"] = "chat"


@dataclass(frozen=True, slots=True)
class ChatGoneEvent(_Told):
    data: ChatGone
    kind: Literal["chat_gone"] = "chat_gone"


@dataclass(frozen=True, slots=True)
class OtherEvent(_Told):
    """Of a kind, or in a form, that this version does not know: see `raw["event"]`."""

    data: Data
    kind: Literal["other"] = "other"


Event: TypeAlias = (
    HistoryResetEvent
    | MessageEvent
    | PreviewResetEvent
    | StatusEvent
    | RetryEvent
    | ErrorEvent
    | ActionRequiredEvent
    | QueueEvent
    | PartEvent
    | LaggedEvent
    | PingEvent
    | OtherEvent
)

WatchEvent: TypeAlias = ChatsEvent | ChatEvent | ChatGoneEvent | PingEvent | OtherEvent

_Kinds: TypeAlias = Mapping[str, tuple[Callable[..., Event | WatchEvent], type[Model]]]


def _by_kind(*events: type[Event | WatchEvent]) -> _Kinds:
    """The class of each kind, and that of its data, as its annotations have them."""
    hints = {event: get_type_hints(event) for event in events if event is not OtherEvent}
    return {get_args(each["kind"])[0]: (event, each["data"]) for event, each in hints.items()}


_KINDS: Final = _by_kind(*get_args(Event))
_WATCH_KINDS: Final = _by_kind(*get_args(WatchEvent))


def event_of(envelope: Data) -> Event:
    """Of a chat."""
    return cast("Event", _typed(envelope, _KINDS))


def watch_event_of(envelope: Data) -> WatchEvent:
    """Of one's list of chats."""
    return cast("WatchEvent", _typed(envelope, _WATCH_KINDS))


def _typed(envelope: Data, kinds: _Kinds) -> Event | WatchEvent:
    kind, cursor, data = envelope["event"], envelope.get("id"), envelope["data"]
    if kind not in kinds:
        return OtherEvent(cursor, envelope, data)
    made, shape = kinds[kind]
    try:
        return made(cursor, envelope, shape.model_validate(data))
    except ValidationError:
        return OtherEvent(cursor, envelope, data)
