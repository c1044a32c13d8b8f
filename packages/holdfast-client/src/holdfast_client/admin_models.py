"""What the server answers to admins, typed: the state of the server, people, settings,
providers, models, rules and the audit log; and to users, of their keys for providers."""

from typing import Any

from pydantic import Field

from holdfast_client.models import Model, Time, User


class OverviewCheck(Model):
    """`ok` False: an admin has something to do, which `detail` says."""

    name: str
    ok: bool
    detail: str


class WorkerEntry(Model):
    name: str
    started_at: Time
    is_alive: bool
    chats: int


class ChatLoad(Model):
    """`driven`: a worker has the chat. `waiting`: for a worker. `awaiting`: for an approval or for
    the result of a client's tool."""

    driven: int
    waiting: int
    oldest_waiting_seconds: int | None = None
    awaiting: int


class Overview(Model):
    version: str
    checks: list[OverviewCheck]
    workers: list[WorkerEntry]
    chats: ChatLoad
    users: int
    models: int
    has_real_model: bool


class ChangedUser(User):
    """A user after a change by an admin."""

    revoked_api_key_count: int = 0


class OrganizationUser(User):
    """A user, as admins see one. `last_seen_at` None: never."""

    last_seen_at: Time | None = None
    session_count: int = 0
    api_key_count: int = 0
    link_expires_at: Time | None = None


class AccountLink(Model):
    """`token`: shown once; the link is the page's address followed by `#invite=` and this."""

    token: str
    expires_at: Time
    user: User


class JudgedBy(Model):
    """`rule_number` None: no rule fits, the default counts."""

    source: str
    action: str
    rule_number: int | None = None
    rule: dict[str, Any] | None = None


class TriedApprovals(Model):
    action: str
    decided_by: str
    judgements: list[JudgedBy]


class Approvals(Model):
    """Rules of the server, which are set where it runs, and of the organization."""

    server: dict[str, Any]
    organization: dict[str, Any]


class OrganizationSettings(Model):
    """None: the server's own setting counts. `approvals`: the rules beside those of the server."""

    default_model: str | None = None
    explore_model: str | None = None
    title_model: str | None = None
    compaction_model: str | None = None
    advisor_model: str | None = None
    advisor_enabled: bool = False
    advisor_uses_max: int = 3
    advisor_output_max: int = 16_384
    advisor_effort: str | None = None
    allowed_models: list[str] | None = None
    instructions: str = ""
    max_steps_per_turn: int | None = None
    compaction_percent: int = 70
    oidc_sign_up_enabled: bool = False
    api_key_days_max: int = 0
    web_tools_enabled: bool = False
    approvals: dict[str, Any] = Field(default_factory=dict[str, Any])


class Provider(Model):
    """A provider that admins added. `settings`: its other fields that are not secret. `etag`: for
    `if_match` of a change."""

    id: str
    name: str
    vendor: str
    base_url: str = ""
    values: dict[str, str] = Field(default_factory=dict[str, str])
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    is_enabled: bool = True
    user_keys: bool = False
    has_key: bool = False
    secret_fields: list[str] = Field(default_factory=list[str])
    key_last_four: str | None = None
    key_fingerprint: str | None = None
    key_set_at: Time | None = None
    key_set_by: str | None = None
    created_at: Time
    etag: str | None = None


class ProviderKey(Model):
    """A provider for which you may store a key of your own. `is_allowed` False: an admin no longer
    allows it, so that a stored key is not used."""

    provider_id: str
    name: str
    vendor: str = ""
    is_allowed: bool = True
    has_key: bool = False
    set_at: Time | None = None


class OrganizationModel(Model):
    """A model as admins see it. `id`: None for one of the models file. `state`: whether it can
    answer; `unavailable_reason`: why chats cannot use it. `purposes`: what it is used for where
    neither a message nor a chat names a model. `etag`: for `if_match` of a change."""

    id: str | None = None
    name: str
    source: str
    provider_id: str | None = None
    is_enabled: bool = True
    is_default: bool = False
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    state: str
    unavailable_reason: str | None = None
    purposes: list[str] = Field(default_factory=list[str])
    etag: str | None = None


class ModelAnswer(Model):
    """`failure`: why it did not answer, with the words of its provider."""

    answered: bool
    failure: str | None = None
    took_ms: int


class AuditEntry(Model):
    seq: int
    created_at: Time
    action: str
    actor_id: str | None = None
    actor_name: str | None = None
    credential_type: str | None = None
    credential_id: str | None = None
    target_type: str | None = None
    target_id: str | None = None
    target_name: str | None = None
    ip_address: str | None = None
    detail: dict[str, Any]
