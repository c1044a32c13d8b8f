"""What answers look like: the contract. orjson encodes answers from plain values (presenters.py);
these classes are what OpenAPI says of them, and a test holds every answer against them."""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from holdfast.api.ids import ChatIdText, UserIdText
from holdfast.api.shapes import Shape, Takeover, Usage, left_out_if_none
from holdfast.domain.chat import ErrorKind, Status
from holdfast.domain.messages import FinishReason
from holdfast.domain.parts import Synthetic

ActionType: TypeAlias = Literal["approval", "login", "result", "answer"]
ExecutedBy: TypeAlias = Literal["server", "client", "provider"]
NextCursor: TypeAlias = Annotated[
    str | None, Field(description="Give it as `cursor` for the next page; null: this is the last.")
]


class Citation(Shape):
    start: int = Field(description="The first character, from 0, in Unicode code points.")
    end: int = Field(description="The character after the last one.")
    source_url: str = Field(description="The `url` of a part `source` of the same message.")


class TextPart(Shape):
    type: Literal["text"]
    text: str = Field(description="Markdown, as the user or the model wrote it.")
    citations: list[Citation] = Field(
        description="Which of the text rests on which source, in the order of `start`."
    )


class ReasoningPart(Shape):
    type: Literal["reasoning"]
    text: str = Field(
        description="What the provider shows of the model's reasoning; often only a summary."
    )
    finished_at: datetime | None = Field(
        description="When the model went on from reasoning to its answer; null: not recorded."
    )


class ToolCallPart(Shape):
    type: Literal["tool_call"]
    call_id: str = Field(description="Unique within the chat; the result of the call names it.")
    tool_name: str = Field(
        description="The tool that the model calls, as it was declared to the model."
    )
    arguments: dict[str, Any] = Field(
        description="What the model gives to the tool: an object that fits the tool's input schema."
    )
    action_required: ActionType | None = Field(
        description="What the call waits for before it is run, or instead of being run."
    )
    executed_by: ExecutedBy = Field(
        description="Who runs the tool: this server, the client of the chat, or the model's "
        "provider."
    )
    digest: str | None = Field(
        description="What an approval of the call must name; null: the call needs no approval."
    )
    exact_arguments: dict[str, str] | None = Field(
        default=None,
        description="The JSON text of those arguments that hold a number which a 64-bit float "
        "cannot hold. Show this text instead of the parsed value; the call runs with it.",
        json_schema_extra=left_out_if_none,
    )


class ToolResultPart(Shape):
    type: Literal["tool_result"]
    call_id: str = Field(description="The call that this is the result of.")
    tool_name: str = Field(description="The tool that was called.")
    output: Any = Field(description="Any JSON value; text over 32 KiB is cut in its middle.")
    is_error: bool = Field(description="Whether the tool failed; `output` then says why.")
    synthetic_reason: Synthetic | None = Field(
        description="Why the server wrote this result; null: the tool returned it."
    )
    executed_by: ExecutedBy = Field(
        description="Who ran the tool: this server, the client of the chat, or the model's "
        "provider."
    )
    exit_code: int | None = Field(description="Of a command that ended by itself.")
    signal: str | None = Field(description="What ended a command, without `SIG`: `KILL`.")
    duration_ms: int | None = Field(description="How long a command ran that has ended.")
    process_id: str | None = Field(
        description="The command goes on in the workspace as this process, such as `p1`."
    )
    timed_out: bool = Field(description="The server stopped the tool at its deadline.")
    truncated: bool = Field(description="There was more output than `output` holds.")
    summary_lines: int = Field(
        description="So many lines at the beginning of a text `output` are the tool's own summary, "
        "written for the model. The other fields say the same; leave these lines out when you show "
        "the output."
    )
    diff: str | None = Field(
        default=None,
        description="What the tool changed in files: a unified diff. Left out: nothing.",
        json_schema_extra=left_out_if_none,
    )


class SourcePart(Shape):
    type: Literal["source"]
    url: str = Field(description="The page that the model used.")
    title: str = Field(
        description="Of the page, as the provider reports it; empty if it reports none."
    )


class FilePart(Shape):
    type: Literal["file"]
    file_id: str = Field(description="Names the stored file; the bytes are not in the message.")
    media_type: str = Field(description="Of the file, such as `image/png`.")
    name: str = Field(
        description="The file name that the user saw when attaching it; empty if it had none."
    )


class FileReferencePart(Shape):
    type: Literal["file_reference"]
    path: str = Field(description="Of the file, within the workspace.")
    first_line: int | None = Field(
        description="Counted from 1; null: the reference is to the whole file."
    )
    last_line: int | None = Field(
        description="Included, counted from 1; null: up to the end of the file."
    )
    text: str = Field(description="The lines as they were when the message was sent.")


class SkillPart(Shape):
    type: Literal["skill"]
    name: str = Field(description="The skill that the user chose.")
    text: str = Field(description="The instructions of the skill, which the model reads.")


Part: TypeAlias = Annotated[
    TextPart
    | ReasoningPart
    | ToolCallPart
    | ToolResultPart
    | SourcePart
    | FilePart
    | FileReferencePart
    | SkillPart,
    Field(discriminator="type"),
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


class ChatFields(Shape):
    """What a chat in a list and a single chat share."""

    id: ChatIdText = Field(description="The chat, by its id.")
    owner_id: UserIdText
    title: str | None = Field(description="What lists show; null: not known yet.")
    title_source: Literal["user", "model"] | None = Field(
        description="Who wrote the title: a model changes only what a model wrote; null: no title."
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
