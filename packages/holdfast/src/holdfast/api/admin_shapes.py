"""Requests and answers of the administration of an organisation."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from holdfast.api.account_responses import User
from holdfast.api.requests import Body
from holdfast.api.responses import NextCursor, Shape
from holdfast.domain.approvals import PATTERN_CHARS_MAX, Policy, Rule, RuleAction
from holdfast.domain.policy import OrgRole


class UseAccountLink(Body):
    token: Annotated[str, Field(max_length=200)] = Field(
        description="What the link has after `#invite=`; not logged and not stored."
    )
    password: Annotated[str, Field(max_length=4_096)] = Field(
        description="The password from now on; weak ones are refused, and the link stays valid."
    )


class UpdateUser(Body):
    """A merge patch: what is left out stays."""

    role: OrgRole | None = Field(
        default=None, description="What the user may do in the organisation; null: unchanged."
    )
    disabled: Annotated[bool, Field(strict=True)] | None = Field(
        default=None, description="Every credential of a disabled user stops working."
    )
    keep_api_keys: Annotated[bool, Field(strict=True)] | None = Field(
        default=None,
        description="With `disabled`: the API keys are refused while the user is disabled, and not"
        " revoked for good.",
    )

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.role is None and self.disabled is None:
            raise ValueError("give a role, or whether the user is disabled")
        return self


class ResetPassword(Body):
    password: Annotated[str, Field(max_length=4_096)] = Field(
        description="The new one; the user should change it."
    )
    keep_api_keys: Annotated[bool, Field(strict=True)] | None = Field(
        default=None, description="Do not revoke the API keys of the user."
    )


class TryApprovals(Body):
    tool: Annotated[str, Field(min_length=1, max_length=PATTERN_CHARS_MAX)] = Field(
        description="The name of the tool that is called."
    )
    arguments: dict[str, Any] = Field(
        default_factory=dict[str, Any], description="The arguments of the call."
    )
    approvals: Policy | None = Field(
        default=None,
        description="Rules to try instead of those of the organisation; null: those that are set.",
    )


class OverviewCheck(Shape):
    name: Literal["database", "workers", "models", "secrets"] = Field(
        description="What was looked at."
    )
    ok: bool = Field(description="false: an admin has something to do.")
    detail: str = Field(description="What was found, as a sentence.")


class WorkerEntry(Shape):
    name: str = Field(description="How the process calls itself, such as its host and number.")
    started_at: datetime = Field(description="When it began.")
    is_alive: bool = Field(description="Whether it holds its lease; false: it is lost.")
    chats: int = Field(description="Chats that it drives now, of all organisations.")


class ChatLoad(Shape):
    driven: int = Field(description="Chats that a worker drives now.")
    waiting: int = Field(description="Chats that wait for a worker.")
    oldest_waiting_seconds: int | None = Field(
        description="How long the first of them has waited; null: none waits."
    )
    awaiting: int = Field(
        description="Chats that wait for an approval or for the result of a client's tool."
    )


class Overview(Shape):
    version: str = Field(description="Of the server that answered.")
    checks: list[OverviewCheck] = Field(description="What the server found about itself.")
    workers: list[WorkerEntry] = Field(
        description="Worker processes of the deployment, the oldest first, 200 at most."
    )
    chats: ChatLoad = Field(description="What the chats of the organisation do now.")
    users: int = Field(description="Users of the organisation who are not disabled.")
    models: int = Field(description="Models that can answer.")
    has_real_model: bool = Field(description="false: only the simulator answers.")


class OrganizationUser(User):
    """A user, as admins see one."""

    last_seen_at: datetime | None = Field(
        description="When a session or a key of the user was last used, to within a minute; null: "
        "never."
    )
    session_count: int = Field(description="Browsers that are signed in.")
    api_key_count: int = Field(description="Keys that are valid.")
    link_expires_at: datetime | None = Field(
        description="When the user's link for a password ends; null: there is no such link."
    )


class OrganizationUserPage(Shape):
    data: list[OrganizationUser] = Field(description="Users of this page, by name.")
    next_cursor: NextCursor


class AccountLink(Shape):
    token: str = Field(
        description="The secret of the link, shown once: the page's address followed by "
        "`#invite=` and this."
    )
    expires_at: datetime = Field(description="When the link ends, if it is not used before.")
    user: User = Field(description="Who sets a password by it.")


class VendorEntry(Shape):
    name: str = Field(description="What providers name as `vendor`.")
    title: str = Field(description="The vendor, for people.")
    base_url: str = Field(
        description="Where its API is; empty: a provider of this vendor needs its own `base_url`."
    )
    values: list[str] = Field(description="Names of the values that the address needs.")


class VendorPage(Shape):
    data: list[VendorEntry] = Field(description="Vendors that this server can speak to, by title.")
    next_cursor: NextCursor


class DiscoveredModel(Shape):
    id: str = Field(description="What the provider calls the model: `model` in its settings.")
    is_added: bool = Field(description="Whether the organisation has it from this provider.")
    context_window: int | None = Field(description="In tokens; null: the list does not say.")
    output_max: int | None = Field(
        description="Tokens of a reply at most; null: the list does not say."
    )
    images: bool | None = Field(description="Whether it takes images; null: not said.")
    documents: bool | None = Field(description="Whether it takes PDFs; null: not said.")


class DiscoveredModelPage(Shape):
    data: list[DiscoveredModel] = Field(description="Models of the provider's list, by id.")
    next_cursor: NextCursor
    failure: str | None = Field(
        description="Why there is no list, with the provider's own words; null: there is one."
    )


class ServerApprovals(Shape):
    server: Policy = Field(
        title="ServerPolicy",
        description="Rules of the server's `HOLDFAST_APPROVALS`, which cannot be changed here.",
    )
    organization: Policy = Field(
        title="OrganizationPolicy", description="Rules that the organisation's admins have set."
    )


class JudgedBy(Shape):
    source: Literal["server", "organization"] = Field(description="Whose rules these are.")
    action: RuleAction = Field(description="What they say of the call.")
    rule_number: int | None = Field(
        description="The first rule that fits, from 1; null: none fits, the default counts."
    )
    rule: Rule | None = Field(description="That rule; null: the default counts.")


class TriedApprovals(Shape):
    action: RuleAction = Field(description="What happens to the call: the strictest action.")
    decided_by: Literal["server", "organization"] = Field(
        description="Whose rules decide; if both say the same, the server's."
    )
    judgements: list[JudgedBy] = Field(description="What each set of rules says.")
