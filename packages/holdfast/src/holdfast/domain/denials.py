"""Why a user may not: the errors of accounts, credentials and access.

    IdentityError
    ├── NotAllowed          whatever the target: the credential's scope or the user's role lacks it
    ├── NotFound            unknown, or not yours: the answer is the same
    ├── LinkNotValid        a one-time link: unknown, used, expired, or from another machine
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

from typing import Final, Literal
from uuid import UUID

from holdfast.domain.errors import HoldfastError, as_sentence
from holdfast.domain.ids import ApiKeyId
from holdfast.domain.public_ids import API_KEY_ID, TARGET_ID_TYPES


class IdentityError(HoldfastError):
    pass


class NotAllowed(IdentityError):
    code = "permission_denied"

    def __init__(self, what: str, *, scope: str | None = None) -> None:
        """`scope`: the one that the credential lacks."""
        super().__init__(as_sentence(what))
        if scope is not None:
            self.extra = {"required_scope": scope}


class NotFound(IdentityError):
    code = "not_found"

    def __init__(self, kind: str, resource_id: UUID) -> None:
        named = TARGET_ID_TYPES[kind]
        super().__init__(as_sentence(f"{named.name} {named.encode(resource_id)} was not found"))


class WrongCredentials(IdentityError):
    code = "invalid_credentials"

    def __init__(self) -> None:
        super().__init__("The e-mail address or the password is wrong.")


class LinkNotValid(IdentityError):
    code = "sign_in_link_not_valid"

    def __init__(self, remedy: str = "Sign in with e-mail and password.") -> None:
        super().__init__(f"The sign-in link has been used, or has expired. {remedy}")


class Throttled(IdentityError):
    code = "sign_in_rate_limited"

    def __init__(self, retry_after_s: float) -> None:
        super().__init__("Too many attempts to sign in. Wait before the next one.")
        self.retry_after_s = retry_after_s


class AccountRefused(IdentityError):
    pass


class EmailTaken(AccountRefused):
    code = "email_taken"

    def __init__(self) -> None:
        super().__init__("Another account has this e-mail address.")


class LastAdmin(AccountRefused):
    code = "last_admin"

    def __init__(self) -> None:
        super().__init__("An organisation keeps at least one admin.")


class PasswordRefused(AccountRefused):
    code = "weak_password"

    def __init__(self, reason: str) -> None:
        super().__init__(as_sentence(reason))


class FieldRefused(AccountRefused):
    code = "invalid_request"

    def __init__(
        self, field: str, reason: str, *, within: Literal["body", "query"] = "body"
    ) -> None:
        """`field`: its name, or the path to it with `/` between the names."""
        super().__init__(f"{field}: {as_sentence(reason)}")
        self.field = field
        error = {
            "in": within,
            "pointer": f"/{field}",
            "code": "invalid_value",
            "detail": as_sentence(reason),
        }
        self.extra = {"errors": [error]}


class AlreadyMade(IdentityError):
    code = "api_key_already_created"

    def __init__(self, api_key_id: ApiKeyId) -> None:
        super().__init__(
            "The secret is shown once and not stored. Revoke this API key and create another one."
        )
        self.api_key_id = api_key_id
        self.extra = {"api_key_id": API_KEY_ID.encode(api_key_id)}


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

    code = "oidc_login_failed"

    def __init__(self, reason: str, detail: str) -> None:
        assert reason in OIDC_REASONS, reason
        super().__init__(f"The login failed: {reason}.")
        self.reason = reason
        self.detail = detail
        self.extra = {"reason": reason}
