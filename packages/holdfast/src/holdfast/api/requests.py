"""What requests may say. A field that is not named here is refused, not ignored (L63)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self, TypeAlias
from uuid import UUID

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
    model_validator,
)

from holdfast.admin.registry import Registry, SettingScope, SettingValues
from holdfast.admin.settings import SETTINGS
from holdfast.api.errors import InvalidRequest
from holdfast.api.field_errors import field_errors
from holdfast.api.ids import GivenAs
from holdfast.chats.declare import TOOLS_MAX
from holdfast.chats.listing import (
    METADATA_KEY_CHARS_MAX,
    METADATA_PAIRS_MAX,
    METADATA_VALUE_CHARS_MAX,
)
from holdfast.domain import parts
from holdfast.domain.approvals import REASON_CHARS_MAX
from holdfast.domain.client_tools import ClientTool
from holdfast.domain.commands import Decide
from holdfast.domain.compaction import KEEP_CHARS_MAX
from holdfast.domain.ids import CallId, UserId
from holdfast.domain.messages import Effort, MessageBody, Role
from holdfast.domain.parts import JsonObject, JsonValue
from holdfast.domain.policy import OrgRole, Scope
from holdfast.domain.public_ids import ORG_ID
from holdfast.ports.listing import ChatPatch

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
MetadataKey: TypeAlias = Annotated[str, Field(min_length=1, max_length=METADATA_KEY_CHARS_MAX)]
MetadataValue: TypeAlias = Annotated[str, Field(max_length=METADATA_VALUE_CHARS_MAX)]
Labels: TypeAlias = Annotated[tuple[Name, ...], Field(max_length=100)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class TextIn(Body):
    type: Literal["text"] = Field(default="text", description="`text` may be left out.")
    text: Annotated[str, Field(min_length=1, max_length=TEXT_CHARS_MAX)] = Field(
        description="Markdown, which the model reads as the user's words."
    )

    def part(self) -> parts.Part:
        return parts.Text(self.text)


class FileReferenceIn(Body):
    """Some lines of a file in the workspace."""

    type: Literal["file_reference"]
    path: Annotated[str, Field(min_length=1, max_length=4096)] = Field(
        description="Of the file, within the workspace of the chat."
    )
    first_line: Number | None = Field(
        default=None, description="Counted from 1; null: the whole file."
    )
    last_line: Number | None = Field(
        default=None, description="Included, counted from 1; null: up to the end of the file."
    )
    text: Text = Field(
        default="",
        description="The lines as the user sees them now: the model reads these, not the file.",
    )

    def part(self) -> parts.Part:
        return parts.FileReference(self.path, self.first_line, self.last_line, self.text)


class SkillIn(Body):
    type: Literal["skill"]
    name: Name = Field(description="The skill that the user chose.")
    text: Text = Field(default="", description="Its instructions, which the model reads.")

    def part(self) -> parts.Part:
        return parts.Skill(self.name, self.text)


PartIn: TypeAlias = Annotated[TextIn | FileReferenceIn | SkillIn, Field(discriminator="type")]


class MessageIn(Body):
    """Either `text`, or `parts`."""

    text: Annotated[str, Field(min_length=1, max_length=TEXT_CHARS_MAX)] | None = Field(
        default=None,
        description="Markdown; the same as one part of type `text`. null: see `parts`.",
    )
    parts: Annotated[tuple[PartIn, ...], Field(min_length=1, max_length=PARTS_MAX)] | None = Field(
        default=None, description="What the message consists of, in order; null: see `text`."
    )
    model: Name | None = Field(default=None, description="One of `GET /models`.")
    effort: Effort | None = Field(
        default=None,
        description="How much the model may think; a model that does not know the word takes the "
        "next lower one that it knows. null: its default.",
    )
    web: Annotated[bool, Field(strict=True)] | None = Field(
        default=None,
        description="Whether the provider of the model may search the web, for this message and "
        "until another one says otherwise. null: as before; at first as the model is set.",
    )
    plan_mode: Annotated[bool, Field(strict=True)] | None = Field(
        default=None,
        description="Whether the model only makes a plan, from this message on. null: as before.",
    )

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
            web=self.web,
            plan_mode=self.plan_mode,
            author_id=author,
        )


class ToolIn(Body):
    """A tool that the client of the chat runs: a call of it waits for `POST /tool-results`."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] = Field(
        description="What the model calls it by; no tool of the server has this name."
    )
    description: Annotated[str, Field(max_length=DESCRIPTION_CHARS_MAX)] = Field(
        description="What the model is told of the tool: what it does and when to use it."
    )
    input_schema: dict[str, Any] = Field(
        default_factory=lambda: {"type": "object", "properties": {}},
        description="JSON Schema of its arguments; `type` is `object`.",
    )
    open_world: bool = Field(
        default=False,
        description="Whether the tool may send its arguments on to others (a message, a request to"
        " the web). A call then waits for approval once the chat has read foreign text.",
    )

    def tool(self) -> ClientTool:
        return ClientTool(
            name=self.name,
            description=self.description,
            schema=self.input_schema,
            open_world=self.open_world,
        )


