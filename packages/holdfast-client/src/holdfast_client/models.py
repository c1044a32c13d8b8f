"""What the server answers, typed. Forgiving: what a newer server adds is kept out of the way.

Words that a newer server may have more of (a status, a role, the kind of an error) are plain text.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Discriminator, PlainSerializer, Tag

Json: TypeAlias = Any
"""Whatever JSON can say."""


def wire_time(at: datetime) -> str:
    """As the API writes it: RFC 3339 in UTC, with `Z` and six digits."""
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


Time: TypeAlias = Annotated[datetime, PlainSerializer(wire_time, return_type=str, when_used="json")]


class Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Citation(Model):
    """`text[start:end]`, in code points as Python counts, rests on the source with this URL."""

    start: int
    end: int
    source_url: str


class TextPart(Model):
    type: Literal["text"] = "text"
    text: str
    citations: list[Citation] = []


class ReasoningPart(Model):
    type: Literal["reasoning"]
    text: str
    finished_at: Time | None = None


class ToolCallPart(Model):
    type: Literal["tool_call"]
    call_id: str
    tool_name: str
    arguments: dict[str, Any]
    action_required: str | None = None
    executed_by: str = "server"
    digest: str | None = None
    exact_arguments: dict[str, str] | None = None
    """The JSON text of arguments that a 64-bit float cannot hold. `arguments` is as exact."""


class ToolResultPart(Model):
    """`signal`: what ended a command, without `SIG`. `process_id`: the command goes on in the
    workspace as this process. `timed_out`: the server stopped the tool at its deadline.
    `truncated`: there was more output. `summary_lines`: so many lines at the beginning of a text
    `output` are the tool's own summary for the model; the other fields say the same. `diff`: what
    the tool changed in files, as a unified diff; None: nothing."""

    type: Literal["tool_result"]
    call_id: str
    tool_name: str
    output: Any
    is_error: bool = False
    synthetic_reason: str | None = None
    executed_by: str = "server"
    exit_code: int | None = None
    signal: str | None = None
    duration_ms: int | None = None
    process_id: str | None = None
    timed_out: bool = False
    truncated: bool = False
    summary_lines: int = 0
    diff: str | None = None


class SourcePart(Model):
    type: Literal["source"]
    url: str
    title: str


class FilePart(Model):
    type: Literal["file"]
    file_id: str
    media_type: str
    name: str


class FileReferencePart(Model):
    type: Literal["file_reference"] = "file_reference"
    path: str
    first_line: int | None = None
    last_line: int | None = None
    text: str = ""


class SkillPart(Model):
    type: Literal["skill"] = "skill"
    name: str
    text: str = ""


class OtherPart(Model):
    """Of a type that this version does not know; its fields are in `model_extra`."""

    model_config = ConfigDict(frozen=True, extra="allow")

    type: str


_PART_TYPES: Final = frozenset(
    {"text", "reasoning", "tool_call", "tool_result", "source", "file", "file_reference", "skill"}
)


def _part_type(part: Json) -> str:
    found = part.get("type") if isinstance(part, Mapping) else part.type  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return str(found) if found in _PART_TYPES else "other"  # pyright: ignore[reportUnknownArgumentType]


Part: TypeAlias = Annotated[
    Annotated[TextPart, Tag("text")]
    | Annotated[ReasoningPart, Tag("reasoning")]
    | Annotated[ToolCallPart, Tag("tool_call")]
    | Annotated[ToolResultPart, Tag("tool_result")]
    | Annotated[SourcePart, Tag("source")]
    | Annotated[FilePart, Tag("file")]
    | Annotated[FileReferencePart, Tag("file_reference")]
    | Annotated[SkillPart, Tag("skill")]
    | Annotated[OtherPart, Tag("other")],
    Discriminator(_part_type),
]


class InheritedCall(Model):
    """`fate`: joined, repeated, unknown, not_started."""

    call_id: str
    tool_name: str
    fate: str


class Takeover(Model):
    """Workers were lost before a message, and another one went on.

    `attempt`: the attempt at the step that made the message. `after_seconds`: None if it is not
    known. `kept`: the message is what the lost worker's model had said. `calls`: those that were
    open.
    """

    attempt: int
    lost_workers: int = 1
    after_seconds: int | None = None
    kept: bool = False
    calls: list[InheritedCall] = []


class Usage(Model):
    """Tokens of the request that made a message. None: the provider reported none."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    service_tier: str | None = None


