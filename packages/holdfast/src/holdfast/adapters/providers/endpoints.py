"""The vendors: each a row that says which wire it speaks, where, and how it wants to be paid.

A new vendor of a known wire is a new row, and nothing else. What a model thought goes back only to
the party that made it: the dialect of a row holds at the row's own hosts, and elsewhere the host
is part of it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

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
    """`base_url` and `headers` may have places to fill, such as `{region}`; an empty `base_url`
    must be given."""

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
    origins: Mapping[str, str] = field(default_factory=dict[str, str])
    """Regions with another origin than that of `base_url`."""
    is_simulator: bool = False  # plays one vendor at any address

    @property
    def places(self) -> frozenset[str]:
        """The names of the values that the row needs at its own address."""
        return self.header_places | frozenset(_PLACE.findall(self.base_url))

    @property
    def header_places(self) -> frozenset[str]:
        """The names of the values that the row needs at any address."""
        return frozenset(_PLACE.findall(" ".join(self.headers.values())))


@dataclass(frozen=True, slots=True)
class AwsKeys:
    access_key: str
    secret: str = field(repr=False)
    region: str
    token: str | None = field(default=None, repr=False)


_PLACE: Final = re.compile(r"\{(\w+)\}")
_VALUE: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})\Z")
_HEADER_VALUE: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,127})\Z")

_OPENAI: Final = Quirks(cache_key=True)
_OPENAI_RESPONSES: Final = Quirks(cache_key=True, custom_tools=True)
_HOSTED: Final = Quirks(output_limit="max_tokens", documents=False)
"""Companies that serve open models."""
_MANTLE: Final = "https://bedrock-mantle.{region}.api.aws"
_GOOGLE_CLOUD: Final = (
    "https://{region}-aiplatform.googleapis.com/v1/projects/{project}/locations/{region}/publishers"
)
_GOOGLE_ORIGINS: Final[Mapping[str, str]] = {
    "global": "https://aiplatform.googleapis.com",
    "us": "https://aiplatform.us.rep.googleapis.com",
    "eu": "https://aiplatform.eu.rep.googleapis.com",
}

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
            prices="aws",
        ),
        Vendor(
            name="claude-aws",
            title="Claude Platform on AWS",
            wire="anthropic",
            base_url="https://aws-external-anthropic.{region}.api.aws",
            auth="x-api-key",
            aws_service="aws-external-anthropic",
            prices="anthropic",
            headers={"anthropic-workspace-id": "{workspace}"},
        ),
        Vendor(
            name="claude-gcp",
            title="Google Cloud",
            wire="anthropic",
            base_url=f"{_GOOGLE_CLOUD}/anthropic",
            prices="google",
            quirks=Quirks(model_in_url=True),
            origins=_GOOGLE_ORIGINS,
        ),
        Vendor(
            name="openai",
            title="OpenAI",
            wire="responses",
            base_url="https://api.openai.com/v1",
            prices="openai",
            quirks=_OPENAI_RESPONSES,
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
            quirks=Quirks(custom_tools=True),
            dialect="responses:azure",  # only the endpoint that made ciphertext reads it
        ),
        Vendor(
            name="azure-chat",
            title="Azure",
            wire="chat",
            base_url="https://{resource}.openai.azure.com/openai/v1",
            auth="api-key",
            prices="azure",
            quirks=_OPENAI,
            dialect="chat:azure",
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
            base_url=f"{_GOOGLE_CLOUD}/google",
            prices="google",
            dialect="gemini:vertex",  # each of the two refuses the signatures of the other
            origins=_GOOGLE_ORIGINS,
        ),
        Vendor(
            name="xai",
            title="xAI",
            wire="responses",
            base_url="https://api.x.ai/v1",
            prices="x-ai",
            dialect="responses:xai",
        ),
        Vendor(
            name="openrouter",
            title="OpenRouter",
            wire="chat",
            base_url="https://openrouter.ai/api/v1",
            prices="openrouter",
            headers={"HTTP-Referer": "holdfast", "X-Title": "Holdfast"},  # who asks, for its lists
            quirks=Quirks(
                replays_reasoning=True,
                output_limit="max_tokens",
                effort_field="reasoning",
                cache_marks=True,
                tells_cost=True,
                plugins=True,
            ),
            dialect="chat:openrouter",
        ),
        Vendor(
            name="deepseek",
            title="DeepSeek",
            wire="chat",
            base_url="https://api.deepseek.com",
            prices="deepseek",
            quirks=Quirks(
                replays_reasoning=True,
                reasoning_stand_in="",
                thinking_switch=True,
                output_limit="max_tokens",
                images=False,
                documents=False,
            ),
            dialect="chat:deepseek",
        ),
        Vendor(
            name="moonshot",
            title="Moonshot AI",
            wire="chat",
            base_url="https://api.moonshot.ai/v1",
            prices="moonshotai",
            quirks=Quirks(
                replays_reasoning=True,
                reasoning_stand_in=" ",  # Kimi K2.5 and K2.6 take an empty one for a missing one
                thinking_switch=True,
                output_limit="max_tokens",
                documents=False,
            ),
            dialect="chat:moonshot",
        ),
        Vendor(
            name="zai",
            title="Z.ai",
            wire="chat",
            base_url="https://api.z.ai/api/paas/v4",
            prices="zai",
            quirks=Quirks(
                replays_reasoning=True,
                thinking_switch=True,
                output_limit="max_tokens",
                inline_schemas=True,
                documents=False,
            ),
            dialect="chat:zai",
        ),
        Vendor(
            name="mistral",
            title="Mistral",
            wire="chat",
            base_url="https://api.mistral.ai/v1",
            prices="mistral",
            quirks=Quirks(
                replays_reasoning=True,
                thinking_chunks=True,
                output_limit="max_tokens",
                usage_option=False,  # the usage comes without being asked for
                short_call_ids=True,
                reply_before_user=True,
                documents=False,
                cache_key=True,
            ),
            dialect="chat:mistral",
        ),
        Vendor(
            name="groq",
            title="Groq",
            wire="chat",
            base_url="https://api.groq.com/openai/v1",
            prices="groq",
            quirks=Quirks(documents=False),
            dialect="chat:groq",
        ),
        Vendor(
            name="together",
            title="Together AI",
            wire="chat",
            base_url="https://api.together.ai/v1",
            prices="together",
            quirks=_HOSTED,
            dialect="chat:together",
        ),
        Vendor(
            name="fireworks",
            title="Fireworks AI",
            wire="chat",
            base_url="https://api.fireworks.ai/inference/v1",
            prices="fireworks",
            quirks=_HOSTED,
            dialect="chat:fireworks",
        ),
        Vendor(
            name="cerebras",
            title="Cerebras",
            wire="chat",
            base_url="https://api.cerebras.ai/v1",
            prices="cerebras",
            quirks=Quirks(output_limit="max_tokens", images=False, documents=False),
            dialect="chat:cerebras",
        ),
        Vendor(name="vllm", title="vLLM", wire="chat", quirks=_HOSTED),
        Vendor(
            name="ollama",
            title="Ollama",
            wire="chat",
            base_url="http://localhost:11434/v1",
            # It has sent whole answers whose finish_reason is null.
            quirks=Quirks(output_limit="max_tokens", documents=False, done_ends=True),
        ),
        Vendor(
            name="simulator-anthropic",
            title="The simulator",
            wire="anthropic",
            base_url="http://localhost:{port}",
            auth="x-api-key",
            prices="anthropic",
            is_simulator=True,
        ),
        Vendor(
            name="simulator-responses",
            title="The simulator",
            wire="responses",
            base_url="http://localhost:{port}/v1",
            prices="openai",
            quirks=_OPENAI_RESPONSES,
            is_simulator=True,
        ),
        Vendor(
            name="simulator-chat",
            title="The simulator",
            wire="chat",
            base_url="http://localhost:{port}/v1",
            prices="openai",
            is_simulator=True,
        ),
        Vendor(
            name="simulator-gemini",
            title="The simulator",
            wire="gemini",
            base_url="http://localhost:{port}/v1beta",
            auth="x-goog-api-key",
            prices="google",
            is_simulator=True,
        ),
    )
}


SIMULATED_MODEL: Final = "holdfast-simulator"
"""What `holdfast dev` asks the simulator for. No price list has it: its turns have no price."""


def endpoint_of(
    vendor: Vendor,
    secret: str | AwsKeys | None = None,
    *,
    base_url: str | None = None,
    set_by: Literal["admin", "user"] = "admin",
    **values: str,
) -> Endpoint:
    """A vendor with its places filled and its credential. What a user set is guarded."""
    url = base_url or _own_url(vendor, values)
    if not url:
        raise ValueError(f"{vendor.name} needs a base_url")
    headers = {
        name: _filled(vendor, text, values, _HEADER_VALUE) for name, text in vendor.headers.items()
    }
    return Endpoint(
        vendor=vendor.name,
        title=vendor.title,
        wire=vendor.wire,
        base_url=url.rstrip("/"),
        auth=auth_of(vendor, secret),
        headers=headers,
        quirks=vendor.quirks,
        guarded=set_by == "user",
        dialect=_dialect(vendor, url),
    )


def _own_url(vendor: Vendor, values: Mapping[str, str]) -> str:
    url = _filled(vendor, vendor.base_url, values, _VALUE)
    origin = vendor.origins.get(values.get("region", ""))
    return url if origin is None else origin + urlsplit(url).path


def _filled(vendor: Vendor, text: str, values: Mapping[str, str], form: re.Pattern[str]) -> str:
    def value(place: re.Match[str]) -> str:
        given = values.get(place[1], "")
        if not form.match(given):  # a dot or a slash would lead the credential to another host
            raise ValueError(f"{vendor.name} needs a plain {place[1]!r}")
        return given

    return _PLACE.sub(value, text)


def _dialect(vendor: Vendor, url: str) -> str:
    """The row's at its own hosts. Elsewhere another party reads, and cannot open what the row's
    vendor has sealed."""
    host = urlsplit(url).netloc.rpartition("@")[2].lower()
    if vendor.is_simulator or _is_host_of(vendor, host):
        return vendor.dialect
    return f"{vendor.wire}@{host}"


def _is_host_of(vendor: Vendor, host: str) -> bool:
    own = urlsplit(vendor.base_url).netloc
    pattern = "[a-z0-9-]+".join(map(re.escape, _PLACE.split(own)[::2]))
    others = {urlsplit(origin).netloc for origin in vendor.origins.values()}
    return bool(own) and (re.fullmatch(pattern, host) is not None or host in others)


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
