"""What answers look like: the contract. orjson encodes answers from plain values (presenters.py);
these classes are what OpenAPI says of them, and a test holds every answer against them."""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from holdfast.api.ids import ChatIdText, UserIdText
from holdfast.api.part_responses import ActionType, Part
from holdfast.api.shapes import Shape, Takeover, Usage, left_out_if_none
from holdfast.domain.chat import ErrorKind, Status
from holdfast.domain.compaction import CompactionReason
from holdfast.domain.messages import FinishReason

NextCursor: TypeAlias = Annotated[
    str | None, Field(description="Give it as `cursor` for the next page; null: this is the last.")
]


class Message(Shape):
    seq: int = Field(
        description="The place in the history, from 1; an edit continues with new numbers."
    )
    role: Literal["user", "assistant", "tool", "summary"] = Field(
        description="`summary`: the result of a compaction; the prompt begins with it."
    )
    finish_reason: FinishReason = Field(
        description="`stop`: the message is complete. `interrupted`: a user stopped the turn."
        " `length`: a limit of tokens was reached. `provider_error`: the stream of the provider"
        " ended early. `paused`: the provider continues in the next message."
    )
    parts: list[Part] = Field(description="What the message consists of, in order.")
    model: str | None = Field(
        description="The model that wrote the message, or that the user asked for; null: the "
        "default."
    )
    effort: str | None = Field(
        description="How much the model may think, as the user chose it; null: the model's default."
    )
    web: bool | None = Field(
        default=None,
        description="Whether the user wanted the provider to search the web, or not; left out: the "
        "user did not say.",
        json_schema_extra=left_out_if_none,
    )
    plan_mode: bool | None = Field(
        default=None,
        description="Whether the user wanted a plan only, or no longer; left out: the user did not "
        "say.",
        json_schema_extra=left_out_if_none,
    )
    author_id: UserIdText | None
    usage: Usage | None = Field(
        description="Tokens that the message took; null: no model wrote it, or none were reported."
    )
    cost_micro_usd: int | None = Field(
        description="Cost in millionths of a US dollar; null: the price is not known."
    )
    created_at: datetime = Field(description="When the commit that wrote the message was made.")
    version: int = Field(description="Of the chat, by the commit that wrote this message.")
    turn_seq: int | None = Field(
        description="Names the turn: the `seq` of the user message that began it, the last user "
        "message up to here. null: no user message comes before."
    )
    queued_id: int | None = Field(
        description="The number that a user message had while it waited in the queue."
    )
    attempt: int | None = Field(
        description="The attempt at its step that made the message: the number that its live parts "
        "had. null: no attempt made it (user messages, summaries, results from outside)."
    )
    client_key: str | None = Field(
        description="The `Idempotency-Key` of the request that sent the message. Every reader of "
        "the chat sees it: do not put a secret into a key."
    )
    takeover: Takeover | None = Field(
        default=None,
        json_schema_extra=left_out_if_none,
        description="Left out unless a worker was lost before this message.",
    )


class QueuedMessage(Shape):
    queued_id: int = Field(
        description="Numbers the queued messages of a chat, from 1; never used twice."
    )
    send_now: bool = Field(
        description="Whether the message goes before the others as soon as the turn is interrupted."
    )
    parts: list[Part] = Field(description="What the message consists of, in order.")
    bytes: int = Field(description="The size of the whole message.")
    truncated: bool = Field(
        description="`parts` are its beginning. `DELETE` answers with the whole."
    )
    model: str | None = Field(description="The model that the user asked for; null: the default.")
    effort: str | None = Field(
        description="How much the model may think, as the user chose it; null: the model's default."
    )
    web: bool | None = Field(
        default=None,
        description="Whether the user wanted the provider to search the web, or not; left out: the "
        "user did not say.",
        json_schema_extra=left_out_if_none,
    )
    plan_mode: bool | None = Field(
        default=None,
        description="Whether the user wanted a plan only, or no longer; left out: the user did not "
        "say.",
        json_schema_extra=left_out_if_none,
    )
    author_id: UserIdText | None
    client_key: str | None = Field(description="As in `Message`.")


class Error(Shape):
    type: ErrorKind = Field(description="What kind of failure it is, for programs.")
    message: str = Field(description="What went wrong, for people; may change at any time.")
    provider: str | None = Field(
        description="The provider that answered with the failure; null: none was asked."
    )
    status_code: int | None = Field(
        description="The HTTP status of the provider's answer; null: there was no answer."
    )
    retryable: bool = Field(
        description="Whether the same turn may succeed later: `POST /retry` tries again."
    )


