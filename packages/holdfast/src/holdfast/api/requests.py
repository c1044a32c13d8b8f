"""What requests may say. A field that is not named here is refused, not ignored (L63)."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self, TypeAlias
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from holdfast.admin.registry import Registry, SettingScope, SettingValues
from holdfast.admin.settings import SETTINGS
from holdfast.chats.declare import TOOLS_MAX
from holdfast.domain import parts
from holdfast.domain.approvals import REASON_CHARS_MAX
from holdfast.domain.client_tools import ClientTool
from holdfast.domain.commands import Decide
from holdfast.domain.ids import CallId, UserId
from holdfast.domain.messages import MessageBody, Role
from holdfast.domain.policy import OrgRole, Scope

TEXT_CHARS_MAX: Final = 1_000_000
NAME_CHARS_MAX: Final = 200
PARTS_MAX: Final = 100
RESULTS_MAX: Final = 100
DESCRIPTION_CHARS_MAX: Final = 8_000
COUNT_MAX: Final = 2**31 - 1
TTL_S_MAX: Final = 366 * 86_400

Text: TypeAlias = Annotated[str, Field(max_length=TEXT_CHARS_MAX)]
Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=NAME_CHARS_MAX)]
Number: TypeAlias = Annotated[int, Field(ge=1, le=COUNT_MAX, strict=True)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class TextIn(Body):
    kind: Literal["text"] = "text"
    text: Annotated[str, Field(min_length=1, max_length=TEXT_CHARS_MAX)]

    def part(self) -> parts.Part:
        return parts.Text(self.text)


class FileReferenceIn(Body):
    """Some lines of a file in the workspace."""

    kind: Literal["file_reference"]
    path: Annotated[str, Field(min_length=1, max_length=4096)]
    first_line: Number | None = None
    last_line: Number | None = None
    text: Text = ""

    def part(self) -> parts.Part:
        return parts.FileReference(self.path, self.first_line, self.last_line, self.text)


class SkillIn(Body):
    kind: Literal["skill"]
    name: Name
    text: Text = ""

    def part(self) -> parts.Part:
        return parts.Skill(self.name, self.text)


PartIn: TypeAlias = Annotated[TextIn | FileReferenceIn | SkillIn, Field(discriminator="kind")]


class MessageIn(Body):
    """Either `text`, or `parts`."""

    text: Annotated[str, Field(min_length=1, max_length=TEXT_CHARS_MAX)] | None = None
    parts: Annotated[tuple[PartIn, ...], Field(min_length=1, max_length=PARTS_MAX)] | None = None
    model: Name | None = Field(default=None, description="One of `GET /models`.")
    effort: Name | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.text is None) == (self.parts is None):
            raise ValueError("give either text or parts")
        return self

    def body(self, author: UserId) -> MessageBody:
        said = (TextIn(text=self.text),) if self.text is not None else self.parts or ()
        return MessageBody(
            role=Role.USER,
            parts=tuple(each.part() for each in said),
            model=self.model,
            effort=self.effort,
            author_id=author,
        )


class ToolIn(Body):
    """A tool that the client of the chat runs: a call of it waits for `POST /results`."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    description: Annotated[str, Field(max_length=DESCRIPTION_CHARS_MAX)]
    schema_: dict[str, Any] = Field(
        default_factory=lambda: {"type": "object", "properties": {}},
        alias="schema",
        description="JSON Schema of its arguments; `type` is `object`.",
    )

    def tool(self) -> ClientTool:
        return ClientTool(name=self.name, description=self.description, schema=self.schema_)


ToolsIn: TypeAlias = Annotated[tuple[ToolIn, ...], Field(max_length=TOOLS_MAX)]


class Declaring(Body):
    tools: ToolsIn


class NewChat(Body):
    message: MessageIn | None = Field(
        default=None, description="The first thing said; the chat runs at once."
    )
    tools: ToolsIn = ()


