"""Vendors are rows, and a new wire is one file: shown by adding one of each, here."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import anthropic
import groq
import openai
import orjson
import pytest
from anthropic._constants import ANTHROPIC_API_VERSION
from anthropic.lib.bedrock import AsyncAnthropicBedrockMantle
from anthropic.lib.vertex import AsyncAnthropicVertex

from holdfast.adapters.providers.endpoints import VENDORS, AwsKeys, Vendor, endpoint_of
from holdfast.adapters.providers.errors import incomplete
from holdfast.adapters.providers.history import prompt_of
from holdfast.adapters.providers.reply import ReplyBuilder, Slot
from holdfast.adapters.providers.shaping import encode
from holdfast.adapters.providers.transport import authorised
from holdfast.adapters.providers.types import (
    AwsAuth,
    Call,
    Decoder,
    Endpoint,
    HeaderAuth,
    NoAuth,
    Object,
    Request,
    Wire,
)
from holdfast.adapters.providers.wires import WIRES
from holdfast.domain.messages import Ending
from holdfast.domain.parts import Part, Text
from holdfast.ports import models
from holdfast.ports.models import Event, Usage
from tests.support.model import NOW, assistant, call_for, feed, user

VALUES: dict[str, Any] = {
    "resource": "acme",
    "region": "eu-west-1",
    "project": "p-1",
    "port": "8080",
    "workspace": "wrkspc_01AbC",
}


@pytest.mark.parametrize("vendor", VENDORS.values(), ids=lambda vendor: vendor.name)
def test_every_vendor_speaks_a_wire_at_an_address(vendor: Vendor) -> None:
    base = None if vendor.base_url else "http://gpu.example/v1/"
    endpoint = endpoint_of(vendor, "secret-key", base_url=base, **VALUES)
    call = call_for(vendor.wire, [user("Hi")])

    request = WIRES[endpoint.wire].request(call, endpoint)
    headers = authorised(request, endpoint, NOW)

    assert "{" not in request.url
    assert request.url.startswith("http")
    assert "secret-key" in str(headers)
    assert (headers["accept-encoding"], endpoint.guarded) == ("identity", False)
    assert endpoint.secrets == ("secret-key",)


@pytest.mark.parametrize(
    ("vendor", "url", "header"),
    [
        ("anthropic", "https://api.anthropic.com/v1/messages", "x-api-key"),
        ("openai", "https://api.openai.com/v1/responses", "authorization"),
        ("azure-openai", "https://acme.openai.azure.com/openai/v1/responses", "api-key"),
        (
            "azure-anthropic",
            "https://acme.services.ai.azure.com/anthropic/v1/messages",
            "x-api-key",
        ),
        (
            "bedrock-anthropic",
            "https://bedrock-mantle.eu-west-1.api.aws/anthropic/v1/messages",
            "authorization",
        ),
        (
            "bedrock-openai",
            "https://bedrock-mantle.eu-west-1.api.aws/openai/v1/responses",
            "authorization",
        ),
        ("openrouter", "https://openrouter.ai/api/v1/chat/completions", "authorization"),
        (
            "vertex",
            "https://eu-west-1-aiplatform.googleapis.com/v1/projects/p-1/locations/eu-west-1"
            "/publishers/google/models/gemini-3-pro-preview:streamGenerateContent?alt=sse",
            "authorization",
        ),
        (
            "claude-gcp",
            "https://eu-west-1-aiplatform.googleapis.com/v1/projects/p-1/locations/eu-west-1"
            "/publishers/anthropic/models/claude-sonnet-4-5:streamRawPredict",
            "authorization",
        ),
        (
            "claude-aws",
            "https://aws-external-anthropic.eu-west-1.api.aws/v1/messages",
            "x-api-key",
        ),
        ("azure-chat", "https://acme.openai.azure.com/openai/v1/chat/completions", "api-key"),
        ("xai", "https://api.x.ai/v1/responses", "authorization"),
        ("deepseek", "https://api.deepseek.com/chat/completions", "authorization"),
        ("moonshot", "https://api.moonshot.ai/v1/chat/completions", "authorization"),
        ("zai", "https://api.z.ai/api/paas/v4/chat/completions", "authorization"),
        ("mistral", "https://api.mistral.ai/v1/chat/completions", "authorization"),
        ("groq", "https://api.groq.com/openai/v1/chat/completions", "authorization"),
        ("together", "https://api.together.ai/v1/chat/completions", "authorization"),
        ("fireworks", "https://api.fireworks.ai/inference/v1/chat/completions", "authorization"),
        ("cerebras", "https://api.cerebras.ai/v1/chat/completions", "authorization"),
    ],
)
def test_addresses_and_credentials(vendor: str, url: str, header: str) -> None:
    row = VENDORS[vendor]
    endpoint = endpoint_of(row, "k" * 9, **VALUES)
    request = WIRES[row.wire].request(call_for(row.wire, [user("Hi")]), endpoint)

    assert request.url == url
    assert isinstance(endpoint.auth, HeaderAuth)
    assert endpoint.auth.name == header


def test_a_place_cannot_lead_the_credential_to_another_host() -> None:
    for value in ("evil.example/", "a.b", "", "x@y", "a/b", "-a"):
        with pytest.raises(ValueError, match="plain"):
            endpoint_of(VENDORS["azure-openai"], "k", resource=value)
    with pytest.raises(ValueError, match="base_url"):
        endpoint_of(VENDORS["vllm"])
    with pytest.raises(ValueError, match="AWS"):
        endpoint_of(VENDORS["openai"], AwsKeys("a", "s", "r"))


def test_what_a_user_set_is_guarded_and_aws_keys_sign() -> None:
    assert endpoint_of(VENDORS["vllm"], base_url="https://x.example", set_by="user").guarded
    keys = AwsKeys("AKID", "very-secret", "us-east-1", "token")
    endpoint = endpoint_of(VENDORS["bedrock-anthropic"], keys, region="us-east-1")
    assert isinstance(endpoint.auth, AwsAuth)
    assert endpoint.secrets == ("very-secret", "token")
    assert "very-secret" not in repr(endpoint)
    headers = authorised(Request(endpoint.base_url, {}, b"{}"), endpoint, NOW)
    assert headers["authorization"].startswith(
        "AWS4-HMAC-SHA256 Credential=AKID/20261114/us-east-1"
    )
    assert endpoint_of(VENDORS["ollama"]).auth == NoAuth()
    assert endpoint_of(VENDORS["ollama"]).secrets == ()


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("global", "aiplatform.googleapis.com"),
        ("us", "aiplatform.us.rep.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
        ("us-east5", "us-east5-aiplatform.googleapis.com"),
    ],
)
@pytest.mark.parametrize("vendor", ["vertex", "claude-gcp"])
def test_google_cloud_has_a_host_per_location(vendor: str, region: str, host: str) -> None:
    endpoint = endpoint_of(VENDORS[vendor], "k", region=region, project="p-1")

    begin = f"https://{host}/v1/projects/p-1/locations/{region}/publishers/"
    assert endpoint.base_url.startswith(begin)
    again = endpoint_of(VENDORS[vendor], "k", base_url=endpoint.base_url)
    assert again.dialect == endpoint.dialect


def test_claude_on_google_cloud_has_its_model_in_the_address() -> None:
    endpoint = endpoint_of(VENDORS["claude-gcp"], "k", **VALUES)
    body = orjson.loads(
        WIRES["anthropic"].request(call_for("anthropic", [user("Hi")]), endpoint).body
    )

    assert body["anthropic_version"] == ANTHROPIC_API_VERSION, "as the official SDK sends it"
    assert "model" not in body


def test_claude_on_aws_names_its_workspace_and_signs() -> None:
    keys = AwsKeys("AKID", "very-secret", "eu-west-1")
    endpoint = endpoint_of(VENDORS["claude-aws"], keys, **VALUES)
    request = WIRES["anthropic"].request(call_for("anthropic", [user("Hi")]), endpoint)
    headers = authorised(request, endpoint, NOW)

    assert headers["anthropic-workspace-id"] == "wrkspc_01AbC"
    assert "/eu-west-1/aws-external-anthropic/aws4_request" in headers["authorization"]
    with pytest.raises(ValueError, match="plain 'workspace'"):
        endpoint_of(VENDORS["claude-aws"], keys, region="eu-west-1", workspace="a\r\nb: c")


@pytest.mark.parametrize(
    ("vendor", "base_url", "dialect"),
    [
        ("openai", None, "responses"),
        ("openai", "https://api.openai.com/v1/", "responses"),
        ("openai", "https://API.openai.com/v1", "responses"),
        ("openai", "https://api.x.ai/v1", "responses@api.x.ai"),
        (
            "openai",
            "https://api.openai.com.evil.example/v1",
            "responses@api.openai.com.evil.example",
        ),
        ("openai", "https://user:word@gate.example:8443/v1", "responses@gate.example:8443"),
        ("anthropic", "https://api.deepseek.com/anthropic", "anthropic@api.deepseek.com"),
        ("azure-openai", "https://other.openai.azure.com/openai/v1", "responses:azure"),
        ("azure-openai", "https://a.b.openai.azure.com/v1", "responses@a.b.openai.azure.com"),
        ("gemini", "https://gate.example/v1beta", "gemini@gate.example"),
        ("openrouter", "https://gate.example/v1", "chat@gate.example"),
        ("vllm", "http://10.0.0.7:8000/v1", "chat@10.0.0.7:8000"),
        ("simulator-responses", "http://127.0.0.1:4010/v1", "responses"),
    ],
)
def test_a_dialect_holds_only_at_its_own_address(
    vendor: str, base_url: str | None, dialect: str
) -> None:
    assert endpoint_of(VENDORS[vendor], "k", base_url=base_url).dialect == dialect


def test_every_party_has_a_dialect_of_its_own() -> None:
    """Anthropic's platforms drop the blocks of each other without an error; no others share."""
    by_dialect: dict[str, set[str]] = {}
    for vendor in VENDORS.values():
        if not vendor.is_simulator and vendor.base_url:
            dialect = endpoint_of(vendor, "k", **VALUES).dialect
            by_dialect.setdefault(dialect, set()).add(vendor.title)

    shared = {dialect: titles for dialect, titles in by_dialect.items() if len(titles) > 1}
    assert set(shared) <= {"anthropic", "chat"}
    assert "xAI" not in by_dialect["responses"]
    assert by_dialect["gemini"] == {"Google"}


