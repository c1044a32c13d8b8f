"""The events of a stream, as OpenAPI has them: one class per type, told apart by `type`.

What they mean stands in `docs/reference/events.md`. A test holds these against what is sent.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from holdfast.api.ids import ChatIdText
from holdfast.api.responses import (
    ActionRequired,
    ChatSummary,
    Error,
    Message,
    PendingCompaction,
    QueuedMessage,
    Retry,
    Shape,
)
from holdfast.api.shapes import left_out_if_none
from holdfast.domain.chat import Status
from holdfast.domain.compaction import CompactionReason
from holdfast.domain.events import PreviewEnd, ResetReason
from holdfast.stream.events import CloseReason


class HistoryResetData(Shape):
    from_seq: int = Field(description="Drop the messages with this `seq` and all after it.")
    older_before_seq: int | None = Field(
        description="Messages before this `seq` exist and were not sent: page for them. null: "
        "keep what was known, if it is less than `from_seq`."
    )
    reason: ResetReason = Field(
        description="`snapshot`: the stream begins. `edit`, `restore`: the history changed."
    )


class PreviewResetData(Shape):
    attempt: int = Field(description="The attempt that is under way now; 0: none.")
    reason: PreviewEnd = Field(
        description="`retry`: another attempt follows. `ended`: the turn is over. `unknown`: "
        "discard it in any case."
    )


class ChatStateData(Shape):
    """Where the chat stands; replaces the one before. Null: there is none."""

    status: Status = Field(description="What the chat does now.")
    turn_seq: int | None = Field(
        description="The `seq` of the last user message, which names the turn; null: there is none."
    )
    attempt: int = Field(description="The attempt at the present step; 0: no step is under way.")
    model: str | None = Field(
        description="The model of the present or last turn; null: the default."
    )
    effort: str | None = Field(
        description="How much the model may think; null: the model's default."
    )
    web: bool | None = Field(
        description="Whether the provider of the model may search the web; null: as the model is "
        "set."
    )
    plan_mode: bool = Field(
        description="Whether the model only makes a plan: tools that change something are refused."
    )
    archived: bool = Field(
        description="Whether the chat accepts no commands until it is unarchived."
    )
    retry: Retry | None = Field(
        description="The wait before the next attempt; null: the server is not waiting."
    )
    error: Error | None = Field(
        description="Why the last turn failed; null unless `status` is `failed`."
    )
    action_required: ActionRequired | None = Field(
        description="What the turn waits for; null unless `status` is `awaiting`."
    )
    compaction: PendingCompaction | None = Field(
        default=None,
        description="The summary that is the next step; left out if there is none.",
        json_schema_extra=left_out_if_none,
    )


class QueueData(Shape):
    messages: list[QueuedMessage] = Field(
        description="The whole queue, the next message first; it replaces the one before."
    )
    paused: bool = Field(
        description="Whether an interrupt has paused the queue: none of its messages begins a turn "
        "until the queue is resumed, or the message is sent now."
    )


class TextPreview(Shape):
    """Append `text` to the text part at `index`."""

    type: Literal["text"]
    index: int = Field(description="The place of the part in the message to come, from 0.")
    text: str = Field(description="The next characters of the part.")


class ReasoningPreview(Shape):
    """Append `text` to the reasoning part at `index`."""

    type: Literal["reasoning"]
    index: int = Field(description="The place of the part in the message to come, from 0.")
    text: str = Field(description="The next characters of the part.")


class ToolCallPreview(Shape):
    """A tool call begins at `index`; its arguments follow."""

    type: Literal["tool_call"]
    index: int = Field(description="The place of the call in the message to come, from 0.")
    call_id: str = Field(description="As in the part `tool_call` of the message to come.")
    tool_name: str = Field(description="The tool that the model calls.")
    executed_by: Literal["provider"] | None = Field(
        description="null: the server or the client; the message will tell."
    )


class ArgumentsPreview(Shape):
    """Append `text` to the arguments of the call at `index`: JSON when complete."""

    type: Literal["arguments"]
    index: int = Field(description="The place of the call in the message to come, from 0.")
    text: str = Field(description="The next characters of the JSON text.")


class ToolOutputPreview(Shape):
    """Append `text` to the output of the running call."""

    type: Literal["tool_output"]
    call_id: str = Field(description="The call whose tool runs now.")
    text: str = Field(description="The next characters that the tool wrote.")


class SummaryStartedPreview(Shape):
    """A summary begins at `index`, or begins anew: what was said of it so far is replaced."""

    type: Literal["summary_started"]
    index: int = Field(description="The place of the summary in the message to come, always 0.")
    reason: CompactionReason = Field(description="Why the chat is compacted.")


class SummaryPreview(Shape):
    """Append `text` to the summary at `index`."""

    type: Literal["summary"]
    index: int = Field(description="The place of the summary in the message to come, always 0.")
    text: str = Field(description="The next characters of the summary.")


class SummaryEndedPreview(Shape):
    """The summary is whole, and its message follows; or there is none."""

    type: Literal["summary_ended"]
    index: int = Field(description="The place of the summary in the message to come, always 0.")
    error: str | None = Field(description="Why there is no summary; null: it is whole.")


PreviewPiece: TypeAlias = Annotated[
    TextPreview
    | ReasoningPreview
    | ToolCallPreview
    | ArgumentsPreview
    | ToolOutputPreview
    | SummaryStartedPreview
    | SummaryPreview
    | SummaryEndedPreview,
    Field(discriminator="type"),
]


class PreviewDeltaData(Shape):
    turn_seq: int | None = Field(description="The user message that began the turn.")
    attempt: int = Field(
        description="The attempt that writes this; a higher one begins the preview anew."
    )
    index: int = Field(description="The number of this event in the attempt, from 1.")
    deltas: list[PreviewPiece] = Field(description="Pieces to apply in order.")


class EmptyData(Shape):
    pass


class ClosedData(Shape):
    reason: CloseReason = Field(
        description="`restart`: reconnect. `revoked`: the reader may no longer read. `deleted`: "
        "the chat is gone. `too_many_streams`: a newer stream of the same user replaced this one."
    )
    retry_after_seconds: int | None = Field(
        description="Do not reconnect sooner; null: no such limit."
    )


class _CommitEvent(Shape):
    """An event of a commit, or of a snapshot."""

    cursor: str | None = Field(
        description="Give it as `after` to go on behind this event; null: keep the last cursor."
    )
    version: int = Field(description="The commit that the event tells of.")
    final: bool = Field(
        description="Whether it is the last event of that commit or snapshot: the view is "
        "consistent."
    )


class HistoryResetEvent(_CommitEvent):
    type: Literal["history.reset"]
    data: HistoryResetData = Field(description="Which messages the reader drops.")


class MessageCreatedEvent(_CommitEvent):
    type: Literal["message.created"]
    data: Message = Field(description="A message at the end of the history.")


class PreviewResetEvent(_CommitEvent):
    type: Literal["preview.reset"]
    data: PreviewResetData = Field(description="Why the live output so far is discarded.")


class ChatStateEvent(_CommitEvent):
    type: Literal["chat.state"]
    data: ChatStateData = Field(description="The whole state; it replaces the one before.")


class QueueUpdatedEvent(_CommitEvent):
    type: Literal["queue.updated"]
    data: QueueData = Field(description="The whole queue; it replaces the one before.")


class PreviewDeltaEvent(Shape):
    """Live output."""

    type: Literal["preview.delta"]
    cursor: str = Field(description="Give it as `after` to go on behind this event.")
    version: int = Field(description="The last commit before this output.")
    final: Literal[True] = Field(description="Always true: the view is consistent.")
    data: PreviewDeltaData = Field(description="Live output of the model or of a tool.")


class PingEvent(Shape):
    """The connection is alive."""

    type: Literal["ping"]
    cursor: None = Field(description="Always null: keep the last cursor.")
    version: int | None = Field(
        description="Every commit up to this one was sent; null: not known, or a stream of a list."
    )
    final: Literal[True] = Field(description="Always true: the view is consistent.")
    data: EmptyData = Field(description="Always empty.")


class ClosedEvent(Shape):
    """The last event of a stream."""

    type: Literal["closed"]
    cursor: None = Field(description="Always null: keep the last cursor.")
    version: None = Field(description="Always null: no commit is told.")
    final: Literal[True] = Field(description="Always true: no event follows.")
    data: ClosedData = Field(description="Why the stream ends.")


StreamEvent: TypeAlias = Annotated[
    HistoryResetEvent
    | MessageCreatedEvent
    | PreviewResetEvent
    | ChatStateEvent
    | QueueUpdatedEvent
    | PreviewDeltaEvent
    | PingEvent
    | ClosedEvent,
    Field(discriminator="type"),
]


class ChatsSnapshotData(Shape):
    chats: list[ChatSummary] = Field(description="All pinned chats, then the last updated ones.")
    after: str | None = Field(
        description="The `cursor` of `GET /chats?pinned=first` for older chats; null: there are "
        "none."
    )


class ChatRemovedData(Shape):
    chat_id: ChatIdText
    reason: Literal["archived", "unshared", "deleted"] = Field(
        description="Why the chat leaves the reader's list."
    )


class ChatsSnapshotEvent(Shape):
    type: Literal["chats.snapshot"]
    cursor: str = Field(description="Give it as `after` to go on behind this event.")
    version: None = Field(description="Always null: the event is about many chats.")
    final: Literal[True] = Field(description="Always true: the list is consistent.")
    data: ChatsSnapshotData = Field(
        description="The beginning of the list; it replaces what the reader had."
    )


class _ListEvent(Shape):
    """An event about one chat of the list."""

    cursor: str | None = Field(
        description="Give it as `after` to go on behind this event; null: keep the last cursor."
    )
    version: int | None = Field(description="Of the chat; null: not known.")
    final: bool = Field(
        description="Whether it is the last of the changes that were read together; it has the "
        "cursor."
    )


class ChatUpdatedEvent(_ListEvent):
    type: Literal["chat.updated"]
    data: ChatSummary = Field(description="The chat as it is now: put it in its place in the list.")


class ChatRemovedEvent(_ListEvent):
    type: Literal["chat.removed"]
    data: ChatRemovedData = Field(description="The chat that leaves the list.")


WatchEvent: TypeAlias = Annotated[
    ChatsSnapshotEvent | ChatUpdatedEvent | ChatRemovedEvent | PingEvent | ClosedEvent,
    Field(discriminator="type"),
]