class ErrorDetails(Shape):
    detail: str = Field(description="What the provider said, without credentials.")
    request_id: str | None = Field(
        description="The provider's name for the request, for its support; null: it sent none."
    )


class Retry(Shape):
    attempt: int = Field(
        description="The number of the attempt that failed, within the step of the turn."
    )
    delay_ms: int = Field(
        description="How long the server waits before the next attempt, in milliseconds."
    )
    next_attempt_at: datetime = Field(
        description="When the server tries again by itself; `POST /retry` skips the wait."
    )
    model: str | None = Field(
        description="The fallback model that the next attempt asks; null: the model of the chat."
    )
    error: Error = Field(description="Why the last attempt failed.")


class AwaitedCall(Shape):
    """A call that does not run, or does not end, before it has what it needs from outside."""

    call_id: str = Field(description="What a result or a decision must name.")
    tool_name: str = Field(description="The tool that the model wants to call.")
    seq: int = Field(description="The message that holds the call.")
    arguments: dict[str, Any] | None = Field(
        description="What the model gives to the tool; null if they are long: then read the "
        "message."
    )
    digest: str | None = Field(
        description="What a decision about the call must name; null: no approval is needed."
    )
    exact_arguments: dict[str, str] | None = Field(
        default=None,
        description="As in the part `tool_call`.",
        json_schema_extra=left_out_if_none,
    )


class ActionRequired(Shape):
    type: ActionType = Field(
        description="What is needed: an approval, a login, the result of a tool, or an answer."
    )
    calls: list[AwaitedCall] = Field(
        description="The calls that wait; the turn goes on when each has what it needs."
    )
    expires_at: datetime | None = Field(
        description="When the server stops waiting and answers the calls itself; null: never."
    )


class PendingCompaction(Shape):
    """A summary that is being made; it takes the place of the earlier messages in the prompt."""

    reason: CompactionReason = Field(
        description="`requested`: a person asked. `threshold`: the prompt takes too large a share "
        "of the context window. `overflow`: the prompt does not fit."
    )
    used_tokens: int | None = Field(description="Of the prompt, about; null: not known.")
    limit_tokens: int | None = Field(
        description="Of the context window of the model; null: not known."
    )
    threshold_tokens: int | None = Field(
        description="A prompt of so many tokens is compacted; null: none was compared."
    )


class ContextUse(Shape):
    """How full the context window of the chat's model is, and when the chat is compacted."""

    used_tokens: int | None = Field(
        description="Of the next prompt: as the provider counted the last reply and what came "
        "before it, and an estimate of what came since. null: no reply was counted since the last "
        "summary."
    )
    limit_tokens: int | None = Field(
        description="Of the context window of the model; null: not known."
    )
    compacts_at_tokens: int | None = Field(
        description="Between two steps, a prompt of so many tokens is compacted; null: only on "
        "request."
    )


class ChatFields(Shape):
    """What a chat in a list and a single chat share."""

    id: ChatIdText = Field(description="The chat, by its id.")
    owner_id: UserIdText
    title: str | None = Field(description="What lists show; null: not known yet.")
    title_source: Literal["user", "model", "first_words"] | None = Field(
        description="Who wrote the title. `first_words`: the server, from the first message, until"
        " a model finds a better one. The server never replaces the title of a user. null: no"
        " title."
    )
    turn_label: str | None = Field(
        description="What the last turn came to, in a few words; an interrupt takes it away, and"
        " so does the next turn. null: nothing to say."
    )
    summary: str | None = Field(
        description="What the chat is about, in one to three sentences of a model; null: none yet."
    )
    status: Status = Field(
        description="What the chat does now. `awaiting`: it needs something, see `action_required`."
    )
    archived: bool = Field(
        description="Whether it is out of the usual list and accepts no commands."
    )
    pinned: bool = Field(
        description="Whether its owner keeps it at the top of the list; false for other users."
    )
    labels: list[str] = Field(
        description="The owner's words for finding it, in the order in which they were set."
    )
    metadata: dict[str, str] = Field(description="What programs noted about it, by key.")
    version: int = Field(description="Rises by 1 with each commit to the chat.")
    last_seq: int = Field(description="The `seq` of the newest message; 0: there is none.")
    read_seq: int = Field(description="How far the caller has read; 0: nothing yet.")
    unread: bool = Field(description="Whether there are messages after `read_seq`.")
    queue_length: int = Field(description="How many messages wait for the turn to end.")
    updated_at: datetime = Field(
        description="When the last message of a user was accepted. The replies of a turn, and"
        " changes of title, pin, labels, metadata and read marker do not move it."
    )
    created_at: datetime = Field(
        description="When the chat was created; for a fork, when it was forked."
    )


