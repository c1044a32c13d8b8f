"""What a stream tells, typed: one class per kind. What the kinds mean: docs/reference/events.md."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

from pydantic import Field, ValidationError

from holdfast.sdk import models
from holdfast.sdk.models import Model

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
class OtherEvent(_Told):
    """Of a kind, or in a form, that this version does not know."""

    data: Data
    kind: str


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

_KINDS: Final[Mapping[str, tuple[Callable[..., Event], type[Model]]]] = {
    "history_reset": (HistoryResetEvent, HistoryReset),
    "message": (MessageEvent, models.Message),
    "preview_reset": (PreviewResetEvent, PreviewReset),
    "status": (StatusEvent, StatusNow),
    "retry": (RetryEvent, models.Retry),
    "error": (ErrorEvent, models.TurnError),
    "action_required": (ActionRequiredEvent, models.ActionRequired),
    "queue": (QueueEvent, QueueNow),
    "part": (PartEvent, LivePart),
    "lagged": (LaggedEvent, Nothing),
    "ping": (PingEvent, Nothing),
}


def event_of(envelope: Data) -> Event:
    kind, cursor, data = envelope["event"], envelope.get("id"), envelope["data"]
    known = _KINDS.get(kind)
    if known is None:
        return OtherEvent(cursor, envelope, data, kind)
    made, shape = cast("tuple[Callable[..., Event], type[Model]]", known)
    try:
        return made(cursor, envelope, shape.model_validate(data))
    except ValidationError:
        return OtherEvent(cursor, envelope, data, kind)
