"""What answers about users, their credentials and the organisation look like (see responses.py)."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field, create_model

from holdfast.admin.registry import Registry, SettingScope
from holdfast.admin.settings import SETTINGS
from holdfast.api.ids import ApiKeyIdText, OrgIdText, SessionIdText, UserIdText
from holdfast.api.responses import NextCursor, Shape
from holdfast.domain.policy import OrgRole, Scope


class OidcProvider(Shape):
    """An identity provider through which users log in."""

    name: str = Field(description="Stable; a part of the provider's paths.")
    title: str = Field(description="What a button for it says.")
    start: str = Field(description="Send a browser to this path to log in through the provider.")


class OidcProviderPage(Shape):
    data: list[OidcProvider] = Field(
        description="Providers in the order in which the server is configured."
    )
    next_cursor: NextCursor


class OidcLink(Shape):
    location: str = Field(description="Send the signed-in browser to this address of the provider.")


def settings_shape(registry: Registry) -> type[Shape]:
    fields = registry.response_fields(SettingScope.ORGANISATION)
    return create_model("SettingsFields", __base__=Shape, **fields)


class Settings(settings_shape(SETTINGS)):
    """null: as the server's own settings say."""


class User(Shape):
    id: UserIdText = Field(description="The user, by the id of the account.")
    name: str = Field(description="How the user is shown to others; not unique.")
    email: str | None = Field(
        description="What the user signs in with; null: only a provider logs the user in."
    )
    role: OrgRole = Field(
        description="`admin`: may manage users, settings and the audit log of the organisation."
    )
    disabled_at: datetime | None = Field(
        description="When an admin disabled the account; null: it is enabled."
    )
    has_password: bool = Field(description="Whether the user can sign in with a password.")
    created_at: datetime = Field(description="When the account was created.")


class ChangedUser(User):
    revoked_api_key_count: int = Field(description="How many API keys the change revoked.")


class UserPage(Shape):
    data: list[User] = Field(description="Users of this page, by name.")
    next_cursor: NextCursor


class Me(Shape):
    org_id: OrgIdText
    user: User = Field(description="The user who owns the credential of the request.")
    scopes: list[Scope] = Field(
        description="What the credential is good for; a session has all scopes."
    )
    credential_type: Literal["session", "api_key"] = Field(
        description="What the request was authenticated by."
    )


class ApiKey(Shape):
    id: ApiKeyIdText = Field(description="The API key, by its id: not its secret.")
    user_id: UserIdText
    name: str = Field(description="Given by its user, to tell keys apart.")
    prefix: str = Field(description="The first characters of the secret, to recognise a key by.")
    scopes: list[Scope] = Field(description="What the key is good for.")
    created_at: datetime = Field(description="When the key was created.")
    expires_at: datetime | None = Field(
        description="After this time the key is refused; null: it does not expire."
    )
    revoked_at: datetime | None = Field(description="When the key was revoked; null: it was not.")
    last_used_at: datetime | None = Field(
        description="When a request last used it, to within a minute; null: never."
    )


class ApiKeyPage(Shape):
    data: list[ApiKey] = Field(
        description="API keys of this page, newest first; revoked ones are included."
    )
    next_cursor: NextCursor


class CreatedApiKey(ApiKey):
    """A new key, with its secret."""

    secret: str = Field(
        description="The key itself, for `Authorization: Bearer`; it cannot be read again."
    )


class Session(Shape):
    """A browser that is signed in."""

    id: SessionIdText = Field(description="The session, by its id.")
    user_id: UserIdText
    method: Literal["password", "oidc", "link"] = Field(
        description="How the user signed in: with a password, through a provider, or by a "
        "one-time link of `holdfast dev`."
    )
    ip_address: str | None = Field(description="Where the browser signed in from; null: not known.")
    user_agent: str | None = Field(
        description="What the browser called itself when it signed in; null: nothing."
    )
    created_at: datetime = Field(description="When the user signed in.")
    last_seen_at: datetime = Field(
        description="When a request last used the session, to within a minute."
    )
    expires_at: datetime = Field(description="When the user has to sign in again.")


class SessionPage(Shape):
    data: list[Session] = Field(description="Sessions of this page, newest first.")
    next_cursor: NextCursor


class AuditEntry(Shape):
    seq: int = Field(description="Rises with each entry of the log, with gaps.")
    created_at: datetime = Field(description="When the action was taken.")
    action: str = Field(description="What was done, such as `user.created`.")
    actor_id: UserIdText | None
    actor_name: str | None = Field(
        description="The name of that user now; null: not a user, or not known."
    )
    credential_type: Literal["session", "api_key"] | None = Field(
        description="What the request was authenticated by; null: no credential, or the command "
        "line."
    )
    credential_id: SessionIdText | ApiKeyIdText | None
    target_type: str | None = Field(
        description="What kind of thing was changed; null: no single thing."
    )
    target_id: str | None = Field(description="The thing that was changed; null: no single thing.")
    target_name: str | None = Field(
        description="The name of a user now, or of a key when it was created; null: it has none."
    )
    ip_address: str | None = Field(
        description="Where the request came from; null: not from a request."
    )
    detail: dict[str, Any] = Field(
        description="More about the action; its fields depend on `action`."
    )


class AuditPage(Shape):
    """Newest first."""

    data: list[AuditEntry] = Field(description="Entries of this page, newest first.")
    next_cursor: NextCursor