class ChatSummary(ChatFields):
    """A chat in a list. `pinned` is the owner's own; `unread` is the caller's."""

    action_required: ActionType | None = Field(description="What the chat waits for.")


class Tool(Shape):
    """A tool that the client of the chat runs."""

    name: str = Field(description="What the model calls it by; unique within the chat.")
    description: str = Field(
        description="What the model is told of the tool: what it does and when to use it."
    )
    input_schema: dict[str, Any] = Field(description="JSON Schema of its arguments.")
    open_world: bool = Field(description="Whether the tool may send its arguments on to others.")


class Chat(ChatFields):
    """A chat, and what of it is happening now."""

    model: str | None = Field(
        description="The model that its turns ask for: of `POST /chats`, or of the last message "
        "that named one; null: the default."
    )
    effort: str | None = Field(
        description="How much the model may think, decided as `model` is; null: its default."
    )
    web: bool | None = Field(
        description="Whether the provider of the model may search the web; null: as the model is "
        "set."
    )
    plan_mode: bool = Field(
        description="Whether the model only makes a plan: tools that change something are refused."
    )
    turn_seq: int | None = Field(
        description="The `seq` of the last user message: it names the turn that runs, or the last "
        "one. null: the history has no user message."
    )
    attempt: int = Field(description="The attempt at the present step; 0: no step is under way.")
    queue: list[QueuedMessage] = Field(
        description="Messages that wait for the turn to end, the next one first."
    )
    error: Error | None = Field(
        description="Why the last turn failed; null unless `status` is `failed`."
    )
    error_details: ErrorDetails | None = Field(
        default=None,
        description="The provider's own words about `error` or `retry.error`. Only for "
        "administrators of the organisation; left out for all others, and in events.",
        json_schema_extra=left_out_if_none,
    )
    retry: Retry | None = Field(
        description="The wait before the next attempt; null: the server is not waiting."
    )
    action_required: ActionRequired | None = Field(
        description="What the turn waits for; null unless `status` is `awaiting`."
    )
    tools: list[Tool] = Field(description="The tools that the client of the chat runs.")
    context: ContextUse = Field(description="How full the context window of the model is.")
    compaction: PendingCompaction | None = Field(
        default=None,
        description="The summary that is the next step; left out if there is none.",
        json_schema_extra=left_out_if_none,
    )


class ChatPage(Shape):
    """A page of a search may be short, or empty, and not be the last: a search looks at 20,000
    chats of the caller at a time."""

    data: list[ChatSummary] = Field(
        description="Chats of this page, in the order that was asked for."
    )
    next_cursor: NextCursor


class MessagePage(Shape):
    """`order=desc`: the newest messages, in the order of history, and the cursor of the page before
    them. `order=asc`: the oldest first, and the cursor of the page after them."""

    data: list[Message] = Field(
        description="Messages of this page, always in the order of the history."
    )
    next_cursor: NextCursor


class QueuePage(Shape):
    """In the order in which the messages will be sent."""

    data: list[QueuedMessage] = Field(description="Queued messages, the next one first.")
    next_cursor: NextCursor
    paused: bool = Field(
        description="Whether an interrupt has paused the queue; `resume` lets it go on."
    )


class Receipt(Shape):
    """What a command did. A repeat under the same key is told the same."""

    chat_id: ChatIdText
    version: int = Field(
        description="Of the chat, after the command; unchanged if there was nothing to do."
    )
    turn_seq: int | None = Field(
        description="The turn that the command began, stopped or let go on. null: no turn, or the "
        "message is queued: the user message with this `queued_id` will name its turn."
    )
    message_seq: int | None = Field(description="Where a message landed in the history.")
    queued_id: int | None = Field(description="Where a message waits in the queue.")


class Branch(Shape):
    """A history that an edit or a restore left behind; `messages?version=` reads it."""

    version: int = Field(description="The last version at which this was the history.")
    first_seq: int = Field(description="The first message that the present history no longer has.")
    messages: int = Field(description="How many messages were left behind.")


class BranchPage(Shape):
    """Newest first."""

    data: list[Branch] = Field(description="Branches of this page, newest first.")
    next_cursor: NextCursor


class ReadUpTo(Shape):
    read_seq: int = Field(description="How far the caller has read: never less than before.")


class Share(Shape):
    user_id: UserIdText
    name: str = Field(description="Of the user who may read the chat.")
    email: str | None = Field(description="Of that user; null: the account has no address.")


class SharePage(Shape):
    data: list[Share] = Field(description="Users who may read the chat, without its owner.")
    next_cursor: NextCursor