def test_blocks_are_not_replayed_to_a_vendor_who_cannot_read_them() -> None:
    azure = endpoint_of(VENDORS["azure-openai"], "k", **VALUES)
    assert azure.dialect == "responses:azure"
    assert endpoint_of(VENDORS["bedrock-anthropic"], "k", **VALUES).dialect == "anthropic"


def test_a_new_vendor_is_one_row() -> None:
    row = Vendor(name="new", title="New", wire="chat", base_url="https://new.example/v1")

    endpoint = endpoint_of(row, "key-1")

    request = WIRES[endpoint.wire].request(call_for("chat", [user("Hi")]), endpoint)
    assert request.url == "https://new.example/v1/chat/completions"
    assert authorised(request, endpoint, NOW)["authorization"] == "Bearer key-1"


# A new wire: everything that its one file would hold.


class EchoWire:
    name = "echo"

    def request(self, call: Call, endpoint: Endpoint) -> Request:
        entries = prompt_of(call.history, call.system, endpoint.dialect).entries
        body: Object = {"turns": [type(entry).__name__.lower() for entry in entries]}
        return Request(f"{endpoint.base_url}/echo", {}, encode(body, call, stream=True))

    def decoder(self, call: Call, endpoint: Endpoint) -> Decoder:
        return EchoDecoder()