class Message(Model):
    """`role`: user, assistant, tool, summary. `finish_reason`: stop, interrupted, length,
    provider_error, paused.

    `turn_seq`: the user message that began its turn. `queued_id`: the number that it had in the
    queue. `attempt`: the attempt at its step that made it, as in live parts. `client_key`: the key
    of the request that sent it.
    """

    seq: int
    role: str
    finish_reason: str
    parts: list[Part]
    model: str | None = None
    effort: str | None = None
    web: bool | None = None
    plan_mode: bool | None = None
    author_id: str | None = None
    usage: Usage | None = None
    cost_micro_usd: int | None = None
    created_at: Time
    version: int
    turn_seq: int | None = None
    queued_id: int | None = None
    attempt: int | None = None
    client_key: str | None = None
    takeover: Takeover | None = None

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


class QueuedMessage(Model):
    """`parts`: the whole message, or its beginning if it is `truncated`; `queue.delete` returns
    the whole. `bytes`: the size of the whole. `client_key`: the key of the request that sent it."""

    queued_id: int
    send_now: bool
    parts: list[Part]
    bytes: int = 0
    truncated: bool = False
    model: str | None = None
    effort: str | None = None
    web: bool | None = None
    plan_mode: bool | None = None
    author_id: str | None = None
    client_key: str | None = None

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


class TurnError(Model):
    """Why a turn failed, or an attempt did. `message` is for people."""

    type: str
    message: str
    provider: str | None = None
    status_code: int | None = None
    retryable: bool = False


class Retry(Model):
    """`model`: the fallback model that is asked next; None: the model of the chat."""

    attempt: int
    delay_ms: int
    next_attempt_at: Time
    model: str | None = None
    error: TurnError


class PendingCompaction(Model):
    """A summary that is the next step. `reason`: requested, threshold, overflow.
    `threshold_tokens`: a prompt of so many is compacted."""

    reason: str
    used_tokens: int | None = None
    limit_tokens: int | None = None
    threshold_tokens: int | None = None


class ContextUse(Model):
    """How full the context window is. `compacts_at_tokens`: None: only on request."""

    used_tokens: int | None = None
    limit_tokens: int | None = None
    compacts_at_tokens: int | None = None


class AwaitedCall(Model):
    """`arguments`: None if they are long; `chat.call` reads them. `digest`: what a decision about
    it names."""

    call_id: str
    tool_name: str
    seq: int
    arguments: dict[str, Any] | None = None
    digest: str | None = None
    exact_arguments: dict[str, str] | None = None


class QuestionOption(Model):
    label: str
    detail: str = ""


class Question(Model):
    """One question of `ask_user`. `multiple`: more than one option may be chosen."""

    question: str
    options: list[QuestionOption] = []
    multiple: bool = False


class Answer(Model):
    """To one question: labels of its options, own words, or both."""

    chosen: list[str] = []
    text: str = ""


class ActionRequired(Model):
    """`type`: approval, login, result, answer."""

    type: str
    calls: list[AwaitedCall]
    expires_at: Time | None = None


class ChatFields(Model):
    """What a chat in a list and a single chat share. `status`: idle, running, interrupting,
    awaiting, failed. `title_source`: user, model, first_words. `turn_label`: what the last turn
    came to."""

    id: str
    owner_id: str
    title: str | None = None
    title_source: str | None = None
    turn_label: str | None = None
    summary: str | None = None
    status: str
    archived: bool = False
    pinned: bool = False
    labels: list[str] = []
    metadata: dict[str, str] = {}
    version: int
    last_seq: int
    read_seq: int
    unread: bool
    queue_length: int
    updated_at: Time
    created_at: Time


