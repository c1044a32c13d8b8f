"""What answers look like: the contract.

Answers are encoded by orjson from plain values that are built field by field (answers.py); these
classes are what OpenAPI says of them, and a test holds every answer against them.
"""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, create_model

from holdfast.admin.registry import Registry, SettingScope
from holdfast.admin.settings import SETTINGS
from holdfast.domain.chat import ErrorKind, Status
from holdfast.domain.messages import CallFate, Ending
from holdfast.domain.parts import Need, Synthetic
from holdfast.domain.policy import OrgRole, Scope
from holdfast.domain.workspaces import WorkspaceStatus


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


def _left_out_if_none(schema: dict[str, Any]) -> None:
    """A field that is not sent where there is nothing to say: optional, without a default."""
    schema.pop("default")


class Problem(BaseModel):
    """RFC 9457. `code` is stable; `detail` is for people."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    code: str
    detail: str | None = None


class TextPart(Shape):
    kind: Literal["text"]
    text: str


class ReasoningPart(Shape):
    kind: Literal["reasoning"]
    text: str
    finished_at: datetime | None


class ToolCallPart(Shape):
    kind: Literal["tool_call"]
    call_id: str
    tool: str
    arguments: dict[str, Any]
    needs: Need
    runs_at: Literal["here", "provider"]
    digest: str | None
    exact_arguments: dict[str, str] | None = Field(
        default=None,
        description="The JSON text of those arguments that hold a number which a 64-bit float "
        "cannot hold. Show this text instead of the parsed value; the call runs with it.",
        json_schema_extra=_left_out_if_none,
    )


class ToolResultPart(Shape):
    kind: Literal["tool_result"]
    call_id: str
    tool: str
    output: Any
    failed: bool
    synthetic: Synthetic | None
    runs_at: Literal["here", "provider"]


class SourcePart(Shape):
    kind: Literal["source"]
    url: str
    title: str


class FilePart(Shape):
    kind: Literal["file"]
    file_id: str
    media_type: str
    name: str


class FileReferencePart(Shape):
    kind: Literal["file_reference"]
    path: str
    first_line: int | None
    last_line: int | None
    text: str


class SkillPart(Shape):
    kind: Literal["skill"]
    name: str
    text: str


Part: TypeAlias = Annotated[
    TextPart
    | ReasoningPart
    | ToolCallPart
    | ToolResultPart
    | SourcePart
    | FilePart
    | FileReferencePart
    | SkillPart,
    Field(discriminator="kind"),
]


class InheritedCall(Shape):
    call_id: str
    tool: str
    fate: CallFate = Field(
        description="`joined`: keyed, not run twice. `repeated`: run again, for it is repeatable. "
        "`unknown`: may have taken effect, and was not run again. `not_started`: the lost worker "
        "had not started it."
    )


class Takeover(Shape):
    """Workers were lost before this message, and another one went on."""

    attempt: int = Field(description="The attempt at this step that made the message.")
    lost_workers: int
    after_s: int | None = Field(
        description="From the last sign of the first lost worker until another one went on. "
        "null: not known."
    )
    kept: bool = Field(description="The message is what the lost worker's model had said.")
    calls: list[InheritedCall] = Field(description="Those that were open, and what became of each.")


class Message(Shape):
    seq: int
    role: Literal["user", "assistant", "tool", "boundary"]
    ending: Ending
    parts: list[Part]
    model: str | None
    effort: str | None
    author_id: UUID | None
    usage: dict[str, int] | None
    cost_micros: int | None
    created_at: datetime
    revision: int
    takeover: Takeover | None = Field(default=None, json_schema_extra=_left_out_if_none)


class QueuedMessage(Shape):
    queued_id: int
    urgent: bool
    parts: list[Part]
    bytes: int = Field(description="The size of the whole message.")
    cut: bool = Field(description="`parts` are its beginning. To take it out gives the whole.")
    model: str | None
    effort: str | None
    author_id: UUID | None


class Error(Shape):
    kind: ErrorKind
    sentence: str
    provider: str | None
    status_code: int | None
    retryable: bool


class Retry(Shape):
    attempt: int
    delay_ms: int
    until: datetime
    error: Error


class AwaitedCall(Shape):
    """`digest`: what a decision about it must name."""

    call_id: str
    tool: str
    seq: int
    digest: str | None


class ActionRequired(Shape):
    kind: Need
    calls: list[AwaitedCall]
    deadline: datetime | None


class ChatEntry(Shape):
    """A chat in a list. `pinned` is the owner's own; `unread` is the caller's. `needs`: what it
    waits for from outside."""

    chat_id: UUID
    owner_id: UUID
    title: str | None
    title_source: Literal["user", "model"] | None
    status: Status
    archived: bool
    pinned: bool
    labels: list[str]
    version: int
    last_seq: int
    read_seq: int
    unread: bool
    queue_length: int
    touched_at: datetime
    created_at: datetime
    needs: Need | None


class Tool(Shape):
    """A tool that the client of the chat runs."""

    name: str
    description: str
    schema_: dict[str, Any] = Field(alias="schema")


class Chat(ChatEntry):
    """A chat, and what of it is happening now."""

    model: str | None
    effort: str | None
    attempt: int
    queue: list[QueuedMessage]
    error: Error | None
    retry: Retry | None
    action_required: ActionRequired | None
    tools: list[Tool]


class ChatPage(Shape):
    """`after`: the cursor of the next page; null: this was the last. A page of a search may be
    short, or empty, and have one: a search looks at 20,000 of one's own chats at a time."""

    chats: list[ChatEntry]
    after: str | None