ToolsIn: TypeAlias = Annotated[tuple[ToolIn, ...], Field(max_length=TOOLS_MAX)]


class SetTools(Body):
    tools: ToolsIn = Field(
        description="The whole list: a tool that is left out is no longer offered."
    )


def _without_default(schema: dict[str, Any]) -> None:
    """A field that may be left out, which is not the same as its default."""
    schema.pop("default", None)


class CreateChat(Body):
    message: MessageIn | None = Field(
        default=None, description="The first thing said; the chat runs at once."
    )
    tools: ToolsIn = Field(default=(), description="Tools that the client of the chat runs.")
    title: Name | None = Field(default=None, description="null: the server may find one.")
    labels: Labels = Field(
        default=(), description="For people.", json_schema_extra=_without_default
    )
    metadata: Annotated[dict[MetadataKey, MetadataValue], Field(max_length=METADATA_PAIRS_MAX)] = (
        Field(default_factory=dict, description="For programs: `GET /chats?metadata[key]=value`.")
    )
    model: Name | None = Field(
        default=None,
        description="One of `GET /models`: for the turns of this chat, until a message names "
        "another.",
    )
    effort: Effort | None = Field(
        default=None, description="For the turns of this chat, until a message names another."
    )
    web: Annotated[bool, Field(strict=True)] | None = Field(
        default=None,
        description="Whether the provider of the model may search the web, until a message says "
        "otherwise. null: as the model is set.",
    )
    plan_mode: Annotated[bool, Field(strict=True)] | None = Field(
        default=None, description="Whether the model only makes plans. null: it does not."
    )


class SendMessage(MessageIn):
    when_busy: Literal["queue", "interrupt"] = Field(
        default="queue",
        description="If a turn runs: wait for its end, or interrupt it and go next.",
    )


class UpdateChat(Body):
    """A merge patch (RFC 7396): a field that is left out stays as it is."""

    title: Name | None = Field(
        default=None,
        description="null: no title, so that the server may find one.",
        json_schema_extra=_without_default,
    )
    pinned: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="In the owner's list.", json_schema_extra=_without_default
    )
    labels: Labels = Field(
        default=(), description="These and no others.", json_schema_extra=_without_default
    )
    metadata: (
        Annotated[dict[MetadataKey, MetadataValue | None], Field(max_length=2 * METADATA_PAIRS_MAX)]
        | None
    ) = Field(
        default=None,
        description="Merged with the present pairs, at most 50 in all. A key with null is removed; "
        "null instead of the object removes all.",
        json_schema_extra=_without_default,
    )

    def patch(self) -> ChatPatch:
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return ChatPatch(**given)


class MarkRead(Body):
    seq: Number = Field(description="The last message that the caller has seen.")


class UpdateQueuedMessage(Body):
    before_id: Number | None = Field(
        description="The queued message to place it before; null: at the end."
    )


TurnSeq: TypeAlias = Annotated[
    Number | None,
    Field(description="Only if this is the present turn: else 409 `turn_changed`. null: any turn."),
]


class InterruptTurn(Body):
    turn_seq: TurnSeq = None


class RetryTurn(Body):
    model: Name | None = Field(
        default=None,
        description="Go on with this model, one of `GET /models`; null: the same as before.",
    )
    turn_seq: TurnSeq = None


class CompactChat(Body):
    keep: Annotated[str, Field(min_length=1, max_length=KEEP_CHARS_MAX)] | None = Field(
        default=None,
        description="What the summary is asked to keep, in the words of a person; null: nothing "
        "beside what every summary keeps.",
    )


class RestoreHistory(Body):
    version: Number = Field(
        description="Of the chat, at which the wanted history was the present one."
    )


class ForkChat(Body):
    up_to_seq: Number | None = Field(
        default=None,
        description="The last message to take, after which no call waits for its result; null: as"
        " far as the history is whole.",
    )
    version: Number | None = Field(
        default=None, description="Of the history as of this version of the chat; null: of now."
    )


class ResultIn(Body):
    call_id: Name = Field(description="The call that waits, as in `action_required`.")
    output: Any = Field(
        description="Any JSON value; the model reads it. For a call of `ask_user`: the answers."
    )
    is_error: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="Whether the tool failed; the model is told so."
    )

    def result(self, tool: str) -> parts.ToolResult:
        return parts.ToolResult(
            CallId(self.call_id), tool, self.output, self.is_error, runs_at="client"
        )


class SubmitToolResults(Body):
    results: Annotated[tuple[ResultIn, ...], Field(min_length=1, max_length=RESULTS_MAX)] = Field(
        description="At most one for each call; the turn goes on when no call waits."
    )

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        calls = [result.call_id for result in self.results]
        if len(set(calls)) != len(calls):
            raise ValueError("two results for one call")
        return self


