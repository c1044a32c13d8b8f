"""The events of a stream, as OpenAPI has them: one class per kind, told apart by `event`.

What they mean stands in `docs/reference/events.md`. A test holds these against what is sent.
"""

from typing import Annotated, Literal, TypeAlias
from uuid import UUID

from pydantic import ConfigDict, Field

from holdfast.domain.chat import Status
from holdfast.web.shapes import (
    ActionRequired,
    ChatEntry,
    Error,
    Message,
    QueuedMessage,
    Retry,
    Shape,
)


class HistoryReset(Shape):
    model_config = ConfigDict(extra="forbid", serialize_by_alias=True)

    from_: int = Field(alias="from")
    older: int | None


class PreviewReset(Shape):
    attempt: int


class StatusNow(Shape):
    status: Status
    archived: bool
    attempt: int
    model: str | None
    effort: str | None


class QueueNow(Shape):
    messages: list[QueuedMessage]


class Delta(Shape):
    """`text`, `reasoning`, `arguments`: append to what is at `index`; `tool_call`: a call begins
    there; `tool_output`: append to what the running call shows."""

    kind: Literal["text", "reasoning", "tool_call", "arguments", "tool_output"]
    index: int | None = None
    text: str | None = None
    call_id: str | None = None
    tool: str | None = None


class LivePart(Shape):
    attempt: int
    seq: int
    deltas: list[Delta]


class Nothing(Shape):
    pass


class HistoryResetEvent(Shape):
    event: Literal["history_reset"]
    id: str
    data: HistoryReset


class MessageEvent(Shape):
    event: Literal["message"]
    id: str
    data: Message


class PreviewResetEvent(Shape):
    event: Literal["preview_reset"]
    id: str
    data: PreviewReset


class StatusEvent(Shape):
    event: Literal["status"]
    id: str
    data: StatusNow


class RetryEvent(Shape):
    event: Literal["retry"]
    id: str
    data: Retry


class ErrorEvent(Shape):
    event: Literal["error"]
    id: str
    data: Error


class ActionRequiredEvent(Shape):
    event: Literal["action_required"]
    id: str
    data: ActionRequired


class QueueEvent(Shape):
    event: Literal["queue"]
    id: str
    data: QueueNow


class PartEvent(Shape):
    event: Literal["part"]
    id: str
    data: LivePart


class LaggedEvent(Shape):
    event: Literal["lagged"]
    data: Nothing


class PingEvent(Shape):
    event: Literal["ping"]
    data: Nothing


class Ending(Shape):
    """The reader may come again after so many seconds, not sooner."""

    reason: Literal["too_many_streams"]
    retry_after_s: int


class EndedEvent(Shape):
    event: Literal["ended"]
    data: Ending


StreamEvent: TypeAlias = Annotated[
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
    | EndedEvent
    | PingEvent,
    Field(discriminator="event"),
]


class ChatList(Shape):
    """`after`: give it to `GET /chats?order=pinned_first` for older ones; null: there are none."""

    chats: list[ChatEntry]
    after: str | None


class ChatGone(Shape):
    chat_id: UUID
    reason: Literal["archived", "unshared"]


class ChatsEvent(Shape):
    event: Literal["chats"]
    id: str
    data: ChatList


class ChatEvent(Shape):
    event: Literal["chat"]
    id: str | None = None
    data: ChatEntry


class ChatGoneEvent(Shape):
    event: Literal["chat_gone"]
    id: str | None = None
    data: ChatGone


WatchEvent: TypeAlias = Annotated[
    ChatsEvent | ChatEvent | ChatGoneEvent | EndedEvent | PingEvent,
    Field(discriminator="event"),
]
