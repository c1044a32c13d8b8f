"""The vendors: each a row that says which wire it speaks, where, and how it wants to be paid.

A new vendor of a known wire is a new row, and nothing else.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from holdfast.adapters.providers.types import (
    NO_QUIRKS,
    AwsAuth,
    Endpoint,
    FixedAuth,
    HeaderAuth,
    NoAuth,
    Quirks,
)

AuthStyle: TypeAlias = Literal["bearer", "x-api-key", "api-key", "x-goog-api-key"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """`base_url` may have places to fill, such as `{region}`; an empty one must be given."""

    name: str
    title: str  # for people
    wire: str
    base_url: str = ""
    auth: AuthStyle = "bearer"
    aws_service: str | None = None  # takes signed requests too
    prices: str | None = None  # the provider's name in the price list
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    quirks: Quirks = NO_QUIRKS
    dialect: str = ""


@dataclass(frozen=True, slots=True)
class AwsKeys:
    access_key: str
    secret: str = field(repr=False)
    region: str
    token: str | None = field(default=None, repr=False)


_OPENAI: Final = Quirks(cache_key=True)
_MANTLE: Final = "https://bedrock-mantle.{region}.api.aws"

VENDORS: Final[Mapping[str, Vendor]] = {
    vendor.name: vendor
    for vendor in (
        Vendor(
            name="anthropic",
            title="Anthropic",
            wire="anthropic",
            base_url="https://api.anthropic.com",
            auth="x-api-key",
            prices="anthropic",
        ),
        Vendor(
            name="azure-anthropic",
            title="Azure",
            wire="anthropic",
            base_url="https://{resource}.services.ai.azure.com/anthropic",
            auth="x-api-key",
            prices="anthropic",
        ),
        Vendor(
            name="bedrock-anthropic",
            title="Amazon Bedrock",
            wire="anthropic",
            base_url=f"{_MANTLE}/anthropic",
            aws_service="bedrock-mantle",
            prices="anthropic",
        ),
        Vendor(
            name="openai",
            title="OpenAI",
            wire="responses",
            base_url="https://api.openai.com/v1",
            prices="openai",
            quirks=_OPENAI,
        ),
        Vendor(
            name="openai-chat",
            title="OpenAI",
            wire="chat",
            base_url="https://api.openai.com/v1",
            prices="openai",
            quirks=_OPENAI,
        ),
        Vendor(
            name="azure-openai",
            title="Azure",
            wire="responses",
            base_url="https://{resource}.openai.azure.com/openai/v1",
            auth="api-key",
            prices="azure",
            dialect="responses:azure",  # only the endpoint that made ciphertext reads it
        ),
        Vendor(
            name="bedrock-openai",
            title="Amazon Bedrock",
            wire="responses",
            base_url=f"{_MANTLE}/openai/v1",
            aws_service="bedrock-mantle",
            prices="aws",
            dialect="responses:bedrock",
        ),
        Vendor(
            name="bedrock-chat",
            title="Amazon Bedrock",
            wire="chat",
            base_url=f"{_MANTLE}/v1",
            aws_service="bedrock-mantle",
            prices="aws",
        ),
        Vendor(
            name="gemini",
            title="Google",
            wire="gemini",
            base_url="https://generativelanguage.googleapis.com/v1beta",
            auth="x-goog-api-key",
            prices="google",
        ),
        Vendor(
            name="vertex",
            title="Google",
            wire="gemini",
            base_url=(
                "https://{region}-aiplatform.googleapis.com/v1"
                "/projects/{project}/locations/{region}/publishers/google"
            ),
            prices="google",
        ),
        Vendor(
            name="openrouter",
            title="OpenRouter",
            wire="chat",
            base_url="https://openrouter.ai/api/v1",
            prices="openrouter",
            quirks=Quirks(
                replays_reasoning=True, output_limit="max_tokens", effort_field="reasoning"
            ),
            dialect="chat:openrouter",
        ),
        Vendor(name="vllm", title="vLLM", wire="chat", quirks=Quirks(output_limit="max_tokens")),
        Vendor(
            name="ollama",
            title="Ollama",
            wire="chat",
            base_url="http://localhost:11434/v1",
            # It has sent whole answers whose finish_reason is null.
            quirks=Quirks(output_limit="max_tokens", done_ends=True),
        ),
        Vendor(
            name="simulator-anthropic",
            title="The simulator",
            wire="anthropic",
            base_url="http://localhost:{port}",
            auth="x-api-key",
            prices="anthropic",
        ),
        Vendor(
            name="simulator-responses",
            title="The simulator",
            wire="responses",
            base_url="http://localhost:{port}/v1",
            prices="openai",
            quirks=_OPENAI,
        ),
        Vendor(
            name="simulator-chat",
            title="The simulator",
            wire="chat",
            base_url="http://localhost:{port}/v1",
            prices="openai",
        ),
        Vendor(
            name="simulator-gemini",
            title="The simulator",
            wire="gemini",
            base_url="http://localhost:{port}/v1beta",
            auth="x-goog-api-key",
            prices="google",
        ),
    )
}

_PLACE: Final = re.compile(r"\{(\w+)\}")
_VALUE: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})\Z")


def endpoint_of(
    vendor: Vendor,
    secret: str | AwsKeys | None = None,
    *,
    base_url: str | None = None,
    set_by: Literal["admin", "user"] = "admin",
    **values: str,
) -> Endpoint:
    """A vendor with its places filled and its credential. What a user set is guarded."""
    url = base_url or _PLACE.sub(lambda place: _value(vendor, place[1], values), vendor.base_url)
    if not url:
        raise ValueError(f"{vendor.name} needs a base_url")
    return Endpoint(
        vendor=vendor.name,
        title=vendor.title,
        wire=vendor.wire,
        base_url=url.rstrip("/"),
        auth=auth_of(vendor, secret),
        headers=vendor.headers,
        quirks=vendor.quirks,
        guarded=set_by == "user",
        dialect=vendor.dialect,
    )


def _value(vendor: Vendor, place: str, values: Mapping[str, str]) -> str:
    value = values.get(place, "")
    if not _VALUE.match(value):  # a dot or a slash would lead the credential to another host
        raise ValueError(f"{vendor.name} needs a plain {place!r}")
    return value


def auth_of(vendor: Vendor, secret: str | AwsKeys | None) -> FixedAuth:
    match secret:
        case None:
            return NoAuth()
        case AwsKeys(access_key, key, region, token):
            if vendor.aws_service is None:
                raise ValueError(f"{vendor.name} takes no AWS keys")
            return AwsAuth(access_key, key, region, vendor.aws_service, token)
        case str():
            if vendor.auth == "bearer":
                return HeaderAuth("authorization", secret, "Bearer ")
            return HeaderAuth(vendor.auth, secret)