class MessagePage(Shape):
    """In the order of history. `before`: the cursor of the page before; null: the beginning."""

    messages: list[Message]
    before: int | None


class Committed(Shape):
    """`seq` or `queued_id`: where a message landed. `repeated`: done before, under this key."""

    chat_id: UUID
    version: int
    seq: int | None
    queued_id: int | None
    repeated: bool


class Taken(Shape):
    """What was taken out of the queue, to be edited."""

    parts: list[Part]
    model: str | None
    effort: str | None


class OlderPath(Shape):
    version: int
    first_seq: int
    messages: int


class OlderPaths(Shape):
    paths: list[OlderPath]


class ReadUpTo(Shape):
    read_seq: int


class Share(Shape):
    user_id: UUID
    name: str
    email: str | None


class Shares(Shape):
    shares: list[Share]


class Models(Shape):
    """`windows`: context window of each in tokens; null: unknown."""

    models: list[str]
    default: str | None
    windows: dict[str, int | None]


class Template(Shape):
    """`ttl_s`: how long a workspace may lie idle before it is stopped; 0: for ever."""

    name: str
    description: str
    ttl_s: int


class Templates(Shape):
    templates: list[Template]


class Workspace(Shape):
    """`ttl_s`: 0 is as its template says. `stops_at`: when it is stopped unless something happens
    in the chat before; null: at no time. `error`: why it failed."""

    workspace_id: UUID
    chat_id: UUID
    template: str
    status: WorkspaceStatus
    ttl_s: int
    stops_at: datetime | None
    error: str | None
    created_at: datetime


class WorkspaceOfChat(Shape):
    workspace: Workspace | None


class OidcProvider(Shape):
    """`start`: where to send a browser that wants to log in through it."""

    name: str
    title: str
    start: str


class OidcProviders(Shape):
    providers: list[OidcProvider]


class OidcLink(Shape):
    location: str


def settings_shape(registry: Registry) -> type[Shape]:
    fields = registry.response_fields(SettingScope.ORGANISATION)
    return create_model("SettingsFields", __base__=Shape, **fields)


class Settings(settings_shape(SETTINGS)):
    """null: as the server's own settings say."""


class User(Shape):
    user_id: UUID
    name: str
    email: str | None
    role: OrgRole
    disabled_at: datetime | None
    has_password: bool
    created_at: datetime


class UserPage(Shape):
    users: list[User]
    after: str | None


class Me(Shape):
    org_id: UUID
    user: User
    scopes: list[Scope]
    credential: Literal["sign_in", "api_key"]


class Key(Shape):
    key_id: UUID
    user_id: UUID
    name: str
    prefix: str
    scopes: list[Scope]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


class Keys(Shape):
    keys: list[Key]


class MadeKey(Key):
    """`secret` is shown this once."""

    secret: str


class SignIn(Shape):
    sign_in_id: UUID
    user_id: UUID
    method: Literal["password", "oidc"]
    address: str | None
    agent: str | None
    created_at: datetime
    seen_at: datetime
    expires_at: datetime


class SignInList(Shape):
    sign_ins: list[SignIn]


class AuditEntry(Shape):
    seq: int
    at: datetime
    action: str
    actor_id: UUID | None
    credential: str | None
    target_kind: str | None
    target_id: str | None
    address: str | None
    detail: dict[str, Any]


class AuditPage(Shape):
    """Newest first. `before`: where the next page goes on; null: this was the last."""

    entries: list[AuditEntry]
    before: int | None


class VersionInfo(Shape):
    version: str
    api: Literal["v1"]


class Health(Shape):
    status: Literal["ok"]
