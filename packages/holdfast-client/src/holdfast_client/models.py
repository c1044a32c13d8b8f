"""What the server answers, typed. Forgiving: what a newer server adds is kept out of the way.

Words that a newer server may have more of (a status, a role, the kind of an error) are plain text.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

Json: TypeAlias = Any
"""Whatever JSON can say."""


class Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class TextPart(Model):
    kind: Literal["text"]
    text: str


class ReasoningPart(Model):
    kind: Literal["reasoning"]
    text: str
    finished_at: datetime | None = None


class ToolCallPart(Model):
    kind: Literal["tool_call"]
    call_id: str
    tool: str
    arguments: dict[str, Any]
    needs: str = "nothing"
    runs_at: str = "here"
    digest: str | None = None
    exact_arguments: dict[str, str] | None = None
    """The JSON text of arguments that a 64-bit float cannot hold. `arguments` is as exact."""


class ToolResultPart(Model):
    kind: Literal["tool_result"]
    call_id: str
    tool: str
    output: Any
    failed: bool = False
    synthetic: str | None = None
    runs_at: str = "here"


class SourcePart(Model):
    kind: Literal["source"]
    url: str
    title: str


class FilePart(Model):
    kind: Literal["file"]
    file_id: str
    media_type: str
    name: str


class FileReferencePart(Model):
    kind: Literal["file_reference"]
    path: str
    first_line: int | None = None
    last_line: int | None = None
    text: str = ""


class SkillPart(Model):
    kind: Literal["skill"]
    name: str
    text: str = ""


class OtherPart(Model):
    """Of a kind that this version does not know; its fields are in `model_extra`."""

    model_config = ConfigDict(frozen=True, extra="allow")

    kind: str


_PART_KINDS: Final = frozenset(
    {"text", "reasoning", "tool_call", "tool_result", "source", "file", "file_reference", "skill"}
)


def _part_kind(part: Json) -> str:
    kind = part.get("kind") if isinstance(part, Mapping) else part.kind  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return str(kind) if kind in _PART_KINDS else "other"  # pyright: ignore[reportUnknownArgumentType]


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
    Discriminator(_part_kind),
]


class InheritedCall(Model):
    """`fate`: joined, repeated, unknown, not_started."""

    call_id: str
    tool: str
    fate: str


class Takeover(Model):
    """Workers were lost before a message, and another one went on.

    `attempt`: the attempt at the step that made the message. `after_s`: None if it is not known.
    `kept`: the message is what the lost worker's model had said. `calls`: those that were open.
    """

    attempt: int
    lost_workers: int = 1
    after_s: int | None = None
    kept: bool = False
    calls: list[InheritedCall] = []


class Message(Model):
    """`role`: user, assistant, tool, boundary. `ending`: complete, interrupted, cut, paused."""

    seq: int
    role: str
    ending: str
    parts: list[Part]
    model: str | None = None
    effort: str | None = None
    author_id: str | None = None
    usage: dict[str, int] | None = None
    cost_micros: int | None = None
    created_at: datetime
    revision: int
    takeover: Takeover | None = None

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


class QueuedMessage(Model):
    """`parts`: the whole message, or its beginning if it is `cut`; `queue.take` gives the whole.
    `bytes`: the size of the whole."""

    queued_id: int
    urgent: bool
    parts: list[Part]
    bytes: int = 0
    cut: bool = False
    model: str | None = None
    effort: str | None = None
    author_id: str | None = None

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


class TurnError(Model):
    """Why a turn failed, or an attempt did. `sentence` is for people."""

    kind: str
    sentence: str
    provider: str | None = None
    status_code: int | None = None
    retryable: bool = False


class Retry(Model):
    attempt: int
    delay_ms: int
    until: datetime
    error: TurnError


class AwaitedCall(Model):
    """`digest`: what a decision about it names."""

    call_id: str
    tool: str
    seq: int
    digest: str | None = None


class ActionRequired(Model):
    """`kind`: approval, login, result, answer."""

    kind: str
    calls: list[AwaitedCall]
    deadline: datetime | None = None


class ChatEntry(Model):
    """A chat in a list. `status`: idle, running, interrupting, awaiting, failed. `needs`: what it
    waits for from outside."""

    chat_id: str
    owner_id: str
    title: str | None = None
    title_source: str | None = None
    status: str
    archived: bool = False
    pinned: bool = False
    labels: list[str] = []
    version: int
    last_seq: int
    read_seq: int
    unread: bool
    queue_length: int
    needs: str | None = None
    touched_at: datetime
    created_at: datetime


class DeclaredTool(Model):
    """A tool that a client of the chat runs."""

    name: str
    description: str
    schema_: dict[str, Any] = Field(alias="schema")


class ChatInfo(ChatEntry):
    """A chat, and what of it is happening now."""

    model: str | None = None
    effort: str | None = None
    attempt: int = 0
    queue: list[QueuedMessage] = []
    tools: list[DeclaredTool] = []
    error: TurnError | None = None
    retry: Retry | None = None
    action_required: ActionRequired | None = None

    @property
    def awaiting(self) -> ActionRequired | None:
        return self.action_required


class MessagePage(Model):
    """In the order of history. `before`: give it back for the page before; None: the beginning."""

    messages: list[Message]
    before: int | None = None


class Committed(Model):
    """`seq` or `queued_id`: where a message landed. `repeated`: done before, under this key."""

    chat_id: str
    version: int
    seq: int | None = None
    queued_id: int | None = None
    repeated: bool = False


class Taken(Model):
    parts: list[Part]
    model: str | None = None
    effort: str | None = None

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


class OlderPath(Model):
    version: int
    first_seq: int
    messages: int


class Share(Model):
    user_id: str
    name: str
    email: str | None = None


class ModelList(Model):
    """`windows`: how many tokens each can read; None: unknown."""

    models: list[str]
    default: str | None = None
    windows: dict[str, int | None] = {}


class Template(Model):
    """A kind of workspace. `ttl_s`: how long one may lie idle; 0: for ever."""

    name: str
    description: str = ""
    ttl_s: int = 0


class Workspace(Model):
    """A place with files and processes that a chat works in."""

    workspace_id: str
    chat_id: str
    template: str
    status: str
    ttl_s: int = 0
    stops_at: datetime | None = None
    error: str | None = None
    created_at: datetime | None = None

    @property
    def is_settled(self) -> bool:
        """It is neither being started nor being stopped."""
        return self.status not in ("starting", "stopping")


class User(Model):
    user_id: str
    name: str
    email: str | None = None
    role: str
    disabled_at: datetime | None = None
    has_password: bool = False
    created_at: datetime


class Me(Model):
    org_id: str
    user: User
    scopes: list[str]
    credential: str


class Key(Model):
    key_id: str
    user_id: str
    name: str
    prefix: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None


class MadeKey(Key):
    """`secret` is shown this once."""

    secret: str


class AuditEntry(Model):
    seq: int
    at: datetime
    action: str
    actor_id: str | None = None
    credential: str | None = None
    target_kind: str | None = None
    target_id: str | None = None
    address: str | None = None
    detail: dict[str, Any]


class VersionInfo(Model):
    version: str
    api: str