class Sending(MessageIn):
    when_busy: Literal["queue", "interrupt"] = "queue"


class Titling(Body):
    title: Name | None = Field(description="null: no title, so that the server may find one.")


class Pinning(Body):
    pinned: Annotated[bool, Field(strict=True)]


class Labelling(Body):
    labels: Annotated[tuple[Name, ...], Field(max_length=100)]


class Reading(Body):
    seq: Number


class Moving(Body):
    before: Number | None = Field(description="A queued message; null: to the end.")


class Retrying(Body):
    model: Name | None = None


class Restoring(Body):
    version: Number


class Forking(Body):
    at: Number | None = Field(
        default=None,
        description="The last message to take, after which no call waits for its result; null: as"
        " far as the history is whole.",
    )
    as_of: Number | None = Field(
        default=None, description="Of the history as of a version; null: of now."
    )


class ResultIn(Body):
    call_id: Name
    output: Any
    failed: Annotated[bool, Field(strict=True)] = False

    def result(self, tool: str) -> parts.ToolResult:
        return parts.ToolResult(CallId(self.call_id), tool, self.output, self.failed)


class Results(Body):
    results: Annotated[tuple[ResultIn, ...], Field(min_length=1, max_length=RESULTS_MAX)]

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        calls = [result.call_id for result in self.results]
        if len(set(calls)) != len(calls):
            raise ValueError("two results for one call")
        return self


class Decision(Body):
    call_id: Name
    verdict: Literal["approve", "deny"]
    digest: Annotated[str, Field(max_length=NAME_CHARS_MAX)] | None = Field(
        default=None,
        description="Digest of the call as it was shown for the decision: from `action_required`"
        " or from the call itself. Without it, or with another, the answer is `approval_mismatch`.",
    )
    reason: Annotated[str, Field(max_length=REASON_CHARS_MAX)] = Field(
        default="", description="What the model is told with a denial."
    )

    def decision(self) -> Decide:
        return Decide(CallId(self.call_id), self.verdict, self.digest, self.reason)


def settings_body(registry: Registry) -> type[Body]:
    """All settings of an organisation: what is left out is unset."""
    fields = registry.request_fields(SettingScope.ORGANISATION)
    return create_model("SettingsFields", __base__=Body, **fields)


class SettingsIn(settings_body(SETTINGS)):
    def values(self) -> SettingValues:
        return SettingValues({name: getattr(self, name) for name in type(self).model_fields})


class NewWorkspace(Body):
    template: Name | None = Field(default=None, description="One of `GET /templates`.")
    ttl_s: Annotated[int, Field(ge=0, le=TTL_S_MAX, strict=True)] = Field(
        default=0, description="How long it may lie idle, in seconds; 0: as its template says."
    )


class SigningIn(Body):
    email: Annotated[str, Field(max_length=1_000)]
    password: Annotated[str, Field(max_length=4_096)]
    org_id: UUID | None = Field(
        default=None, description="Only for users with accounts in several organisations."
    )


class NewUser(Body):
    name: Name
    email: Annotated[str, Field(max_length=1_000)]
    role: OrgRole = OrgRole.MEMBER
    password: Annotated[str, Field(max_length=4_096)] | None = None


class RoleSetting(Body):
    role: OrgRole


class PasswordResetting(Body):
    password: Annotated[str, Field(max_length=4_096)]


class PasswordChanging(Body):
    current: Annotated[str, Field(max_length=4_096)]
    new: Annotated[str, Field(max_length=4_096)]


class NewKey(Body):
    name: Name
    scopes: Annotated[frozenset[Scope], Field(min_length=1)] = frozenset({Scope.READ, Scope.WRITE})
    expires_at: Annotated[datetime, Field()] | None = None

    @model_validator(mode="after")
    def _in_a_zone(self) -> Self:
        if self.expires_at is not None and self.expires_at.tzinfo is None:
            raise ValueError("expires_at needs a time zone")
        return self
