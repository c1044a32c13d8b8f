"""Accounts, and what people and programs show to be let in."""

import unicodedata
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from holdfast.domain.denials import FieldRefused
from holdfast.domain.ids import ApiKeyId, OrgId, SignInId, UserId
from holdfast.domain.policy import OrgRole, Scope

EMAIL_CHARS_MAX: Final = 254
NAME_CHARS_MAX: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    user_id: UserId
    org_id: OrgId
    name: str
    email: str | None
    role: OrgRole
    disabled_at: datetime | None
    has_password: bool
    created_at: datetime
    version: int
    """Rises with every change by an admin, and with every new password."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedUser(User):
    """A user after a change of the account; `revoked_keys`: how many API keys ended with it."""

    revoked_keys: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """A browser that is signed in."""

    sign_in_id: SignInId
    user_id: UserId
    method: Literal["password", "oidc", "link"]
    address: str | None
    agent: str | None
    created_at: datetime
    seen_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """All that can be told of a key: the secret was shown once, and is not kept."""

    key_id: ApiKeyId
    org_id: OrgId
    user_id: UserId
    name: str
    prefix: str
    scopes: frozenset[Scope]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


def clean_email(email: str) -> str:
    """The one form in which an address is kept and compared."""
    email = unicodedata.normalize("NFKC", email).strip().casefold()
    local, at, domain = email.rpartition("@")
    if not (at and local and domain) or "@" in local:
        raise FieldRefused("email", "not an e-mail address")
    if len(email) > EMAIL_CHARS_MAX or not email.isprintable() or " " in email:
        raise FieldRefused("email", "not an e-mail address")
    return email


def clean_name(name: str, field: str = "name") -> str:
    name = unicodedata.normalize("NFC", name).strip()
    if not name or len(name) > NAME_CHARS_MAX or not name.isprintable():
        raise FieldRefused(field, f"between 1 and {NAME_CHARS_MAX} printable characters")
    return name