class EchoDecoder:
    def __init__(self) -> None:
        self._reply = ReplyBuilder()
        self._slot: Slot | None = None
        self.usage = Usage()
        self.response_id: str | None = None
        self.ended = self.closed = self.counted = self.thinking = False

    def feed(self, name: str, data: Object | None) -> list[Event]:
        events: list[Event] = []
        if data is None:
            self.ended = self.closed = True
            if self._slot:
                self._reply.finish_text(self._slot, None, events)
        else:
            self._slot = self._slot or self._reply.text()
            self._reply.grow(self._slot, data["say"], events)
        return events

    def final(self, now: datetime) -> models.Reply:
        if not self.ended:
            raise incomplete()
        return self._reply.final(
            now=now, ending=Ending.COMPLETE, usage=None, finish="done", response_id=None
        )

    def partial(self, now: datetime) -> tuple[Part, ...]:
        return self._reply.partial(now)


def test_a_new_wire_is_one_file() -> None:
    wire: Wire = EchoWire()
    endpoint = Endpoint(vendor="echo", wire="echo", base_url="https://echo.example")
    call: Any = call_for("chat", [user("Hi"), assistant(Text("Yes")), user("Well?")])

    request = wire.request(call, endpoint)
    decoder = wire.decoder(call, endpoint)
    feed(decoder, [b'data: {"say":"He"}\n\ndata: {"say":"llo"}\n\ndata: [DONE]\n\n'])

    assert orjson.loads(request.body) == {
        "turns": ["userentry", "modelentry", "userentry"],
        "stream": True,
    }
    assert decoder.final(NOW).parts == (Text("Hello"),)


SDKS: Mapping[str, tuple[Callable[[], Any], str]] = {
    "anthropic": (lambda: anthropic.AsyncAnthropic(api_key="k"), ""),
    "azure-anthropic": (lambda: anthropic.AsyncAnthropicFoundry(api_key="k", resource="r"), ""),
    "bedrock-anthropic": (
        lambda: AsyncAnthropicBedrockMantle(api_key="k", aws_region="us-east-1"),
        "",
    ),
    "claude-aws": (
        lambda: anthropic.AsyncAnthropicAWS(api_key="k", aws_region="us-east-1", workspace_id="w"),
        "",
    ),
    "claude-gcp": (
        lambda: AsyncAnthropicVertex(region="global", project_id="p", access_token="t"),
        "projects/p/locations/global/publishers/anthropic",
    ),
    "openai": (lambda: openai.AsyncOpenAI(api_key="k"), ""),
    "bedrock-openai": (lambda: openai.AsyncBedrockOpenAI(api_key="k", aws_region="us-east-1"), ""),
    "groq": (lambda: groq.AsyncGroq(api_key="k"), "openai/v1"),
}


@pytest.mark.parametrize("vendor", SDKS)
def test_address_is_that_of_the_sdk(vendor: str) -> None:
    made, path = SDKS[vendor]
    region = "global" if vendor == "claude-gcp" else "us-east-1"
    places: dict[str, Any] = {"region": region, "resource": "r", "project": "p", "workspace": "w"}
    theirs = str(made().base_url).rstrip("/") + f"/{path}"
    endpoint = endpoint_of(VENDORS[vendor], "k" * 9, **places)
    assert endpoint.base_url == theirs.rstrip("/")
