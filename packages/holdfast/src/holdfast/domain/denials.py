"""Why a user may not: the errors of accounts, credentials and access.

    IdentityError
    ├── NotAllowed          whatever the target: the credential's scope or the user's role lacks it
    ├── NotFound            unknown, or not yours: the answer is the same
    ├── WrongCredentials    unknown account, wrong password, disabled: the answer is the same
    ├── Throttled           too many attempts; says when to come back
    ├── AccountRefused      an account may not become this: the reason says why
    │   ├── EmailTaken
    │   ├── LastAdmin
    │   ├── PasswordRefused
    │   └── FieldRefused
    ├── AlreadyMade         by an earlier request with the same key, whose answer cannot be repeated
    └── OidcRefused         a login through a provider that does not prove who came

A chat that is unknown or not yours stays a `ChatNotFound`.
"""

from typing import Final
from uuid import UUID

from holdfast.domain.errors import HoldfastError


class IdentityError(HoldfastError):
    pass


class NotAllowed(IdentityError):
    code = "not_allowed"

    def __init__(self, what: str) -> None:
        super().__init__(f"not allowed: {what}")


class NotFound(IdentityError):
    code = "not_found"

    def __init__(self, kind: str, resource_id: UUID) -> None:
        super().__init__(f"{kind} {resource_id} not found")


class WrongCredentials(IdentityError):
    code = "wrong_credentials"

    def __init__(self) -> None:
        super().__init__("e-mail or password is wrong")


class Throttled(IdentityError):
    code = "too_many_attempts"

    def __init__(self, retry_after_s: float) -> None:
        super().__init__("too many attempts to sign in")
        self.retry_after_s = retry_after_s


class AccountRefused(IdentityError):
    pass


class EmailTaken(AccountRefused):
    code = "email_taken"

    def __init__(self) -> None:
        super().__init__("another account has this e-mail address")


class LastAdmin(AccountRefused):
    code = "last_admin"

    def __init__(self) -> None:
        super().__init__("an organisation keeps at least one admin")


class PasswordRefused(AccountRefused):
    code = "password_refused"


class FieldRefused(AccountRefused):
    code = "field_refused"

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.extra = {"errors": [{"where": field, "what": str(self)}]}


class AlreadyMade(IdentityError):
    code = "already_made"

    def __init__(self, made_id: UUID) -> None:
        super().__init__("made before, under this key; revoke it and ask under another one")
        self.made_id = made_id
        self.extra = {"made_id": str(made_id)}


OIDC_REASONS: Final = frozenset(
    {
        "state",  # unknown, used, expired, or of another browser
        "provider",  # it answered with an error, or not as the standard says
        "issuer",  # another one than the one asked
        "token",  # an id_token that does not hold
        "email",  # unverified, of a domain that is not let in, or taken
        "closed",  # no new account is made here
        "disabled",  # of an account that is switched off
        "linked",  # to another account already
    }
)


class OidcRefused(IdentityError):
    """`reason` is for programs and people; `detail` only for the operator's log."""

    code = "login_refused"

    def __init__(self, reason: str, detail: str) -> None:
        assert reason in OIDC_REASONS, reason
        super().__init__(f"login refused: {reason}")
        self.reason = reason
        self.detail = detail
        self.extra = {"reason": reason}