class ToolDecision(Body):
    call_id: Name = Field(description="The call that waits, as in `action_required`.")
    decision: Literal["approve", "deny"] = Field(
        description="Run the call, or tell the model that it was denied."
    )
    digest: Annotated[str, Field(max_length=NAME_CHARS_MAX)] | None = Field(
        default=None,
        description="Digest of the call as it was shown for the decision: from `action_required`"
        " or from the call itself. Without it, or with another, the answer is `approval_mismatch`.",
    )
    reason: Annotated[str, Field(max_length=REASON_CHARS_MAX)] = Field(
        default="", description="What the model is told with a denial."
    )

    def command(self) -> Decide:
        return Decide(CallId(self.call_id), self.decision, self.digest, self.reason)


class SubmitToolDecisions(Body):
    """All of them, or none: they are one commit."""

    decisions: Annotated[tuple[ToolDecision, ...], Field(min_length=1, max_length=RESULTS_MAX)] = (
        Field(description="At most one for each call.")
    )

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        calls = [each.call_id for each in self.decisions]
        if len(set(calls)) != len(calls):
            raise ValueError("two decisions about one call")
        return self


def settings_body(registry: Registry) -> type[Body]:
    """All settings of an organisation, with the bounds of each."""
    fields = registry.request_fields(SettingScope.ORGANISATION)
    return create_model("SettingsFields", __base__=Body, **fields)


def settings_patch(registry: Registry) -> type[Body]:
    fields = registry.patch_fields(SettingScope.ORGANISATION)
    return create_model("SettingsPatchFields", __base__=Body, **fields)


class WholeSettings(settings_body(SETTINGS)):
    def values(self) -> SettingValues:
        return SettingValues({name: getattr(self, name) for name in type(self).model_fields})


class UpdateSettings(settings_patch(SETTINGS)):
    """A merge patch (RFC 7396): what is left out stays, null unsets."""


def patched_settings(present: JsonObject, patch: JsonObject) -> SettingValues:
    """The settings after a merge patch. Raises `InvalidRequest`."""
    merged = merge_patch(present, patch)
    try:
        return WholeSettings.model_validate(merged).values()
    except ValidationError as error:
        found = [{**each, "loc": ("body", *each["loc"])} for each in error.errors()]
        raise InvalidRequest(field_errors(found, merged)) from None


def merge_patch(present: JsonValue, patch: JsonValue) -> JsonValue:
    """RFC 7396."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(present) if isinstance(present, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


class CreateWorkspace(Body):
    template: Name | None = Field(default=None, description="One of `GET /workspace-templates`.")
    ttl_seconds: Annotated[int, Field(ge=1, le=TTL_S_MAX, strict=True)] | None = Field(
        default=None, description="How long it may lie idle; null: as its template says."
    )


class CreateSession(Body):
    email: Annotated[str, Field(max_length=1_000)] = Field(
        description="Of the account, in any case."
    )
    password: Annotated[str, Field(max_length=4_096)] = Field(
        description="Of the account; not logged and not stored."
    )
    org_id: Annotated[UUID, GivenAs(ORG_ID)] | None = Field(
        default=None, description="Only for users with accounts in several organisations."
    )


class UseSignInLink(Body):
    token: Annotated[str, Field(max_length=200)] = Field(
        description="What the link has after `#once=`; not logged and not stored."
    )


class CreateUser(Body):
    name: Name = Field(description="How the user is shown to others; not unique.")
    email: Annotated[str, Field(max_length=1_000)] = Field(
        description="What the user signs in with; one account in the organisation has it."
    )
    role: OrgRole = Field(
        default=OrgRole.MEMBER,
        description="`admin`: may manage users, settings and the audit log of the organisation.",
    )
    password: Annotated[str, Field(max_length=4_096)] | None = Field(
        default=None, description="The first password; null: the user logs in through a provider."
    )


class ChangePassword(Body):
    current: Annotated[str, Field(max_length=4_096)] = Field(
        description="The password that is valid now."
    )
    new: Annotated[str, Field(max_length=4_096)] = Field(
        description="The password from now on; weak ones are refused."
    )


class CreateApiKey(Body):
    name: Name = Field(description="To tell keys apart; need not be unique.")
    scopes: Annotated[frozenset[Scope], Field(min_length=1)] = Field(
        default=frozenset({Scope.READ, Scope.WRITE}),
        description="`approve`: to decide about tool calls.",
    )
    expires_at: Annotated[datetime, Field()] | Literal["never"] | None = Field(
        default=None,
        description="After this time the key is refused; null: after 90 days. `never`, and how long"
        " a key may live at most: as the setting `api_key_days_max` allows.",
    )

    @model_validator(mode="after")
    def _in_a_zone(self) -> Self:
        if isinstance(self.expires_at, datetime) and self.expires_at.tzinfo is None:
            raise ValueError("expires_at needs a time zone")
        return self
