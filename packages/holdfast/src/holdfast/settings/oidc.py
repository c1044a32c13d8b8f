"""Identity providers through which people may log in."""

from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from holdfast.domain.public_ids import ORG_ID

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class OidcSettings(BaseModel):
    """An identity provider through which people may log in."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: str = Field(
        pattern=r"^[a-z0-9][a-z0-9-]{0,39}$",
        description="Lower-case letters, digits and dashes. Register the callback `<first of"
        " HOLDFAST_ORIGINS>/api/v1/oidc/<name>/callback` at the provider.",
    )
    title: str = Field(
        default="",
        max_length=200,
        description="Name on the sign-in page. Empty: the same as `name`.",
    )
    issuer: str = Field(
        description="URL of the issuer, exactly as in its tokens; `http` on localhost only."
    )
    client_id: str = Field(
        min_length=1, description="The client id of this server at the provider."
    )
    client_secret: SecretStr | None = Field(
        default=None, description="The client secret of this server at the provider."
    )
    email_domains: tuple[str, ...] = Field(
        default=(),
        description="Domains whose verified e-mail addresses get an account at their first"
        " login. Empty: none; only linked accounts can log in.",
    )
    org_id: UUID | None = Field(
        default=None,
        description="The id of the organisation of those accounts (`org_…`, or its UUID); needed"
        " only if there are several.",
    )

    @field_validator("issuer")
    @classmethod
    def _over_tls(cls, issuer: str) -> str:
        url = urlsplit(issuer)
        local = url.scheme == "http" and url.hostname in LOOPBACK
        if not url.hostname or not (local or url.scheme == "https"):
            raise ValueError("should be an https address")
        return issuer

    @field_validator("org_id", mode="before")
    @classmethod
    def _of_organisation(cls, given: object) -> object:
        return ORG_ID.decode_or_uuid(given) if isinstance(given, str) else given

    @field_validator("email_domains")
    @classmethod
    def _as_compared(cls, domains: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(domain.casefold() for domain in domains)

    @property
    def on_loopback(self) -> bool:
        return self.issuer.startswith("http:")