class ChatSummary(ChatFields):
    """A chat in a list. `action_required`: the type of what it waits for."""

    action_required: str | None = None


class DeclaredTool(Model):
    """A tool that a client of the chat runs."""

    name: str
    description: str
    input_schema: dict[str, Any]
    open_world: bool = False


class ChatInfo(ChatFields):
    """A chat, and what of it is happening now. `turn_seq`: the turn that runs, or the last one."""

    model: str | None = None
    effort: str | None = None
    web: bool | None = None
    plan_mode: bool = False
    turn_seq: int | None = None
    attempt: int = 0
    queue: list[QueuedMessage] = []
    tools: list[DeclaredTool] = []
    error: TurnError | None = None
    retry: Retry | None = None
    action_required: ActionRequired | None = None
    context: ContextUse = ContextUse()
    compaction: PendingCompaction | None = None


class Receipt(Model):
    """What a command did. `message_seq` or `queued_id`: where a message landed. `turn_seq`: the
    turn that the command began, stopped or let go on; None for a queued message, until the user
    message with its `queued_id` names the turn. `replayed`: done before, under this key."""

    chat_id: str
    version: int
    turn_seq: int | None = None
    message_seq: int | None = None
    queued_id: int | None = None
    replayed: bool = False


class Branch(Model):
    """A history that an edit or a restore left behind."""

    version: int
    first_seq: int
    messages: int


class Share(Model):
    user_id: str
    name: str
    email: str | None = None


class TokenPrice(Model):
    """Micro-dollars for a million tokens."""

    input_micros: int
    output_micros: int


class ModelInfo(Model):
    """A model that messages may ask for. `context_window`, `output_max`: in tokens; None: unknown.
    `efforts`: in rising order. `provider_tools`: those that its provider runs; `web`: whether it
    searches the web for messages that do not say. `simulated`: the simulator of `holdfast dev`
    answers. `price`: None if it is not known, or depends on more than tokens."""

    id: str
    is_default: bool = False
    context_window: int | None = None
    output_max: int | None = None
    efforts: list[str] = []
    images: bool = False
    provider_tools: list[str] = []
    web: bool = False
    documents: bool = False
    thinking: bool = False
    vendor: str | None = None
    simulated: bool = False
    price: TokenPrice | None = None
    retires_at: Time | None = None


class Template(Model):
    """A kind of workspace. `ttl_seconds`: how long one may lie idle; None: for ever."""

    name: str
    description: str = ""
    ttl_seconds: int | None = None


class Workspace(Model):
    """A place with files and processes that a chat works in. `ttl_seconds`: None is as its template
    says."""

    id: str
    chat_id: str
    template: str
    status: str
    ttl_seconds: int | None = None
    auto_stop_at: Time | None = None
    error: str | None = None
    created_at: Time | None = None

    @property
    def is_settled(self) -> bool:
        """It is neither being started nor being stopped."""
        return self.status not in ("starting", "stopping")


class User(Model):
    id: str
    name: str
    email: str | None = None
    role: str
    disabled_at: Time | None = None
    has_password: bool = False
    created_at: Time


class Me(Model):
    org_id: str
    user: User
    scopes: list[str]
    credential_type: str


class ApiKey(Model):
    id: str
    user_id: str
    name: str
    prefix: str
    scopes: list[str]
    created_at: Time
    expires_at: Time | None = None
    revoked_at: Time | None = None
    last_used_at: Time | None = None


class CreatedApiKey(ApiKey):
    """`secret` is shown this once."""

    secret: str


class Session(Model):
    """A signed-in browser. `method`: how the user signed in."""

    id: str
    user_id: str
    method: str
    ip_address: str | None = None
    user_agent: str | None = None
    created_at: Time
    last_seen_at: Time
    expires_at: Time


class VersionInfo(Model):
    version: str
    api: str
