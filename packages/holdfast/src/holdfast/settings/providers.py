"""Providers: where models are served, with which credential and on which way.

The types are those of a file now, and of rows in a database later: they hold no path to a setting.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, Literal, Self, TypeAlias
from urllib.parse import unquote, urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    SecretStr,
    model_validator,
)

FORBID: Final = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
Argv: TypeAlias = Annotated[tuple[str, ...], Field(min_length=1, max_length=100)]

_HEADER_NAME: Final = re.compile(r"[a-z0-9-]{1,100}")
_HEADER_VALUE: Final = re.compile(r"[ -~]{1,8000}")
_OURS: Final = frozenset(
    {"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding"}
)
"""Headers that the transport sets by itself."""
_PRIVATE: Final = re.compile(r"auth|key|token|secret|cookie|password")
_KEY: Final = re.compile(r"[!-~]{1,16384}")


class AwsSettings(BaseModel):
    model_config = FORBID

    access_key: str
    secret: SecretStr
    region: str
    token: SecretStr | None = None


class CommandTokenSettings(BaseModel):
    """A program that prints a token: the bare token, or a JSON object with `token` (or
    `access_token`) and `expires_in` (seconds) or `expires_at` (seconds since 1970, or an ISO time
    with its offset)."""

    model_config = FORBID

    kind: Literal["command"]
    command: Argv = Field(description="The program and its arguments; no shell.")
    timeout_s: float = Field(
        default=30.0, gt=0, le=300, description="Seconds after which the program is killed."
    )
    sends: Literal["token", "key"] = Field(
        default="token",
        description="`token`: sent as `Authorization: Bearer`. `key`: sent as the vendor's keys"
        " are.",
    )


class GoogleTokenSettings(BaseModel):
    """Google Cloud: application default credentials, such as a workload identity or the service
    account of the machine, or the key of a service account. Needs `holdfast[google]`."""

    model_config = FORBID

    kind: Literal["google"]
    key_file: Path | None = Field(
        default=None, description="Key of a service account. Empty: the default credentials."
    )
    scope: str = Field(
        default="https://www.googleapis.com/auth/cloud-platform", description="Scope of the token."
    )


class AzureTokenSettings(BaseModel):
    """Microsoft Entra ID: the environment, a workload identity or a managed identity. Needs
    `holdfast[azure]`."""

    model_config = FORBID

    kind: Literal["azure"]
    scope: str = Field(
        default="https://ai.azure.com/.default",
        description="Scope of the token. Older resources:"
        " `https://cognitiveservices.azure.com/.default`.",
    )


class AwsTokenSettings(BaseModel):
    """The credential chain of AWS: environment, profile, single sign-on, web identity (IRSA),
    container and instance roles. Requests are signed. Needs `holdfast[aws]`."""

    model_config = FORBID

    kind: Literal["aws"]
    region: str = Field(default="", description="AWS region. Empty: `region` of `values`.")
    profile: str | None = Field(default=None, description="Profile of the AWS configuration.")


TokenSettings: TypeAlias = Annotated[
    CommandTokenSettings | GoogleTokenSettings | AzureTokenSettings | AwsTokenSettings,
    Field(discriminator="kind"),
]


def _proxy(given: SecretStr) -> SecretStr:
    try:
        url = urlsplit(given.get_secret_value())
        good = url.scheme in ("http", "https") and bool(url.hostname) and url.path in ("", "/")
        good = good and (url.port is None or url.port > 0) and not url.query
    except ValueError:
        good = False
    if not good:
        raise ValueError("should be an address such as http://proxy.example:3128")
    return given


def _small_names(given: object) -> object:
    """Names of headers in small letters: the same header is never sent twice."""
    if not isinstance(given, dict):
        return given
    return {str(name).lower(): value for name, value in given.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _headers(given: dict[str, SecretStr]) -> dict[str, SecretStr]:
    for name, value in given.items():
        if not _HEADER_NAME.fullmatch(name) or name in _OURS:
            raise ValueError("a name is not one of a header that may be set")
        if not _HEADER_VALUE.fullmatch(value.get_secret_value()):
            raise ValueError(f"the value of {name} should be printable ASCII")
    return given


class ProviderSettings(BaseModel):
    """Where models are served, and with which credential."""

    model_config = FORBID

    name: str = Field(min_length=1, max_length=100, description="Name that models refer to.")
    vendor: str = Field(description="Name of the vendor; a row of providers/endpoints.py.")
    base_url: str = Field(default="", description="Base URL of the API. Empty: the vendor's own.")
    key: SecretStr | None = Field(default=None, description="API key of the vendor.")
    key_file: Path | None = Field(
        default=None,
        description="File with the key, instead of `key`; read again after a 401.",
    )
    key_env: str = Field(
        default="",
        pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$",
        description="Environment variable with the key, instead of `key`; read at the start.",
    )
    token: TokenSettings | None = Field(
        default=None, description="Source of tokens that are renewed, instead of a key; see below."
    )
    aws: AwsSettings | None = Field(
        default=None, description="AWS keys, for Bedrock, instead of a key."
    )
    values: dict[str, str] = Field(
        default_factory=dict[str, str],
        description="Values for the placeholders of the vendor's address, such as `region` or"
        " `resource`.",
    )
    headers: Annotated[
        dict[str, SecretStr], BeforeValidator(_small_names), AfterValidator(_headers)
    ] = Field(default_factory=dict[str, SecretStr], description="Further headers of each request.")
    proxy: Annotated[SecretStr, AfterValidator(_proxy)] | None = Field(
        default=None,
        description="HTTP proxy on the way to the provider, such as"
        " `http://user:password@proxy.example:3128`.",
    )
    dialect: str = Field(
        default="",
        max_length=100,
        description="Providers of one dialect get each other's encrypted reasoning back. Empty:"
        " as the vendor and the address say.",
    )
    quirks: dict[str, JsonValue] = Field(
        default_factory=dict[str, JsonValue],
        description="Departures from the protocol, by name, instead of the vendor's; see below.",
    )

    @model_validator(mode="after")
    def _one_credential(self) -> Self:
        given = [
            name
            for name in ("key", "key_file", "key_env", "token", "aws")
            if getattr(self, name) not in (None, "")
        ]
        if len(given) > 1:
            raise ValueError(f"set only one of {', '.join(given)}")
        return self

    def private_headers(self) -> Iterator[SecretStr]:
        return (value for name, value in self.headers.items() if _PRIVATE.search(name))

    def secrets(self) -> Iterator[str]:
        """What must never be seen in an error or a log."""
        for secret in (self.key, *self.private_headers()):
            if secret is not None:
                yield secret.get_secret_value()
        if self.aws is not None:
            yield self.aws.secret.get_secret_value()
            if self.aws.token is not None:
                yield self.aws.token.get_secret_value()
        if self.proxy is not None:
            password = urlsplit(self.proxy.get_secret_value()).password
            if password:
                yield from {password, unquote(password)}


def with_key(provider: ProviderSettings) -> ProviderSettings:
    """The key of `key_file` or `key_env` as `key`. ValueError names the field, and no more.

    `key_file` stays: it is read again when the provider refuses the key."""
    if provider.key_file is not None:
        try:
            found = provider.key_file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not text"
            raise ValueError(f"key_file cannot be read: {why}") from None
        field = "key_file"
    elif provider.key_env:
        found = os.environ.get(provider.key_env, "").strip()  # noqa: TID251 - these are settings
        field = "key_env"
    else:
        return provider
    if not _KEY.fullmatch(found):
        raise ValueError(f"{field} leads to no key: one word of printable ASCII is expected")
    return provider.model_copy(update={"key": SecretStr(found), "key_env": ""})
